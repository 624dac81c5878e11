"""Systems built in Exudyn, converted and run on both sides with the same method and steps."""

import itertools
import math
import types

import jax
import numpy as np
import pytest

import difmbs as mbs
from difmbs.interop import exudyn_comparison
from difmbs.interop.exudyn_functions import ExudynSystem

from ..zoo import exudyn_models as models
from ..zoo import exudyn_systems as systems

exu = pytest.importorskip("exudyn")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ALPHA, TRAPEZOIDAL, RK4 = mbs.GeneralizedAlpha, mbs.TrapezoidalIndex2(), mbs.RungeKutta4()
STEPS = {
    # Duration, step, method; and where spatial rotations differ by the error of a step, its size.
    "springs": (1.0, 1e-3, ALPHA(0.9), 1e-9),
    "coordinates": (1.0, 1e-3, ALPHA(0.9), 1e-9),
    "four_bar": (0.5, 1e-3, ALPHA(0.9), 1e-8),
    "slides": (1.0, 5e-4, ALPHA(0.9), 1e-7),
    "second_order": (1.0, 1e-3, ALPHA(0.9), 1e-9),
    "cylinder": (0.2, 1e-4, RK4, 1e-11),
    "coordinate_vectors": (1.0, 1e-3, ALPHA(0.9), 1e-8),
    "bushing": (0.1, 2.5e-4, ALPHA(0.9), 2e-7),
    "tree": (0.1, 2e-4, ALPHA(0.9), 1e-6),
    "reading": (1.0, 1e-3, RK4, 1e-11),
}
MODELS = {
    "mini_examples": (1.0, 1e-3, ALPHA(0.9), 1e-8),
    "mini_example_of_gravity": (1.0, 1e-3, ALPHA(0.9), 1e-10),
    "four_bar_of_rods": (0.5, 1e-3, ALPHA(0.5), 1e-10),
    "coordinate_vectors_of_equations": (1.0, 1e-3, ALPHA(0.8), 1e-7),
    "body_of_equations": (0.01, 2e-6, ALPHA(0.8), 2e-9),
    "satellites": (1e5, 1e3, RK4, 1e-10),
    "pendulum": (1.0, 1e-3, ALPHA(0.6), 1e-7),
    "benchmark_pendulum": (1.0, 1e-3, ALPHA(0.9), 1e-7),
    "truss": (0.5, 1e-2, ALPHA(0.5), 1e-10),
    "governor_of_bushings": (0.005, 5e-5, ALPHA(0.5), 1e-8),
    "governor_of_joints": (0.02, 1e-3, TRAPEZOIDAL, 1e-7),
    "governor_of_a_tree": (0.02, 2.5e-4, TRAPEZOIDAL, 1e-7),
    "unit_tests": (0.5, 1e-3, ALPHA(0.6), 1e-9),
    "switching": (0.5, 5e-4, TRAPEZOIDAL, 1e-8),
}
REFINED = {
    # Duration and step, with which spatial rotations agree better.
    "slides": (0.05, 2e-5, ALPHA(0.9), 1e-8),
    "bushing": (0.05, 1e-5, ALPHA(0.9), 1e-8),
    "tree": (0.05, 8e-6, ALPHA(0.9), 1e-8),
    "governor_of_bushings": (0.005, 1e-5, ALPHA(0.5), 1e-9),
    "governor_of_joints": (0.02, 1e-4, TRAPEZOIDAL, 1e-9),
    "governor_of_a_tree": (0.02, 2e-5, TRAPEZOIDAL, 1e-9),
}
LONG = ("tree", "bushing", "body_of_equations", "truss", "governor_of_joints", "governor_of_a_tree", "unit_tests")


def cases(names, long=LONG):
    return [pytest.param(name, marks=pytest.mark.slow) if name in long else name for name in names]


def built(name):
    return getattr(systems if hasattr(systems, name) else models, name)()


