"""Robots in URDF files against a recursive Newton-Euler of its own, and what is refused."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difmbs as mbs

from ..oracles.newton_euler import inverse_dynamics

ARM = Path(__file__).parents[1] / "data" / "arm.urdf"
TURNING = ("j1", "j2", "j3", "j4", "j6")
JOINTS = {"j1": 0.4, "j2": -0.7, "j3": 0.9, "j4": 2.0, "j5": 0.03, "j6": -1.1}
GRAVITY = (0.3, -0.2, -9.81)


def state_of(system, speeds):
    """The initial positions with these joint speeds, as velocities of the bodies."""
    q, _ = system.initial_state()
    names = list(speeds)

    def rates(v):
        outputs = mbs.Outputs(system, 0.0, q, v)
        return jnp.stack([outputs[f"{n}.{'velocity' if n == 'j5' else 'angular_velocity'}"] for n in names])

    levels = [mbs.constraint_equations(system, n) for n in names]
    G = np.concatenate([level(q, 0 * q[: system.structure.velocity_count]).jacobian for level in levels])
    J = np.asarray(jax.jacfwd(rates)(jnp.zeros(system.structure.velocity_count)))
    wanted = np.concatenate([np.zeros(len(G)), [speeds[n] for n in names]])
    return q, jnp.asarray(np.linalg.solve(np.concatenate([G, J]), wanted))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_forward_dynamics_are_the_inverse_of_newton_eulers(seed):
    rng = np.random.default_rng(seed)
    positions = {n: x * (1 + 0.3 * rng.normal()) for n, x in JOINTS.items()}
    speeds = {n: rng.normal() for n in JOINTS}
    system = mbs.from_urdf(ARM, gravity=GRAVITY, positions=positions).assemble()
    q, v = state_of(system, speeds)
    found = mbs.Outputs(system, 0.0, q, v)
    for name, position in positions.items():
        output = f"{name}.{'displacement' if name == 'j5' else 'angle'}"
        np.testing.assert_allclose(found[output], position, atol=1e-12)
    acceleration, _ = found.accelerations()
    moved = lambda h: mbs.Outputs(system, 0.0, system.retract(q, h * v), v + h * acceleration)
    names = [f"{name}.{'velocity' if name == 'j5' else 'angular_velocity'}" for name in JOINTS]
    rates = lambda h: jnp.stack([moved(h)[name] for name in names])
    accelerations = dict(zip(JOINTS, jax.jvp(rates, (0.0,), (1.0,))[1].tolist(), strict=True))
    forces = inverse_dynamics(ARM, positions, speeds, accelerations, GRAVITY)
    losses = {"j1": 0.5 * np.tanh(speeds["j1"] / 1e-3) + 0.3 * speeds["j1"], "j4": 0.05 * speeds["j4"]}
    for name in JOINTS:
        np.testing.assert_allclose(forces[name], -losses.get(name, 0.0), atol=1e-9)


def test_links_on_fixed_joints_are_merged():
    model = mbs.from_urdf(ARM)
    params = model.assemble().params()
    assert set(params) >= {"shoulder", "flange", "j1", "j1 friction", "j4 friction"}
    assert not {"tool", "frame of the tool", "base", "j2 friction"} & set(params)
    np.testing.assert_allclose(params["flange"]["mass"], 0.7)


@pytest.mark.slow
def test_shapes_are_on_the_bodies_that_carry_their_links(file):
    path = file(
        """
<robot name="r">
  <link name="base"><visual><geometry><box size="1 2 0.1"/></geometry></visual></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.1" length="1"/></geometry></visual></link>
  <link name="hand">
    <visual><origin rpy="0 0 1.5"/><geometry><mesh filename="package://hand.stl" scale="2 2 2"/></geometry></visual>
    <visual><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0 0 1" rpy="0 0 0.5"/></joint>
</robot>""",
        "r.urdf",
    )
    shapes = mbs.urdf_shapes(path)
    assert [(s.body, s.link, s.kind, s.size, s.file) for s in shapes] == [
        ("ground", "base", "box", (1.0, 2.0, 0.1), None),
        ("arm", "arm", "cylinder", (0.1, 1.0), None),
        ("arm", "hand", "mesh", (2.0, 2.0, 2.0), "package://hand.stl"),
        ("arm", "hand", "sphere", (0.05,), None),
    ]
    np.testing.assert_allclose(shapes[1].position, [0, 0, 0.5])
    np.testing.assert_allclose(shapes[2].position, [0, 0, 1.0])
    np.testing.assert_allclose(shapes[2].rotation, [0, 0, 2.0])
    assert mbs.urdf_shapes(path, floating=True)[0].body == "base"


def test_a_free_robot_falls():
    arm = ARM.read_text().replace('<link name="base"/>', BASE)
    path = ARM.with_name("arm.urdf")
    model = from_text(arm, path, floating=True)
    run = mbs.simulate(model.assemble(), t1=0.1, dt=1e-3)
    assert run["base.position"][-1, 2] < -0.04


ROUND = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
BASE = f'<link name="base"><inertial><mass value="5"/>{ROUND}</inertial></link>'


def from_text(text, path, **options):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / path.name
        other.write_text(text)
        return mbs.from_urdf(other, **options)


def test_limits_hold():
    text = f"""<robot name="r"><link name="base"/>
    <link name="bar"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>{ROUND}</inertial></link>
    <joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
    <limit lower="-0.2" upper="0.3" effort="1" velocity="1"/></joint></robot>"""
    model = from_text(text, Path("bar.urdf"), limit_stiffness=1e5)
    run = mbs.simulate(model.assemble(), t1=0.5)
    assert 0.3 < run["hinge.angle"].max() < 0.31


def changed(old, new):
    text = ARM.read_text()
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<robot", "it is no XML"),
        ("<model/>", "it begins with <model>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><robot/>', "document types and entities are not read"),
        ("<robot/>", "must be a tree with one root, found 0"),
        (changed('<child link="shoulder"/>', '<child link="sholder"/>'), "no link 'sholder'. Did you mean 'shoulder'"),
        (changed('type="continuous"', 'type="planar"'), "'j4' is planar: only fixed, revolute"),
        (changed('<mass value="4.2"/>', '<mass value="heavy"/>'), "value must be a number, got 'heavy'"),
        (changed('<mass value="4.2"/>', '<mass/>'), "link 'shoulder': value is missing"),
        (changed('xyz="0 0 0.2"', 'xyz="0 0"'), "joint 'j1': xyz must be three numbers"),
        (changed('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'), "'j2': its axis has no direction"),
        (changed('name="j2"', 'name="j1"'), "a joint has no name, or that of another one: 'j1'"),
        (changed('<axis xyz="0 0 1"/><dynamics damping="0.05"/>', '<mimic joint="j1"/>'), "'j4' mimics another one"),
        (changed('<inertial><origin xyz="0 0.02 0.03"/><mass value="0.8"/>', "<visual>").replace(
            'izz="0.001"/></inertial>', 'izz="0"/></visual>'), "'wrist1' moves and has no mass"),
    ],
)  # fmt: skip
def test_mistakes_in_files_are_named(text, said):
    with pytest.raises(mbs.FileError, match=said):
        from_text(text, Path("robot.urdf"))


def test_positions_of_unknown_joints_are_refused():
    with pytest.raises(mbs.ModelError, match=r"no moving joint 'j7'\. Did you mean"):
        mbs.from_urdf(ARM, positions={"j7": 1.0})
    with pytest.raises(mbs.FileError, match="No such file"):
        mbs.from_urdf("nowhere.urdf")
