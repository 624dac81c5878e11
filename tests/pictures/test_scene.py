"""What pictures show is where the mechanism is, and every element has a shape."""

import inspect

import jax.numpy as jnp
import matplotlib.figure
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import difmbs as mbs
from difmbs.elements.bodies.body import AbstractBody
from difmbs.elements.connectors.connector import AbstractConnector
from difmbs.elements.symbols import STILL, STRETCHED
from difmbs.pictures import meshes, shape_meshes
from difmbs.pictures.mesh_files import read_mesh
from difmbs.pictures.packing import Run, packed
from difmbs.pictures.scene import scene_of
from difmbs.pictures.sketch import sketch

from ..helpers.scenes import unpacked
from ..zoo import described, models

PUBLIC = [getattr(mbs, name) for name in mbs.__all__]
ELEMENTS = [c for c in PUBLIC if inspect.isclass(c) and issubclass(c, (AbstractBody, AbstractConnector))]


@pytest.mark.parametrize("kind", [c for c in ELEMENTS if not inspect.isabstract(c)], ids=lambda c: c.__name__)
def test_every_element_has_a_picture_of_its_own(kind):
    assert "symbols" in vars(kind), f"{kind.__name__} looks like any element"


def test_every_shape_is_closed_and_faces_outwards():
    for name in (*STRETCHED, *STILL, "ground"):
        if name == "link":
            continue
        mesh = shape_meshes.shape(name)
        corners = mesh.points[mesh.triangles]
        assert np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) > 0
        np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1)
        assert np.abs(mesh.points).max() < 2.5
        if name in STRETCHED:
            assert -1e-12 <= mesh.points[:, 0].min() <= mesh.points[:, 0].max() <= 1 + 1e-12


def moving(system, **arguments):
    solution = mbs.simulate(system, **arguments)
    return solution, scene_of(system, np.asarray(solution.t), np.asarray(solution.q), np.asarray(solution.v))


@pytest.fixture(scope="module")
def arm():
    """A body in space with a spring at a point of it, and sensors at the spring's ends."""
    model = mbs.Model(gravity=(0, 0, -9.81))
    body = mbs.RigidBody(2.0, np.diag([0.1, 0.2, 0.25]), (0.1, 0.0, 0.05))
    arm = model.add("arm", body, position=(0, 0, 1), rotation=(0.3, 0.2, 0.1), angular_velocity=(1.0, 4.0, 2.0))
    model.add("ball", mbs.SphericalJoint(), between=(model.ground.at(0, 0, 1), arm))
    tip = arm.at(0.5, 0.1, -0.2)
    model.add("spring", mbs.SpringDamper(0.4, 50.0, 1.0), between=(model.ground.at(1, 0, 0), tip))
    model.add("weight", mbs.MassProportionalLoad((0, 0, -1.0)), on=arm)
    model.sense("tip", mbs.Position(tip))
    model.sense("turn", mbs.Rotation(arm))
    return moving(model.assemble(), t1=1.0, dt=5e-3)


def test_bodies_springs_and_sensors_are_where_they_are(arm):
    solution, scene = arm
    assert (scene.frames, scene.view.plane) == (("ground", "arm"), False)
    tip, spring = np.asarray(solution["tip"]), next(p for p in scene.parts if p.name == "spring")
    np.testing.assert_allclose(scene.position(scene.points["tip"]), tip, atol=1e-13)
    np.testing.assert_allclose(scene.turns[:, 1], solution["turn"], atol=1e-13)
    for k in range(len(tip)):
        A, begin = scene.placed(spring, k)
        np.testing.assert_allclose(begin, [1, 0, 0])
        np.testing.assert_allclose(begin + A @ [1, 0, 0], tip[k], atol=1e-13)
        assert np.linalg.norm(A[:, 0]) == pytest.approx(float(solution["spring.distance"][k]))
        assert A[:, 0] @ A[:, 1] == pytest.approx(0, abs=1e-12)