@pytest.mark.filterwarnings("ignore:'object.*' (acts on ground only|is not active)")
@pytest.mark.parametrize("name", cases([*STEPS, *MODELS]))
def test_every_sensor_agrees(name):
    t1, dt, solver, bound = (STEPS | MODELS)[name]
    _container, system = built(name)
    differences = mbs.compare_with_exudyn(system, t1, dt, solver)
    assert len(differences) == system.systemData.NumberOfSensors() > 0
    assert max(differences.values()) <= bound, differences


@pytest.mark.slow
@pytest.mark.parametrize("name", REFINED)
def test_refined_steps_agree_better(name):
    t1, dt, solver, bound = REFINED[name]
    _container, system = built(name)
    differences = mbs.compare_with_exudyn(system, t1, dt, solver)
    # Exudyn finds reactions from positions, whose rounding short steps divide by their square.
    assert max(x for sensor, x in differences.items() if not sensor.startswith("reaction")) <= bound, differences


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hydraulics", "hydraulics_from_rest"])
def test_pressures_agree_in_the_limit_of_short_steps(name):
    """In Exudyn's implicit methods pressures are of first order: differences are halved with the steps, and both agree
    where they are extrapolated. Functions before steps set the valves, and user functions read each other's objects."""
    ours, theirs = [], []
    for steps in (500, 1000, 2000):
        _container, system = built(name)
        model = mbs.from_exudyn(system, 0.5 / steps).assemble()
        record = exudyn_comparison.recorded(system, 0.5, steps, ALPHA(0.5))["pressure"][:: steps // 10, 1:]
        theirs.append(record / 1e7)
        ours.append(mbs.simulate(model, t1=0.5, dt=0.5 / steps, saveat=np.linspace(0, 0.5, 11))["pressure"] / 1e7)
    off = [np.abs(a - b).max() for a, b in zip(ours, theirs, strict=True)]
    assert 1.9 < off[0] / off[1] < 2.1
    assert 1.9 < off[1] / off[2] < 2.1
    first, second = ([2 * b - a for a, b in itertools.pairwise(x)] for x in (ours, theirs))
    assert np.abs((4 * first[1] - first[0]) / 3 - (4 * second[1] - second[0]) / 3).max() < 1e-6


def test_statics_agree():
    _container, system = models.spring_with_constraints()
    with pytest.warns(UserWarning, match="is of no body: it becomes a particle of 1 kg"):
        found = mbs.static_equilibrium(mbs.from_exudyn(system).assemble())
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    system.SolveStatic(settings)
    for number, name in enumerate(("end", "force")):
        np.testing.assert_allclose(found[name], system.GetSensorValues(number), atol=1e-9)


GRADIENTS = [
    ("mini_examples", ("object1", "mass"), "sensor0"),
    ("mini_examples", ("object2", "stiffness"), "sensor0"),
    ("mini_examples", ("object2", "reference_length"), "sensor0"),
    ("mini_example_of_gravity", ("object2", "gravitational_constant"), "sensor2"),
    ("four_bar_of_rods", ("object1", "mass"), "sensor0"),
    ("coordinate_vectors_of_equations", ("load0 y", "load"), "sensor0"),
    ("satellites", ("object2", "gravitational_constant"), "sensor0"),
    ("pendulum", ("object1", "mass"), "sensor1"),
    ("benchmark_pendulum", ("object1", "mass"), "energy"),
    ("truss", ("object1", "mass"), "sensor0"),
    ("hydraulics", ("actuator", "damping"), "pressure"),
    ("governor_of_joints", ("object3", "mass"), "Position 2"),
    ("governor_of_joints", ("object10", "stiffness"), "Position 2"),
    ("unit_tests", ("object4", "mass"), "sensor0"),
    ("switching", ("object1", "angular_velocity"), "sensor0"),
]


@pytest.mark.filterwarnings("ignore:'object.*' (acts on ground only|is not active)")
@pytest.mark.parametrize(
    ("name", "path", "sensor"),
    [
        ("springs", ("ball", "mass"), "Position"),
        ("springs", ("spring", "stiffness"), "Position"),
        ("springs", ("spring", "reference_length"), "Position"),
        ("four_bar", ("bar0", "mass"), "velocity 1"),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in GRADIENTS),
    ],
)
def test_sensors_have_derivatives(name, path, sensor):
    _container, converted = built(name)
    system = mbs.from_exudyn(converted).assemble(redundant="min_norm")
    element, field = path
    at = system.params()[element][field]
    run = {"satellites": dict(t1=2e3, dt=50.0), "unit_tests": dict(t1=0.3, dt=1e-3)}.get(name, dict(t1=0.1, dt=1e-3))
    end = lambda x: mbs.simulate(system, params={element: {field: x}}, **run)[sensor][-1]
    slope = jax.jacfwd(end)(at)
    step = 1e-5 * np.abs(at).max()
    directions = np.eye(at.size).reshape(-1, *at.shape) if at.ndim else np.ones(1)
    quotients = [(end(at + step * x) - end(at - step * x)) / (2 * step) for x in directions]
    wanted = np.moveaxis(np.asarray(quotients), 0, -1).reshape(slope.shape)
    assert np.abs(wanted).max() > 0
    np.testing.assert_allclose(slope, wanted, atol=1e-6 * np.abs(wanted).max())


