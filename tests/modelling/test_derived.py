"""Numbers of the model itself, and parameters that follow from them: in simulations, fits, designs and files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs


def crank(length=0.3, derived=True):
    model = mbs.Model(gravity=(0, -9.81, 0))
    number = lambda a, b: a if not derived else b
    body = mbs.RigidBody2D(mass=2.0, inertia=number(2.0 * length**2 / 12, 1.0))
    rod = model.add("crank", body, position=number((length / 2, 0), (0, 0)))
    model.add("pin", mbs.RevoluteJoint2D(), between=(model.ground, rod.at(number(-length / 2, 0.0))))
    model.sense("tip", mbs.Position(rod.at(number(length / 2, 0.0))))
    if derived:
        model.parameter("crank.length", length, unit="m", range="positive")
        model.derive("crank.inertia", "crank.mass * crank.length^2 / 12")
        model.derive("pin.marker1", ["-crank.length/2", "0", 0])
        model.derive("tip.marker0", lambda p: jnp.stack([p["crank.length"] / 2, 0.0, 0.0]))
        model.derive("crank.position", ["-pin.marker1[0]", "0"])
    return model


RUN = dict(t1=0.4, dt=4e-3)


def test_a_derived_model_is_the_one_with_these_numbers():
    for length in (0.3, 0.5):
        one = mbs.simulate(crank(length, derived=False).assemble(), **RUN)
        for system in (
            crank(length).assemble(),
            crank(0.3).assemble().with_params({"crank": {"length": length}}),
            crank(0.3).with_params({"crank": {"length": length}}).assemble(),
        ):
            np.testing.assert_allclose(mbs.simulate(system, **RUN)["tip"], one["tip"], atol=1e-13)


def test_what_follows_is_no_parameter_and_cannot_be_set():
    system = crank().assemble()
    assert sorted(system.params()["crank"]) == [
        "angle",
        "angular_velocity",
        "center_of_mass",
        "length",
        "mass",
        "velocity",
    ]
    assert "marker1" not in system.params()["pin"]
    with pytest.raises(mbs.ParameterError, match=r"'crank\.inertia' follows from other parameters"):
        system.with_params({"crank": {"inertia": 1.0}})
    # All parameters together go back in.
    assert system.with_params(system.params()).structure == system.structure


def test_a_length_has_the_derivative_of_all_that_follows():
    system = crank().assemble()
    end = lambda length: mbs.simulate(system, **RUN, params={"crank": {"length": length}})["tip"][-1]
    forwards = jax.jacfwd(end)(jnp.asarray(0.3))
    np.testing.assert_allclose(jax.jacrev(end)(jnp.asarray(0.3)), forwards, rtol=1e-10)
    quotient = (end(0.3 + 1e-6) - end(0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(forwards, quotient, rtol=1e-7, atol=1e-8)


def test_copies_with_other_numbers_are_models_of_their_own():
    model = crank()
    other = model.with_params({"crank": {"length": 0.5}})
    other.derive("crank.angular_velocity", "10 * crank.length")
    assert "angular_velocity" in model.assemble().params()["crank"]
    assert "angular_velocity" not in other.assemble().params()["crank"]


def test_a_length_is_identified():
    data = mbs.simulate(crank(0.42).assemble(), t1=0.4)
    record = mbs.Experiment(data.t, {"pin.angle": data["pin.angle"]}, {"pin.angle": mbs.Channel(noise=1e-3)})
    fit = mbs.identify(crank().assemble(), record, {"crank.length": mbs.Positive(0.3)})
    np.testing.assert_allclose(fit.params["crank"]["length"], 0.42, rtol=1e-6)


def test_numbers_and_formulas_come_back_from_a_file(tmp_path):
    model = crank()
    model.derive("tip.marker0", ["crank.length/2", "0", "0"])
    mbs.save(model, tmp_path / "crank.toml")
    loaded = mbs.load(tmp_path / "crank.toml")
    assert loaded.assemble().structure == model.assemble().structure
    np.testing.assert_array_equal(*(m.assemble().initial_state()[0] for m in (model, loaded)))
    assert "crank.length/2" in str(loaded.describe())
    with pytest.raises(mbs.FileError, match=r"'tip\.marker0' follows from a function"):
        mbs.save(crank(), tmp_path / "other.toml")


@pytest.mark.parametrize("body", [mbs.Cylinder(2.0, 0.6, 0.1), mbs.Box(2.0, (0.3, 0.5, 0.7)), mbs.Sphere(2.0, 0.3)])
def test_solids_have_the_inertia_of_their_points(body):
    """By random points in the solid."""
    points = np.random.default_rng(0).uniform(-1, 1, size=(400_000, 3))
    if isinstance(body, mbs.Cylinder):
        points = points[np.sum(points[:, 1:] ** 2, axis=1) < 1] * np.array([0.3, 0.1, 0.1])
    elif isinstance(body, mbs.Box):
        points = points * np.array([0.15, 0.25, 0.35])
    else:
        points = points[np.sum(points**2, axis=1) < 1] * 0.3
    tensor = 2.0 * np.mean([np.eye(3)[None] * np.sum(points**2, axis=1)[:, None, None]], axis=(0, 1))
    tensor -= 2.0 * points.T @ points / len(points)
    np.testing.assert_allclose(body.inertia_tensor(), tensor, atol=5e-3 * np.abs(tensor).max())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.parameter("length", 1.0), "is not the name of a parameter"),
        (lambda m: m.parameter("crank.length", 1.0), "already a parameter"),
        (lambda m: m.parameter("crank.width", -1.0, range="positive"), "width = -1.0 must be > 0"),
        (lambda m: m.parameter("crank.width", 1.0, range="positve"), "Did you mean 'positive'"),
        (lambda m: m.parameter("crank.width", "wide"), "width must be numbers"),
        (lambda m: m.derive("crank.inerta", "1"), r"no parameter 'crank\.inerta'.*Did you mean 'crank\.inertia'"),
        (lambda m: m.derive("crank.inertia", "crank.lenght"), r"no parameter 'crank\.lenght'"),
        (lambda m: m.derive("crank.inertia", "crank.length +"), "cannot be read here, at character 15"),
        (lambda m: m.derive("crank.inertia", ["1", "2"]), r"must have shape \(\), what it follows from gives \(2,\)"),
        (lambda m: m.derive("crank.inertia", "-1"), "inertia = -1.0 must be > 0"),
        (lambda m: m.derive("pin.marker1", ["crank.position[0]", "0", "0"]), "which follows from others itself"),
        (lambda m: m.derive("crank.length", "2"), "is a number of the model itself"),
        (lambda m: m.parameter("crank.mass", 1.0), r"'crank\.mass' is a parameter of 'crank' already"),
    ],
)
def test_mistakes_are_named(change, said):
    with pytest.raises((mbs.ModelError, mbs.ParameterError), match=said):
        assembled_after(change)


def assembled_after(change):
    model = crank()
    change(model)
    return model.assemble()
