"""Balancing a slider-crank on an elastic frame: where should the centres of mass be, so that the frame moves least?

Prints the design and writes report.html. Exact answer: -0.075 and -0.15 m, where the mechanism's centre of mass rests.
"""

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402

CRANK, ROD = 0.1, 0.3  # m, lengths


def slider_crank() -> mbs.System:
    model = mbs.Model()
    frame = model.add("frame", mbs.RigidBody2D(mass=2.0, inertia=1.0))
    crank = model.add("crank", mbs.RigidBody2D(mass=0.4, inertia=0.4 * CRANK**2 / 12))
    rod = model.add("rod", mbs.RigidBody2D(mass=0.2, inertia=0.2 * ROD**2 / 12), position=(CRANK, 0))
    slider = model.add("slider", mbs.MassPoint2D(mass=0.1), position=(CRANK + ROD, 0))
    # Springs and dampers along x and y.
    mount = mbs.LinearSpringDamper(stiffness=5000.0, damping=50.0, reference_length=0.0, damper="isotropic")
    model.add("mount", mount, between=(frame, model.ground))
    model.add("crank hinge", mbs.RevoluteJoint2D(), between=(frame, crank))
    model.add("crank pin", mbs.RevoluteJoint2D(), between=(crank.at(CRANK), rod))
    model.add("rod end", mbs.RevoluteJoint2D(), between=(rod.at(ROD), slider))
    model.add("guide", mbs.CoordinateConstraint(), between=(frame.coordinate(1), slider.coordinate(1)))
    model.add("drive", mbs.Torque((0, 0, 0.1)), on=crank)
    return model.assemble()


def balance() -> mbs.Design:
    return mbs.optimize(
        slider_crank(),
        [mbs.LargestSize("frame.position.x"), mbs.LargestSize("frame.position.y")],
        {
            "crank.center_of_mass[0]": mbs.Interval(-0.02, -0.1, 0.1),
            "rod.center_of_mass[0]": mbs.Interval(0.05, -0.3, 0.3),
        },
        t1=3.0,
        saveat=np.linspace(0, 3, 301),
        rtol=1e-6,
        atol=1e-8,
        max_steps=20000,
    )


if __name__ == "__main__":
    design = balance()
    print(design)
    mbs.report(design, "report.html", force=True)