def test_arrows_point_along_the_loads(arm):
    _, scene = arm
    load = next(p for p in scene.parts if p.name == "weight")
    A, _ = scene.placed(load, 3)
    np.testing.assert_allclose(A[:, 0] / np.linalg.norm(A[:, 0]), [0, 0, -1], atol=1e-12)
    down = next(p for p in scene.parts if p.layer == "gravity")
    A, _ = scene.placed(down, 0)
    np.testing.assert_allclose(A[:, 0] / np.linalg.norm(A[:, 0]), [0, 0, -1], atol=1e-12)


def test_a_page_holds_all_frames_to_a_millionth_of_the_size(arm):
    _, scene = arm
    kept = unpacked(packed([Run(scene)], title="", together=True, loop=False, legend=None))["runs"][0]
    little = 1e-6 * scene.view.size
    np.testing.assert_allclose(kept["times"], scene.times)
    np.testing.assert_allclose(kept["origins"], scene.origins[:, kept["moving"]], atol=little)
    turned = Rotation.from_quat(kept["turns"][:, 0]).as_matrix()
    np.testing.assert_allclose(turned, scene.turns[:, kept["turning"][0]], atol=1e-6)


def test_planar_mechanisms_are_looked_at_straight_on():
    system = models.four_bar()
    _, scene = moving(system, t1=0.2, dt=1e-3)
    assert scene.view.plane
    np.testing.assert_allclose([scene.view.right, scene.view.up, scene.view.front], np.eye(3), atol=1e-15)
    model = mbs.Model(gravity=(0, 0, -9.81))
    bob = model.add("bob", mbs.MassPoint(1.0), position=(1, 0, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    _, scene = moving(model.assemble(), t1=0.5, dt=1e-2)
    assert scene.view.plane
    np.testing.assert_allclose([scene.view.right, scene.view.up], np.eye(3)[[0, 2]], atol=1e-15)


class Kite(mbs.AbstractForce):
    """A law of a user's own."""

    pull: float = mbs.parameter(1.0)

    @property
    def ports(self):
        return (mbs.Point(), mbs.Point())

    def effort(self, t, config, flow):
        return jnp.zeros(3), jnp.zeros(3)

    def outputs(self, t, config, flow):
        return {}


def test_own_elements_and_all_others_are_drawn():
    model = described.everything()
    body = model.add("own body", mbs.MassPoint(1.0), position=(0.1, 0.2, 0.3))
    model.add("kite", Kite(), between=(model.ground, body))
    system = model.assemble(redundant="min_norm")
    q, v = system.initial_state()
    scene = scene_of(system, np.zeros(1), np.asarray(q)[None], np.asarray(v)[None])
    elements = system.structure.elements.items()
    drawn = {part.name.partition("[")[0] for part in scene.parts if part.layer != "gravity"}
    shown = {n for n, e in elements if e.kind in ("bodies", "forces", "fields", "constraints") and n != "ground"}
    still = {n for n in shown if n not in drawn}
    # Arrows of loads that are zero at this time have no length.
    assert all(system.structure.elements[n].kind == "forces" for n in still)
    assert len(still) <= 2
    assert "kite" in drawn
    for part in scene.parts:
        A, p = scene.placed(part, 0)
        assert np.all(np.isfinite([*A, p]))
    axes = matplotlib.figure.Figure().add_subplot()
    sketch(axes, scene)
    said = {text.get_text() for text in axes.texts}
    assert {"kite", "own body"} <= said


def test_all_of_a_mechanism_is_in_view_and_nothing_is_of_a_silly_size():
    """Where markers alone tell no size: hinged at one place, free, far away, with functions of one's own."""
    for at, body in (
        ((100.0, 0, 0), mbs.Box(1.0, (1.0, 0.2, 0.1), (0.5, 0, 0))),
        ((0.0, 0, 0), mbs.RigidBody(1.0, 0.1 * np.eye(3), (0.5, 0, 0))),
    ):
        model = mbs.Model(gravity=(0, 0, -9.81))
        bar = model.add("bar", body, position=at)
        model.add("hinge", mbs.RevoluteJoint((0, 1, 0)), between=(model.ground.at(*at), bar))
        model.add("push", mbs.Force(lambda t: jnp.stack([jnp.cos(t), t, t])), on=bar)
        _, scene = moving(model.assemble(), t1=0.5, dt=1e-2)
        assert 0.4 < scene.view.size < 2
        assert 0.002 < scene.unit < 0.05
        places = scene.reach() - scene.view.center
        assert np.abs(places @ scene.view.right).max() < 0.51 * scene.view.width
    model = mbs.Model()
    ball = model.add("ball", mbs.MassPoint(1.0), position=(0, 0, 1))
    model.add("floor", mbs.SpherePlaneContact(1e5, radius=0.1), between=(model.ground, ball))
    q, v = model.assemble().initial_state()
    scene = scene_of(model.assemble(), np.zeros(1), np.asarray(q)[None], np.asarray(v)[None])
    assert [part.mesh for part in scene.parts if part.name == "floor"] == ["sphere", "plane"]


@pytest.mark.parametrize("turned", [1, -1])
def test_what_is_near_is_drawn_over_what_is_far(turned):
    places = np.array([[0.0, 0, 0], [1, 0.2, 0.1], [0.3, 1, 0.4], [0.2, 0.5, 1]])[::turned]
    model = mbs.Model()
    model.add("stars", mbs.MassPoint(mass=np.ones(4)), position=places)
    q, v = model.assemble().initial_state()
    scene = scene_of(model.assemble(), np.zeros(1), np.asarray(q)[None], np.asarray(v)[None])
    assert not scene.view.plane
    axes = matplotlib.figure.Figure().add_subplot()
    sketch(axes, scene, names=False)
    drawn = np.array([patch.get_xy().mean(axis=0) for patch in axes.patches])
    wanted = places[np.argsort(places @ scene.view.front)] @ np.stack([scene.view.right, scene.view.up], axis=1)
    np.testing.assert_allclose(drawn, wanted, atol=0.02)


def test_outlines_of_any_form_are_filled():
    concave = np.array([[0, 0], [2, 0], [2, 2], [1, 0.5], [0, 2.0]])
    for outline in (concave, concave[::-1]):
        mesh = meshes.plate(outline, 0.1)
        corners = mesh.points[mesh.triangles]
        areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] / 2
        x, y = concave.T
        area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
        assert np.sum(areas[areas > 0]) == pytest.approx(area)


TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1/1 2/2 4/3
f -3 -2 -1
f 1 4 3
"""


def test_meshes_are_read_from_files(file):
    obj = read_mesh(file(TETRAHEDRON, "t.obj"))
    corners = obj.points[obj.triangles]
    triangles = [
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in c) + "endloop\nendfacet\n"
        for c in corners
    ]
    text = read_mesh(file("solid t\n" + "".join(triangles) + "endsolid t\n", "t.stl"))
    data = np.zeros(4, [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    data["corners"] = corners
    binary = read_mesh(file(b"x" * 80 + np.uint32(4).tobytes() + data.tobytes(), "b.STL"))
    for mesh in (text, binary):
        np.testing.assert_allclose(mesh.points, obj.points)
        np.testing.assert_allclose(mesh.normals, obj.normals)
    assert np.all(np.einsum("ij,ij->i", obj.normals[obj.triangles[:, 0]], corners.mean(axis=1) - 0.25) > 0)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.stl", "nonsense", "is not a mesh"),
        ("a.stl", "solid x\nendsolid x", "holds no triangle"),
        ("a.obj", "v 0 0 0\nf 1 2 3", "a face has a corner that is not there"),
        ("a.obj", "v 0 0 nan\nf 1 1 1", "not finite"),
        ("a.ply", "", "are read from .stl and .obj files"),
    ],
)
def test_meshes_that_are_none_are_refused(file, name, content, said):
    with pytest.raises(mbs.FileError, match=said):
        read_mesh(file(content, name))
    with pytest.raises(mbs.FileError, match="cannot be read"):
        read_mesh("missing.stl")


def test_symbols_are_checked():
    with pytest.raises(mbs.ModelError, match=r"there is no shape 'coli'\. Did you mean 'coil'"):
        mbs.Symbol("coli", to=1)
    with pytest.raises(mbs.ModelError, match="pass to= or vector="):
        mbs.Symbol("coil")
