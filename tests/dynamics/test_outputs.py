"""Outputs by name."""

import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs


def test_components_of_vectors_by_name():
    model = mbs.Model()
    beads = model.add("beads", mbs.MassPoint(np.ones(3)), position=np.arange(9.0).reshape(3, 3))
    disc = model.add("disc", mbs.RigidBody2D(1.0, 1.0), position=(5, 6))
    model.add("pin", mbs.RevoluteJoint2D(), between=(model.ground.at(5, 6), disc))
    model.sense("one", mbs.Position(beads[1]))
    model.sense("all", mbs.Position(beads))
    model.sense("named", mbs.Output("disc", "position.y"))
    model.sense("made", lambda t, outputs: jnp.stack([t, 2 * t]))
    q, v = (system := model.assemble()).initial_state()
    outputs = mbs.Outputs(system, 2.0, q, v)
    values = {
        "one.z": 5.0,
        "all.x": [0, 3, 6],
        "beads.position.y": [1, 4, 7],
        "named": 6.0,
        "made.y": 4.0,
        "pin.displacement.x": 0,
    }
    for name, value in values.items():
        np.testing.assert_array_equal(outputs[name], value)
    for name, message in {
        "named.x": "'named' is not a vector",
        "pin.force.z": "'pin.force' has components x and y, not z",
        "disc.rotation.x": "'disc.rotation' is not a vector",
        "disc.x": "'disc' has no output 'x'",
        "none.position.x": "there is no sensor or element 'none'",
        "disc.speed.x": "'disc' has no output 'speed'",
    }.items():
        with pytest.raises(mbs.ParameterError, match=message):
            outputs[name]