def test_all_that_cannot_be_converted_is_in_one_error():
    _container, system = systems.flexible()
    with pytest.raises(mbs.ModelError) as caught:
        mbs.from_exudyn(system)
    said = str(caught.value)
    for name in ("object 'cable' (ANCFCable2D)", "object 'touching' (ContactCoordinate)", "load 'bad load'"):
        assert name in said


def refused(before_steps=None, law=None):
    """What is said of a spring with a law and a function before steps; both take the system's numbers."""
    _container, system = systems.spring_of(law or (lambda of: lambda mbs, t, item, x, v, k, d, f: k * x))
    if before_steps is not None:
        system.SetPreStepUserFunction(before_steps(system))
    with pytest.raises(mbs.ModelError) as caught:
        mbs.from_exudyn(system).assemble()
    return str(caught.value)


def test_what_user_functions_cannot_do_is_named():
    V = exu.OutputVariableType
    calls = refused(law=lambda of: lambda mbs, t, item, x, v, k, d, f: x * mbs.GetSystemJacobian()[0])
    assert "'spring'" in calls
    assert "calls mbs.GetSystemJacobian, which has no values here" in calls
    earlier = lambda of: (
        lambda mbs, t, item, x, v, k, d, f: x * mbs.GetNodeOutput(of, V.Position, exu.ConfigurationType.Reference)[0]
    )
    assert "for the current configuration, not for Reference" in refused(law=earlier)

    def sets_mass(system):
        return lambda mbs, t: mbs.SetObjectParameter(1, "mass", 2.0) or True

    assert "sets 'mass' of object 1, which is not converted" in refused(sets_mass)

    def asks(system):
        def function(mbs, t):
            if mbs.GetNodeOutput(0, V.Position)[0] > 1:
                mbs.SetObjectParameter(3, "stiffness", 10.0)
            return True

        return function

    assert "cannot be traced by JAX: write 'if' as numpy.where" in refused(asks)


def test_constraints_cannot_read_what_moves():
    _container, system = systems.reading_constraint()
    with pytest.raises(mbs.ModelError, match=r"its user function reads mbs\.GetNodeOutput\. Force laws and loads can"):
        mbs.from_exudyn(system)


def test_functions_are_translated_with_what_they_call():
    """Entries of arrays that are assigned to, globals, closures, max and min; and nothing is left behind."""
    scratch = np.zeros(3)

    def inner(x):
        return np.array([max(x, 0.2), min(x, 0.2), math.sin(x)])

    def outer(mbs, x):
        scratch[0:3] = inner(x)
        found = np.copy(scratch)
        found[1] += 2 * np.linalg.norm(found)
        found[0] = np.where(found > 0.5, found, abs(-found)).dot(found) % 0.3
        return [found[0], found[1], -found[2]]

    system = ExudynSystem(types.SimpleNamespace(variables={}))
    for x in (0.1, 0.7):
        np.testing.assert_allclose(jax.jit(lambda x: system.call(outer, (x,)))(x), outer(None, x), rtol=1e-14)
    assert type(scratch) is np.ndarray
