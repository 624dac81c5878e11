"""Models that are changed after they were built or loaded: bodies by name, replacing, removing, describing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs
from difmbs.core.parameters import flatten
from difmbs.files.model_files import model_text

from ..helpers.same import assert_same
from ..zoo.cases import INERTIA
from ..zoo.described import MODEL, everything


class Cubic(mbs.AbstractForce):
    """A law that files do not know."""

    stiffness: jax.Array = mbs.parameter(unit="N/m^3")

    @property
    def ports(self):
        return (mbs.Point(), mbs.Point())

    def effort(self, t, config, flow):
        force = self.outputs(t, config, flow)["force"]
        return force, -force

    def outputs(self, t, config, flow):
        between = config[1] - config[0]
        return dict(force=self.stiffness * jnp.sum(between**2) * between)


def swing(law=None, body=None, **initial):
    """A body on a law from a fixed point."""
    model = mbs.Model(gravity=(0, -9.81, 0))
    initial = initial or dict(position=(1.0, 0.5, 0.0), velocity=(0.0, 0.1, 0.0))
    bob = model.add("bob", body or mbs.MassPoint(2.0), **initial)
    model.add("law", law or mbs.SpringDamper(stiffness=100.0), between=(model.ground.at(0, 0.5), bob))
    model.sense("tip", mbs.Position(bob))
    model.sense("pull", mbs.Output("law", "force"))
    return model


def test_names_are_markers_in_loaded_models_too(file):
    model, loaded = mbs.load(file(MODEL)), mbs.load(file(MODEL))
    top = model.body("top")
    model.add("more", mbs.SpringDamper(stiffness=3.0), between=(model.ground, top))
    model.add("each", mbs.SpringDamper(stiffness=3.0), between=([top, top, top], model.body("beads")))
    model.sense("turn", mbs.Rotation(top))
    loaded.add("more", mbs.SpringDamper(stiffness=3.0), between=("ground", "top"))
    loaded.add("each", mbs.SpringDamper(stiffness=3.0), between=(["top", "top", "top"], "beads"))
    loaded.sense("turn", mbs.Rotation("top"))
    assert model_text(loaded) == model_text(model)


def test_a_body_by_name_is_what_add_returned():
    model = mbs.Model()
    beads = model.add("beads", mbs.MassPoint(np.ones(3)), position=np.eye(3))
    again = model.body("beads")
    assert (again.name, again.kind, again.rows.tolist()) == (beads.name, beads.kind, beads.rows.tolist())
    assert len(model.body("ground")) == 1


EVERYTHING = everything().contents()


@pytest.mark.parametrize("name", [n for n in (*EVERYTHING.elements, *EVERYTHING.sensors) if n != "ground"])
def test_what_is_replaced_by_itself_stays_to_the_last_bit(name):
    model = everything()
    text = model_text(model)
    if name in EVERYTHING.elements:
        model.replace(name, model.contents().elements[name].element)
    else:
        quantity = model.contents().sensors[name]
        model.replace(name, quantity[0](quantity[1]) if isinstance(quantity, tuple) else quantity)
    assert model_text(model) == text


def test_another_law_has_the_markers_of_the_one_before(tmp_path):
    """A model with a law that a file cannot hold goes through a file with another one in its place."""
    model = swing(Cubic(4.0))
    with pytest.raises(mbs.FileError, match=r"'law': files know no Cubic\. Take it out with model.remove"):
        mbs.save(model, tmp_path / "model.toml")
    model.replace("law", mbs.SpringDamper(stiffness=1.0))
    mbs.save(model, tmp_path / "model.toml")
    loaded = mbs.load(tmp_path / "model.toml")
    loaded.replace("law", Cubic(4.0))
    assert_same(loaded.assemble(), swing(Cubic(4.0)).assemble())


def test_another_body_keeps_what_is_attached_and_how_it_starts():
    heavy = mbs.RigidBody(3.0, INERTIA)
    model, start = swing(), dict(position=(1.0, 0.5, 0.0), velocity=(0.0, 0.1, 0.0))
    bob = model.body("bob")
    model.replace("bob", heavy)
    assert_same(model.assemble(), swing(body=heavy, **start).assemble())
    # What was held in hand before is of the new class, too.
    model.replace("tip", mbs.Position(bob))
    assert_same(model.assemble(), swing(body=heavy, **start).assemble())
    turned = dict(position=(1.0, 0.5), angle=0.3)
    model.replace("bob", mbs.RigidBody2D(3.0, 0.1), **turned)
    assert_same(model.assemble(), swing(body=mbs.RigidBody2D(3.0, 0.1), **turned).assemble())


def test_many_instances_stay_as_many():
    """Also with numbers that all of them share."""
    model = mbs.Model()
    beads = model.add("beads", mbs.RigidBody(np.ones(3), INERTIA), rotation=0.1 * np.eye(3))
    model.add("links", mbs.SpringDamper(0.1, 5.0), between=(model.ground, beads))
    model.replace("beads", mbs.RigidBody(2.0, INERTIA))
    params = model.assemble().params()
    assert params["beads"]["mass"].shape == ()
    np.testing.assert_array_equal(params["beads"]["rotation"], 0.1 * np.eye(3))
    with pytest.raises(mbs.ModelError, match="the numbers of instances differ: mass 2, rotation 3"):
        model.replace("beads", mbs.RigidBody(np.ones(2), INERTIA))
    model.replace("links", mbs.SpringDamper(0.1, [1.0, 2.0, 3.0]))
    assert model.assemble().params()["links"]["stiffness"].shape == (3,)


def test_what_is_removed_is_gone():
    model = swing()
    reference = model_text(model)
    model.add("more", mbs.MassPoint(1.0))
    model.add("link", mbs.SpringDamper(), between=("bob", "more"))
    model.add("cut", mbs.Event(0.1, switch={"link": False}))
    model.sense("place", mbs.Position("more"))
    with pytest.raises(mbs.ModelError, match=r"'more' cannot be removed before .* to it: 'link', sensor 'place'\."):
        model.remove("more")
    with pytest.raises(mbs.ModelError, match="'link' cannot be removed before what is attached to it: 'cut'"):
        model.remove("link")
    with pytest.raises(mbs.ModelError, match="'law' cannot be removed before what is attached to it: sensor 'pull'"):
        model.remove("law")
    held = model.body("more")
    for name in ("cut", "link", "place", "more"):
        model.remove(name)
    assert model_text(model) == reference
    with pytest.raises(mbs.ModelError, match="'link': the model has no such instances of a body 'more'"):
        model.add("link", mbs.SpringDamper(), between=("bob", held))


REFUSED = {
    "marker": (
        lambda m: m.add("x", Cubic(1.0), between=("ground", "bbo")),
        "'x': there is no body 'bbo'. Did you mean 'bob'",
    ),
    "connector as marker": (lambda m: m.add("x", Cubic(1.0), between=("ground", "law")), "'x': there is no body 'law'"),
    "place": (
        lambda m: m.add("x", mbs.CoordinateLoad(1.0), on="bob.coordinate(2)"),
        r"'x': a name stands for a body.*Pass model.body\('bob'\).coordinate\(2\)",
    ),
    "coordinates": (
        lambda m: m.add("x", mbs.CoordinateLoad(1.0), on="bob"),
        r"'x' joins coordinates: pass bob.coordinates or bob.coordinate\(i\).*bob = model.body\('bob'\)",
    ),
    "body": (lambda m: m.body("law"), "there is no body 'law'. Known: ground, bob"),
    "unknown": (lambda m: m.replace("lwa", Cubic(1.0)), "no element or sensor 'lwa'. Did you mean 'law'"),
    "removed": (lambda m: m.remove("lwa"), "no element or sensor 'lwa'. Did you mean 'law'"),
    "described": (lambda m: m.describe("lwa"), "no element or sensor 'lwa'. Did you mean 'law'"),
    "ground": (lambda m: m.replace("ground", mbs.MassPoint(1.0)), "'ground' is the fixed world"),
    "no ground": (lambda m: m.remove("ground"), "'ground' is the fixed world"),
    "body for law": (
        lambda m: m.replace("law", mbs.MassPoint(1.0)),
        "'law' is a connector, a SpringDamper, and can",
    ),
    "law for body": (lambda m: m.replace("bob", Cubic(1.0)), "'bob' is a body, a MassPoint, and can only be replaced"),
    "nothing": (lambda m: m.replace("bob", None), "'bob': expected a body, connector, load or event"),
    "class": (lambda m: m.replace("bob", mbs.MassPoint), "'bob': expected .* got the class MassPoint itself"),
    "load": (lambda m: m.replace("law", mbs.Force((1, 0, 0))), "'law' has 2 markers, and a Force 1"),
    "coordinates of points": (lambda m: m.replace("law", mbs.CoordinateConstraint()), "'law' needs coordinates"),
    "start": (
        lambda m: m.replace("bob", mbs.MassPoint2D(1.0)),
        r"'bob': a MassPoint2D cannot have its initial value 'position', \[1.0, 0.5, 0.0\]. Pass new ones, of position",
    ),
    "many": (
        lambda m: m.replace("bob", mbs.MassPoint([1.0])),
        "'bob' holds a single one, what is to replace it 1",
    ),
    "start of a law": (
        lambda m: m.replace("law", Cubic(1.0), position=1),
        "'law' is a connector and takes no",
    ),
    "start of a sensor": (
        lambda m: m.replace("tip", mbs.Velocity("bob"), position=1),
        "'tip' is a sensor",
    ),
    "sensor": (lambda m: m.replace("tip", mbs.Rotation("bob")), "'tip': 'bob' is a MassPoint, which does not rotate"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_the_model_as_it_was(case):
    edit, message = REFUSED[case]
    model = swing()
    text = model_text(model)
    with pytest.raises(mbs.ModelError, match=message):
        edit(model)
    assert model_text(model) == text


def test_a_body_that_others_need_to_turn_stays_one_that_does():
    model = mbs.Model()
    bar = model.add("bar", mbs.RigidBody2D(1.0, 0.1))
    model.add("twist", mbs.Torque((0, 0, 1)), on=bar)
    model.add("push", mbs.CoordinateLoad(1.0), on=bar.coordinate(2))
    text = model_text(model)
    with pytest.raises(mbs.ModelError, match="'twist': Torque acts on rotation, but 'bar' is a MassPoint2D"):
        model.replace("bar", mbs.MassPoint2D(1.0))
    model.remove("twist")
    with pytest.raises(mbs.ModelError, match="'push' is on coordinate 2 of 'bar', but a MassPoint2D has only 2"):
        model.replace("bar", mbs.MassPoint2D(1.0))
    model.replace("push", mbs.CoordinateLoad(1.0))
    model.add("link", mbs.SpringDamper(), between=("ground", model.body("bar").at(0.1)))
    model.remove("push")
    with pytest.raises(mbs.ModelError, match="'link' is at a point of 'bar', but a MassPoint2D has no points"):
        model.replace("bar", mbs.MassPoint2D(1.0))
    model.add("twist", mbs.Torque((0, 0, 1)), on="bar")
    model.remove("twist")
    model.remove("link")
    assert "bar" in model_text(model) != text


def all_of(outputs, names):
    return ((name, outputs[name]) for name in names)


def test_a_description_names_every_parameter_and_every_output(file):
    model = mbs.load(file(MODEL))
    model.add("rod", mbs.DistanceConstraint(1.0), between=("ground", model.body("top").at(0.1)))
    model.add("attraction", mbs.AllPairsGravity(), on=["m1", model.body("top").at(0.2)])
    text = model_text(model)
    described, system = model.describe(), model.assemble()
    assert {".".join(path) for path in flatten(system.params())} <= {name for name, *_ in described.parameters}
    state = system.initial_state()
    seen = jax.eval_shape(lambda q, v: dict(all_of(mbs.Outputs(system, 0.0, q, v), described.outputs)), *state)
    assert set(seen) == set(described.outputs)
    outputs = mbs.Outputs(system, 0.0, *state)
    for name in ("s1", "beads", "attraction"):
        with pytest.raises(mbs.ParameterError) as refused:
            outputs[f"{name}.nothing"]
        listed = str(refused.value).partition("Known: ")[2].strip(".").split(", ")
        assert sorted(f"{name}.{x}" for x in listed) == sorted(o for o in described.outputs if o.startswith(f"{name}."))
    assert model_text(model) == text


def test_a_description_can_be_read():
    text = str(swing().describe())
    assert "law   SpringDamper " in text
    assert "ground.at(0, 0.5, 0); bob" in text
    assert "law.stiffness" in text
    assert "N/m" in text
    assert "bob.  position, velocity, acceleration" in text
    model = mbs.Model()
    model.add("beads", mbs.MassPoint(np.arange(1.0, 1001.0)), position=np.ones((1000, 3)))
    for i in range(200):
        model.add(f"m{i}", mbs.MassPoint(1.0))
    said = str(model.describe())
    assert "1000 numbers from 1 to 1000" in said
    assert "and 141 more" in said
    assert len(said) < 12_000
    assert "m150.mass" in str(model.describe("m150"))


def test_a_model_that_is_not_finished_is_described_too():
    def failing(t, *_):
        raise ValueError("no")

    model = swing(mbs.SpringDamper(1.0, 5.0, spring_force_user_function=failing))
    described = model.describe()
    assert "bob.position" in described.outputs
    assert "law.force" not in described.outputs
    assert mbs.Model().describe().elements == ()
    assert str(mbs.Model().describe())
