"""Systems built in Exudyn, converted and run on both sides with the same method and steps."""

import jax
import numpy as np
import pytest

import difmbs as mbs

from ..zoo import exudyn_systems as systems

exu = pytest.importorskip("exudyn")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

STEPS = {
    # Duration, step, method; and where spatial rotations or other methods differ by the error of a step, its size.
    "springs": (1.0, 1e-3, mbs.GeneralizedAlpha(0.9), 1e-9),
    "coordinates": (1.0, 1e-3, mbs.GeneralizedAlpha(0.9), 2e-7),
    "four_bar": (0.5, 1e-3, mbs.GeneralizedAlpha(0.9), 1e-9),
    "slides": (1.0, 5e-4, mbs.GeneralizedAlpha(0.9), 1e-7),
    "second_order": (1.0, 1e-3, mbs.GeneralizedAlpha(0.9), 1e-7),
    "cylinder": (0.2, 1e-4, mbs.RungeKutta4(), 1e-11),
    "coordinate_vectors": (1.0, 1e-3, mbs.GeneralizedAlpha(0.9), 1e-9),
    "bushing": (0.1, 2.5e-4, mbs.GeneralizedAlpha(0.9), 2e-7),
    "tree": (0.1, 2e-4, mbs.GeneralizedAlpha(0.9), 1e-6),
}


LONG = ("tree", "bushing")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in STEPS])
def test_every_sensor_agrees(name):
    t1, dt, solver, bound = STEPS[name]
    _container, system = getattr(systems, name)()
    differences = mbs.compare_with_exudyn(system, t1, dt, solver)
    assert len(differences) == system.systemData.NumberOfSensors() > 0
    assert max(differences.values()) <= bound, differences


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STEPS if name != "cylinder"])
def test_refined_steps_agree_better(name):
    _, dt, solver, _ = STEPS[name]
    _container, system = getattr(systems, name)()
    differences = mbs.compare_with_exudyn(system, 0.05, dt / 25, solver)
    # Exudyn finds reactions from positions, whose rounding short steps divide by their square.
    assert max(x for sensor, x in differences.items() if not sensor.startswith("reaction")) <= 1e-8, differences


@pytest.mark.parametrize(
    ("name", "path", "sensor"),
    [
        ("springs", ("ball", "mass"), "Position"),
        ("springs", ("spring", "stiffness"), "Position"),
        ("springs", ("spring", "reference_length"), "Position"),
        ("four_bar", ("bar0", "mass"), "velocity 1"),
    ],
)
def test_sensors_have_derivatives(name, path, sensor):
    _container, converted = getattr(systems, name)()
    system = mbs.from_exudyn(converted).assemble()
    element, field = path
    at = system.params()[element][field]
    end = lambda x: mbs.simulate(system, t1=0.1, dt=1e-3, params={element: {field: x}})[sensor][-1]
    slope = jax.jacfwd(end)(at)
    step = 1e-5 * at
    quotient = (end(at + step) - end(at - step)) / (2 * step)
    np.testing.assert_allclose(slope, quotient, rtol=1e-6, atol=1e-6 * np.abs(quotient).max())


def test_all_that_cannot_be_converted_is_in_one_error():
    _container, system = systems.flexible()
    with pytest.raises(mbs.ModelError) as caught:
        mbs.from_exudyn(system)
    said = str(caught.value)
    for name in ("object 'cable' (ANCFCable2D)", "object 'touching' (ContactCoordinate)", "load 'bad load'"):
        assert name in said


def test_a_user_function_that_reads_the_system_is_named():
    _container, system = systems.reading()
    with pytest.raises(mbs.ModelError, match=r"'spring'.*reads mbs\.GetNodeOutput, which has no values here"):
        mbs.from_exudyn(system).assemble()
