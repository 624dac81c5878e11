"""A model as a file describes it, and one with all that a file can hold."""

import numpy as np

import difmbs as mbs

MODEL = """schema = 1
gravity = [0, 0, -9.81]

[[mass_point]]
name = "m1"
mass = 1.6
position = [0.5, 0, 0]
velocity = [1, 0, 0]

[[rigid_body]]
name = "top"
mass = 1.0
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

[[mass_point]]
name = "beads"
mass = [1.0, 2.0, 3.0]

[[spring_damper]]
name = "s1"
between = ["ground", "m1"]
stiffness = 4000
damping = 8

[[spring_damper]]
name = "net"
between = [["m1", { body = "top", at = [0, 1, 0] }, { body = "beads", instance = 1 }],
           [{ body = "beads", instances = [2, 0] }, "ground"]]
stiffness = 10

[[force]]
name = "push"
on = { body = "top", at = [0.1, 0] }
load_vector = { times = [0, 1], values = [[0, 0, 0], [1, 0, 0]], smooth = true }

[[coordinate_constraint]]
name = "slide"
between = [{ body = "m1", coordinate = 0 }, { body = "beads", instance = 0, coordinate = 0 }]
active = false

[[event]]
name = "cut"
when = 0.35
switch = { s1 = false }

[[sensor]]
name = "tip"
of = { body = "top", at = [0, 0, 1] }
quantity = "velocity"

[[sensor]]
name = "pull"
of = "s1"
quantity = "force.x"

[simulation]
t_end = 0.5
save_dt = 0.1
"""


def everything():
    """One of everything else: loads, all kinds of markers and sensors, events, many instances, odd numbers."""
    model = mbs.Model(gravity=(0.1, -9.81, 1e-300))
    a = model.add("a", mbs.Mass1D(0.1, axis=(1, 2, 2)), position=-0.0, velocity=1 / 3)
    b = model.add("b", mbs.RotationalMass1D([0.2, 0.3]), angle=[0.1, 0.2])
    c = model.add("c c", mbs.RigidBody(1.0, np.eye(3)), position=np.zeros((1, 3)), rotation=(0, 0, 1))
    d = model.add("d", mbs.MassPoint(np.arange(1.0, 4.0)), position=np.zeros((3, 3)) + np.arange(3)[:, None])
    curve = np.array([[-1.0, -5.0], [0.0, 0.0], [2.0, 3.0]])
    spring = mbs.LinearSpringDamper(curve=curve, type="tabular", dof_constraint=(False, False, True))
    model.add("spring", mbs.SpringDamper(stiffness=[1.0, 2.0]), between=([d[0], d[2]], [c.at(0.1), model.ground]))
    model.add("tensile", mbs.LinearSpringDamper(1.0, type="tensile"), between=(model.ground.at(0, 1, -0.0), c[0]))
    model.add("first", mbs.SpringDamper(stiffness=1.0), between=(d[[2, 1]], d[[0, 0]]), active=False)
    model.add("table", spring, between=(c.at(0.1, 0.2), model.ground))
    model.add("pull", mbs.AllPairsGravity(1.0, softening="plummer"), on=[d, c])
    ramp = mbs.Piecewise([0, 0.1, 1], [[0, 0, 0], [0.1, 0, 0], [1, 2, 3]])
    model.add("force", mbs.Force(ramp, body_fixed=True), on=c.at([0.3], [0.0], [0.1]))
    model.add("load", mbs.CoordinateLoad(mbs.Piecewise([0, 1], [0, 1e-7], smooth=True)), on=b.coordinate(0))
    model.add("gear", mbs.CoordinateConstraint(2.0, velocity_level=True), between=(b[0].coordinate(0), a.coordinate(0)))
    model.add("tie", mbs.CoordinateVectorConstraint([[1.0]]), between=(b[1].coordinates, model.ground))
    model.add("stop", mbs.Event(0.25, stop=True))
    model.add("cut", mbs.Event(0.1, switch={"table": False, "first": True}))
    model.sense("at", mbs.Acceleration(c.at(1.0)))
    model.sense("turn", mbs.Rotation(c))
    model.sense("one", mbs.Position(d[1]))
    model.sense("some", mbs.Velocity(d[1:]))
    model.sense("f", mbs.Output("first", "force_local"))
    model.sense("y", mbs.Output("d", "position.y"))
    return model
