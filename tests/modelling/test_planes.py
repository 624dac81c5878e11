"""Connectors in the x-y plane on bodies that move out of it: refused where they can do nothing, else let be."""

import json
import warnings

import equinox as eqx
import numpy as np
import pytest

import difmbs as mbs

from ..helpers.commands import run

VERTICAL = (mbs.Mass1D(1.0, axis=(0, 0, 2)), {"position": 0.5})


class Pull(mbs.AbstractForce):
    """A law of one's own, in the plane by its port alone."""

    pull: float = mbs.parameter(unit="N")
    ports = (mbs.Planar(),)

    def effort(self, t, config, flow):
        return (mbs.PlanarWrench(0 * flow[0].v + self.pull, 0 * flow[0].w),)

    def outputs(self, t, config, flow):
        return {}


PLANAR = {
    "LinearSpringDamper": mbs.LinearSpringDamper(100.0, reference_length=0.2),
    "LinearSpringDamper of measured length": mbs.LinearSpringDamper(100.0),
    "RevoluteJoint2D": mbs.RevoluteJoint2D(),
    "own": Pull(1.0),
}


def assembled(law, *bodies, at=(0.0, 0.0, 0.0)):
    """The law between ground and a body, or between two bodies."""
    model = mbs.Model()
    handles = [model.add(f"body{i}", body, **initial) for i, (body, initial) in enumerate(bodies)]
    if len(law.ports) == 1:
        model.add("law", law, on=handles[0])
    else:
        model.add("law", law, between=handles if len(handles) == 2 else (model.ground.at(*at), handles[0]))
    return model.assemble(redundant="min_norm")


@pytest.mark.parametrize("law", PLANAR.values(), ids=list(PLANAR))
def test_what_can_do_nothing_is_refused(law):
    kind = type(law).__name__
    with pytest.raises(mbs.ModelError, match=f"'law': {kind} acts in the x-y plane, where 'body0' cannot move: it wou"):
        assembled(law, VERTICAL)
    # Turned by rounding only, as by an axis that was computed.
    tilted = mbs.Mass1D(1.0, axis=(6e-17, 0, 1))
    with pytest.raises(mbs.ModelError, match="it would do nothing"):
        assembled(law, (tilted, {"position": 0.5}))
    with pytest.raises(mbs.ModelError, match=r"'law\[1\]': .* where 'body0' cannot move"):
        assembled(law, (mbs.Mass1D(1.0, axis=[(1, 0, 0), (0, 0, 1)]), {"position": 0.5}))


def test_both_bodies_are_named():
    with pytest.raises(mbs.ModelError, match="where 'body0' and 'body1' cannot move"):
        assembled(PLANAR["LinearSpringDamper"], VERTICAL, (VERTICAL[0], {"position": 1.0}))


@pytest.mark.parametrize(
    ("body", "initial"),
    [
        (mbs.RigidBody2D(mass=1.0, inertia=1.0), {"position": (0.3, 0)}),
        (mbs.MassPoint2D(1.0), {"position": (0.3, 0)}),
        (mbs.Mass1D(1.0), {"position": 0.3}),
        (mbs.Mass1D(1.0, axis=(1, 0, 1)), {"position": 0.3}),
        (mbs.MassPoint(1.0), {"position": (0.3, 0, 0)}),
        (mbs.RigidBody(1.0, np.eye(3)), {"position": (0.3, 0, 0)}),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, eqx.Module) else "",
)
def test_planes_beside_each_other_are_taken_without_a_word(body, initial):
    """Markers at other heights of bodies that do move in their plane."""
    for law in PLANAR.values():
        assembled(law, (body, initial), at=(0.1, 0.1, 2.0))


def test_turning_counts_as_motion():
    rotor = (mbs.RotationalMass1D(1.0), {})
    assembled(mbs.RotationalSpringDamper(1.0), rotor, at=(0, 0, 1))
    assembled(mbs.LinearSpringDamper(1.0, spring_coupling=1.0), rotor, at=(1, 0, 1))
    assembled(mbs.RotationalSpringDamper(1.0), (mbs.RigidBody(1.0, np.eye(3)), {"position": (0, 0, 1)}))


def test_what_acts_in_space_may_stand_on_end():
    assembled(mbs.SpringDamper(0.2, 10.0), VERTICAL)


def test_less_certain_mistakes_are_warned_of():
    spring = PLANAR["LinearSpringDamper"]
    with pytest.warns(UserWarning, match="sees nothing of the motion of 'body1', which cannot move there"):
        assembled(spring, (mbs.MassPoint2D(1.0), {"position": (1, 0)}), VERTICAL)
    for body in (mbs.MassPoint(1.0), mbs.RigidBody(1.0, np.eye(3))):
        with pytest.warns(UserWarning, match="'law': its markers are 0.5 m apart along z at the start, and nowhere el"):
            assembled(spring, (body, {"position": (0, 0, 0.5)}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assembled(mbs.RevoluteJoint2D(), (mbs.MassPoint(1.0), {"position": (0, 0, 0.5)}))
        assembled(spring, (mbs.MassPoint2D(1.0), {}), at=(0, 0, 0.5))


BUMP_STOP = """schema = 1
gravity = [0, 0, -9.81]
[[mass_1d]]
name = "car"
mass = 1
axis = [0, 0, 1]
position = 0.5
[[linear_spring_damper]]
name = "bump stop"
between = ["ground", "car"]
stiffness = 1e5
type = "compressive"
reference_length = 0.2
[simulation]
t_end = 1
"""


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_commands_say_it(file, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = run(command, file(BUMP_STOP, "z.toml"), "--json", code=3)
    assert "z.toml: 'bump stop': LinearSpringDamper acts in the x-y plane, where 'car' cannot" in result.stderr
    assert "(item 1, line 8)" in result.stderr
    assert json.loads(result.stdout)["error"] == result.stderr.strip()
    path = file(
        BUMP_STOP.replace("mass_1d", "mass_point").replace("axis = [0, 0, 1]\nposition = 0.5", "position = [0, 0, 0.5]")
    )
    (said,) = json.loads(run("check", path, "--json").stdout)["warnings"]
    assert said.startswith("'bump stop': its markers are 0.5 m apart along z")
