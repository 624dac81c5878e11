"""Robots in URDF files: links as bodies, joints as constraints, limits, damping and friction."""

import dataclasses
import os
import xml.etree.ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from ..core.errors import FileError, ModelError, did_you_mean
from ..elements.bodies.rigid_body import RigidBody
from ..elements.connectors.friction import Friction
from ..elements.connectors.limit_stop import LimitStop
from ..elements.connectors.prismatic_joint import PrismaticJoint
from ..elements.connectors.revolute_joint import RevoluteJoint
from ..elements.rotations import frame_along
from ..modelling.markers import GROUND
from ..modelling.model import Model

_LARGEST = 10_000_000
"""Bytes of a file that is read."""

_TURNING = ("revolute", "continuous")
_MOVING = (*_TURNING, "prismatic")
_SHAPES = {"mesh": (), "box": (), "cylinder": ("radius", "length"), "sphere": ("radius",)}


@dataclasses.dataclass(frozen=True)
class _Place:
    """A frame in another one."""

    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, other: "_Place") -> "_Place":
        return _Place(self.R @ other.R, self.p + self.R @ other.p)


@dataclasses.dataclass(frozen=True)
class _Inertia:
    """Mass, centre of mass and the inertia about it."""

    mass: float
    center: np.ndarray
    tensor: np.ndarray

    def seen_from(self, place: _Place) -> "_Inertia":
        """In the frame in which that of this one is at a place."""
        return _Inertia(self.mass, place.p + place.R @ self.center, place.R @ self.tensor @ place.R.T)

    def joined(self, other: "_Inertia") -> "_Inertia":
        if self.mass == 0 or other.mass == 0:
            return self if other.mass == 0 else other
        mass = self.mass + other.mass
        center = (self.mass * self.center + other.mass * other.center) / mass
        tensor = np.zeros((3, 3))
        for part in (self, other):
            arm = part.center - center
            tensor += part.tensor + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return _Inertia(mass, center, tensor)


@dataclasses.dataclass(frozen=True)
class _Joint:
    name: str
    kind: str
    parent: str
    child: str
    place: _Place
    axis: np.ndarray
    limits: tuple[float | None, float | None]
    damping: float
    friction: float


class LinkShape(NamedTuple):
    """What a link looks like, where it is on a body.

    `body`: the body of the model that carries the link, "ground" for the held root; `kind`: "mesh", "box", "cylinder"
    (along z) or "sphere"; `size`: three lengths of a box, radius and length of a cylinder, radius of a sphere, scales
    of a mesh; `file` of a mesh, as the URDF file names it; `position` and `rotation`, a rotation vector, in the body's
    frame.
    """

    body: str
    link: str
    kind: str
    size: tuple[float, ...]
    file: str | None
    position: np.ndarray
    rotation: np.ndarray


def urdf_shapes(path: str | os.PathLike[str], *, floating: bool = False) -> tuple[LinkShape, ...]:
    """The visible shapes of a robot in a URDF file, on the bodies that `from_urdf` makes of its links."""
    robot = _Robot(path)
    merged = robot.carriers()
    held = robot.root if floating else GROUND
    found = []
    for link, visuals in robot.visuals.items():
        carrier, place = merged[link]
        for visual in visuals:
            kind, size, file, inside = robot.shape(visual, f"link '{link}'")
            there = place @ inside
            turn = Rotation.from_matrix(there.R).as_rotvec()
            found.append(LinkShape(held if carrier == robot.root else carrier, link, kind, size, file, there.p, turn))
    return tuple(found)


def from_urdf(
    path: str | os.PathLike[str],
    *,
    gravity: Any = (0.0, 0.0, -9.81),
    positions: Mapping[str, float] | None = None,
    floating: bool = False,
    limit_stiffness: float | None = None,
    friction_velocity: float = 1e-3,
) -> Model:
    """The model of a robot in a URDF file: links are bodies, joints constraints, by their names.

    Links on fixed joints are merged into their parents. A joint's `angle` or `displacement` is URDF's joint position.
    Its damping and friction are a `Friction` named "... friction", its limits a `LimitStop` named "... limit". Not
    represented: collisions, transmissions, limits of effort and speed, calibration, safety controllers.

    **Arguments:** `gravity` [m/s^2]; `positions`: of joints at the start, by name [rad or m]; `floating`: the root link
    is free, else it is held by ground; `limit_stiffness` [N m/rad or N/m] of the limits, None: there are none;
    `friction_velocity` [rad/s or m/s], below which dry friction is smoothed.
    """
    robot = _Robot(path)
    return robot.model(gravity, dict(positions or {}), floating, limit_stiffness, friction_velocity)


