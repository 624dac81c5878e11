"""Units of outputs come from the elements that have them."""

import numpy as np
import pytest

import difmbs as mbs
from difmbs.dynamics.output_units import of_output
from difmbs.elements.connectors.connector import USUAL_UNITS

from ..zoo import cases


@pytest.mark.parametrize(
    ("output", "unit"),
    [
        ("body.position", "m"),
        ("body.acceleration.x", "m/s²"),
        ("body.rotation", ""),
        ("spring.force", "N"),
        ("spring.force_local", "N"),
        ("rod.displacement.y", "m"),
        ("rod.force", "N"),
        ("gear.displacement", ""),
        ("pull.force", "N"),
        ("tip", "m/s"),
        ("again", "m"),
        ("frequency", "Hz"),
        ("work", ""),
        ("nobody.position", ""),
    ],
)
def test_units_of_sensors_and_outputs(output, unit):
    model = mbs.Model()
    body = model.add("body", mbs.RigidBody(1.0, inertia=np.eye(3)), position=(1, 0, 0))
    disc = model.add("disc", mbs.RotationalMass1D(1.0))
    model.add("spring", mbs.SpringDamper(1.0, 5.0), between=(model.ground, body))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, body))
    model.add("gear", mbs.CoordinateConstraint(), between=(model.ground, disc.coordinate(0)))
    model.add("pull", mbs.Force((1.0, 0, 0)), on=body)
    model.sense("tip", mbs.Velocity(body))
    model.sense("again", mbs.Output("spring", "distance"))
    model.sense("work", lambda t, outputs: t)
    assert of_output(model.assemble(), output) == unit


def test_every_unit_is_of_an_output_that_there_is():
    """Usual ones, of one of the laws; those that a law says itself, its own."""
    laws = [case.law() for case in (*cases.CONNECTORS.values(), *cases.CONSTRAINTS.values())]
    laws += [mbs.Force((0, 0, 0)), mbs.Torque((0, 0, 0)), mbs.CoordinateLoad(0.0)]
    for name in USUAL_UNITS:
        assert any(f"`{name}`" in type(law).__doc__ for law in laws), name
    for law in laws:
        for name in law.units:
            assert f"`{name}`" in type(law).__doc__, name