class _Robot:
    def __init__(self, path: str | os.PathLike[str]):
        self.path = path
        root = self._root()
        self.inertias: dict[str, _Inertia] = {}
        self.visuals: dict[str, list[Any]] = {}
        for link in root.findall("link"):
            name = self._name(link, self.inertias)
            self.inertias[name] = self._inertia(link, name)
            self.visuals[name] = link.findall("visual")
        self.joints: dict[str, _Joint] = {}
        for element in root.findall("joint"):
            name = self._name(element, self.joints)
            self.joints[name] = self._joint(element, name)
        children = [joint.child for joint in self.joints.values()]
        roots = [name for name in self.inertias if name not in children]
        if len(roots) != 1 or len(set(children)) != len(children):
            self._refuse(f"the links must be a tree with one root, found {len(roots)} links that no joint leads to")
        self.root = roots[0]
        self.of_parent: dict[str, list[_Joint]] = {}
        for joint in self.joints.values():
            self.of_parent.setdefault(joint.parent, []).append(joint)

    def model(self, gravity: Any, positions: dict[str, float], floating: bool, stiffness: Any, creep: float) -> Model:
        moving = [name for name, joint in self.joints.items() if joint.kind in _MOVING]
        for name in positions:
            if name not in moving:
                raise ModelError(f"there is no moving joint '{name}'. {did_you_mean(name, moving)}")
        model = Model(gravity=gravity)
        merged = self.carriers()
        inertias: dict[str, _Inertia] = {}
        for link, (carrier, place) in merged.items():
            part = self.inertias[link].seen_from(place)
            inertias[carrier] = inertias[carrier].joined(part) if carrier in inertias else part
        places = {self.root: _Place(np.eye(3), np.zeros(3))}
        if floating:
            self._add_body(model, self.root, inertias[self.root], places[self.root])
        held = self.root if floating else GROUND
        for joint in self._from_the_root():
            if joint.kind not in _MOVING:
                continue
            carrier, inside = merged[joint.parent]
            hinge = inside @ joint.place
            position = positions.get(joint.name, 0.0)
            turn = Rotation.from_rotvec(position * joint.axis).as_matrix() if joint.kind in _TURNING else np.eye(3)
            shift = position * joint.axis if joint.kind == "prismatic" else np.zeros(3)
            places[joint.child] = places[carrier] @ hinge @ _Place(turn, shift)
            self._add_body(model, joint.child, inertias[joint.child], places[joint.child])
            base = held if carrier == self.root else carrier
            self._add_joint(model, joint, base, hinge, stiffness, creep)
        return model

    def _add_body(self, model: Model, name: str, inertia: _Inertia, place: _Place) -> None:
        if inertia.mass == 0:
            self._refuse(f"link '{name}' moves and has no mass: give it an inertial element")
        body = RigidBody(inertia.mass, inertia.tensor, inertia.center)
        model.add(name, body, position=place.p, rotation=Rotation.from_matrix(place.R).as_rotvec())

    def _add_joint(self, model: Model, joint: _Joint, base: str, hinge: _Place, stiffness: Any, creep: float) -> None:
        axis = hinge.R @ joint.axis
        frame = hinge.R.T @ np.asarray(frame_along(jnp.asarray(axis, float)))
        kind, motion = (RevoluteJoint, "rotation") if joint.kind in _TURNING else (PrismaticJoint, "axis")
        between = (model.body(base).at(*hinge.p), model.body(joint.child))
        model.add(joint.name, kind(axis=axis, rotation1=Rotation.from_matrix(frame).as_rotvec()), between=between)
        if joint.damping or joint.friction:
            law = Friction(
                coulomb=joint.friction, viscous=joint.damping, transition_velocity=creep, axis=axis, motion=motion
            )
            model.add(f"{joint.name} friction", law, between=between)
        lower, upper = joint.limits
        if stiffness is not None and joint.kind != "continuous" and not (lower is None and upper is None):
            if motion == "rotation" and not np.allclose(hinge.R, np.eye(3)):
                # Angles of a stop count from parallel frames, joint positions from the joint's.
                raise ModelError(f"'{joint.name}': a limit of a joint whose frame is turned has no element yet.")
            stop = LimitStop(lower=lower, upper=upper, stiffness=stiffness, axis=axis, motion=motion)
            model.add(f"{joint.name} limit", stop, between=between)

    def carriers(self) -> dict[str, tuple[str, _Place]]:
        """Which link's body each link is part of, and where on it."""
        merged: dict[str, tuple[str, _Place]] = {}
        self._merge(self.root, self.root, _Place(np.eye(3), np.zeros(3)), merged)
        return merged

    def _merge(self, link: str, carrier: str, place: _Place, merged: dict[str, tuple[str, _Place]]) -> None:
        merged[link] = (carrier, place)
        for joint in self.of_parent.get(link, ()):
            if joint.kind == "fixed":
                self._merge(joint.child, carrier, place @ joint.place, merged)
            else:
                self._merge(joint.child, joint.child, _Place(np.eye(3), np.zeros(3)), merged)

    def _from_the_root(self) -> list[_Joint]:
        ordered, links = [], [self.root]
        for link in links:
            for joint in self.of_parent.get(link, ()):
                ordered.append(joint)
                links.append(joint.child)
        return ordered

    def _root(self) -> Any:
        try:
            content = Path(self.path).read_bytes()
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror or error}") from None
        if len(content) > _LARGEST:
            self._refuse(f"the file has {len(content)} bytes, more than a robot's {_LARGEST}")
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            self._refuse("document types and entities are not read")
        try:
            root = xml.etree.ElementTree.fromstring(content)
        except xml.etree.ElementTree.ParseError as error:
            self._refuse(f"it is no XML: {error}")
        if root.tag != "robot":
            self._refuse(f"it begins with <{root.tag}>, a URDF file with <robot>")
        return root

    def _name(self, element: Any, known: Mapping[str, Any]) -> str:
        name = element.get("name")
        if not name or name in known:
            self._refuse(f"a {element.tag} has no name, or that of another one: {name!r}")
        return str(name)

    def _inertia(self, link: Any, name: str) -> _Inertia:
        inertial = link.find("inertial")
        if inertial is None:
            return _Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
        where = f"link '{name}'"
        place = self._place(inertial, where)
        mass = self._number(inertial.find("mass"), "value", where)
        given = inertial.find("inertia")
        xx, xy, xz, yy, yz, zz = (self._number(given, f"i{key}", where) for key in ("xx", "xy", "xz", "yy", "yz", "zz"))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return _Inertia(mass, place.p, place.R @ tensor @ place.R.T)

    def shape(self, visual: Any, where: str) -> tuple[str, tuple[float, ...], str | None, _Place]:
        """Kind, size, file and place of a visible shape."""
        geometry = visual.find("geometry")
        parts = [] if geometry is None else [part for part in geometry if part.tag in _SHAPES]
        if len(parts) != 1:
            self._refuse(f"{where}: a visual element has one geometry, of {', '.join(_SHAPES)}")
        (part,) = parts
        if part.tag == "mesh":
            file = self._attribute(part, "filename", where)
            scale = self._vector(part, "scale", where) if part.get("scale") else np.ones(3)
            return "mesh", tuple(scale.tolist()), file, self._place(visual, where)
        if part.tag == "box":
            size = tuple(self._vector(part, "size", where).tolist())
        else:
            size = tuple(self._number(part, key, where) for key in _SHAPES[part.tag])
        return part.tag, size, None, self._place(visual, where)

    def _joint(self, element: Any, name: str) -> _Joint:
        where, kind = f"joint '{name}'", element.get("type")
        if kind not in (*_MOVING, "fixed"):
            self._refuse(f"{where} is {kind}: only fixed, revolute, continuous and prismatic ones are converted")
        if element.find("mimic") is not None:
            self._refuse(f"{where} mimics another one, which is not converted: add a Gear or a CoordinateConstraint")
        parent, child = (self._attribute(element.find(side), "link", where) for side in ("parent", "child"))
        for link in (parent, child):
            if link not in self.inertias:
                self._refuse(f"{where}: there is no link '{link}'. {did_you_mean(link, self.inertias)}")
        axis = element.find("axis")
        direction = np.array([1.0, 0, 0]) if axis is None else self._vector(axis, "xyz", where)
        if not np.linalg.norm(direction) > 0:
            self._refuse(f"{where}: its axis has no direction")
        limit, dynamics = element.find("limit"), element.find("dynamics")
        lower, upper = (
            None if limit is None or limit.get(key) is None else self._number(limit, key, where)
            for key in ("lower", "upper")
        )
        damping, friction = (
            0.0 if dynamics is None else self._number(dynamics, key, where, 0.0) for key in ("damping", "friction")
        )
        place, along = self._place(element, where), direction / np.linalg.norm(direction)
        return _Joint(name, kind, parent, child, place, along, (lower, upper), damping, friction)

    def _place(self, element: Any, where: str) -> _Place:
        origin = element.find("origin")
        if origin is None:
            return _Place(np.eye(3), np.zeros(3))
        turn = self._vector(origin, "rpy", where)
        return _Place(Rotation.from_euler("xyz", turn).as_matrix(), self._vector(origin, "xyz", where))

    def _vector(self, element: Any, key: str, where: str) -> np.ndarray:
        text = element.get(key, "0 0 0").split()
        numbers = [self._float(part, key, where) for part in text]
        if len(numbers) != 3:
            self._refuse(f"{where}: {key} must be three numbers, got {element.get(key)!r}")
        return np.asarray(numbers)

    def _attribute(self, element: Any, key: str, where: str) -> str:
        if element is None or element.get(key) is None:
            self._refuse(f"{where}: {key} is missing")
        return str(element.get(key))

    def _number(self, element: Any, key: str, where: str, default: float | None = None) -> float:
        if default is not None and (element is None or element.get(key) is None):
            return default
        return self._float(self._attribute(element, key, where), key, where)

    def _float(self, text: str, key: str, where: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            self._refuse(f"{where}: {key} must be a number, got {text!r}")
        return number

    def _refuse(self, why: str) -> Any:
        raise FileError(f"{self.path}: {why}.")
