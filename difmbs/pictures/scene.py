"""A mechanism in some states as shapes in space: what sketches, pages and films are made from."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from ..core.errors import ParameterError, did_you_mean
from ..core.types import Coordinates, Switches, Time, Velocities
from ..dynamics.outputs import Outputs, instance_of, output_names
from ..system.system import System
from .body_frames import frames_of, moving_bodies
from .drawn_elements import DrawnElement, base_name, drawn_elements, sensor_places, symbols_of
from .extents import by_inertia, sized_places
from .ground_signs import ground_parts
from .meshes import Mesh
from .part_maker import PartMaker
from .parts import ARROWS, Part, Place, directed
from .shape_meshes import shape
from .viewpoint import Viewpoint, framed, viewpoint

UNIT = 0.024
"""Size of what has none of its own, relative to the mechanism."""

ARROW = 7.0
"""Length of the longest arrow, in units."""
_SLIM = 0.12
"""Largest unit relative to the usual length of connectors."""
_LOOKS = 12
"""Times at which it is looked how far shapes reach."""
_HINGED = ("hinge", "sleeve", "slide", "housing", "spiral")
_LAYERS = 24
"""Of bodies in a plane picture."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """`frames`: names of the bodies, the ground first, with `origins` (n, frames, 3) and `turns` (n, frames, 3, 3) at
    `times` (n); `parts`: all shapes, with their `meshes`; `unit` [m]: the size of what has none of its own; `points`
    that have names: sensors of positions; `quantities`: outputs by name, at all times.
    """

    frames: tuple[str, ...]
    times: np.ndarray
    origins: np.ndarray
    turns: np.ndarray
    parts: tuple[Part, ...]
    meshes: Mapping[str, Mesh]
    unit: float
    view: Viewpoint
    points: Mapping[str, Place]
    quantities: Mapping[str, np.ndarray]

    def position(self, place: Place, k: Any = slice(None)) -> np.ndarray:
        """Of a place, at time k or at all of them."""
        return self.origins[k, place.frame] + self.turns[k, place.frame] @ place.point

    def placed(self, part: Part, k: int) -> tuple[np.ndarray, np.ndarray]:
        """A and p: a point x of the part's mesh is at A x + p, at time k."""
        begin = self.position(part.place, k)
        if part.vector is not None:
            return self._along(part, part.vector[k]), begin
        if part.to is not None:
            return directed(self.position(part.to, k) - begin, part.size, self.view.front), begin
        return self.turns[k, part.place.frame] @ part.axes, begin

    def reach(self) -> np.ndarray:
        """Corners of all shapes but arrows, at some of the times."""
        every = np.unique(np.linspace(0, len(self.times) - 1, min(_LOOKS, len(self.times))).astype(int)).tolist()
        corners = {
            key: np.array(list(itertools.product(*zip(mesh.points.min(axis=0), mesh.points.max(axis=0), strict=True))))
            for key, mesh in self.meshes.items()
        }
        found = [self.view.center[None]]
        for part in self.parts:
            for k in every if part.layer not in ARROWS else ():
                A, p = self.placed(part, k)
                found.append(corners[part.mesh] @ A.T + p)
        return np.concatenate(found[1:] or found)

    def lowest(self) -> float:
        """How far down, against `view.upright`, shapes reach."""
        return float(np.min(self.reach() @ self.view.upright))

    def heights(self) -> list[int]:
        """For each part, in which layer of a plane picture it is: small things before large ones."""
        areas = []
        for part in self.parts:
            A, _ = self.placed(part, 0)
            points = self.meshes[part.mesh].points @ A.T
            areas.append(float(np.ptp(points @ self.view.right) * np.ptp(points @ self.view.up)))
        bodies = [i for i, part in enumerate(self.parts) if part.layer == "bodies"]
        rank = {i: k for k, i in enumerate(sorted(bodies, key=lambda i: -areas[i]))}
        above = {"ground": 0, "connectors": _LAYERS + 1} | dict.fromkeys(ARROWS, _LAYERS + 2)
        return [
            above[part.layer] if i not in rank else 1 + rank[i] * _LAYERS // len(bodies)
            for i, part in enumerate(self.parts)
        ]

    def _along(self, part: Part, vector: np.ndarray) -> np.ndarray:
        """Of an arrow, by its vector as a part of the longest one."""
        if part.mesh == "curl":
            size = float(np.sqrt(np.linalg.norm(vector)))
            return directed(vector, 1.0, self.view.front, unit=True) * size * part.size
        return directed(vector * ARROW * self.unit, part.size, self.view.front)


def scene_of(
    system: System,
    t: Time,
    q: Coordinates,
    v: Velocities,
    *,
    on: Switches = None,
    known: Any = None,
    shapes: Mapping[str, Any] | None = None,
    outputs: tuple[str, ...] = (),
    loads: bool = True,
    like: Scene | None = None,
) -> Scene:
    """The scene of states in rows; `on`, `known`: their switches, accelerations and multipliers as in a `Solution`.

    `shapes`: for bodies by name, meshes with places, (mesh, A, p), in place of their own; `outputs`: names of
    quantities that are kept; `loads`: with arrows; `like`: a scene that it is to be shown with.
    """
    if not len(t):
        raise ParameterError("there is no state to be drawn: nothing was reached.")
    frames, origins, turns, centers = frames_of(system, q, v)
    drawn = list(drawn_elements(system, frames))
    origins, turns, frames, drawn = _with_placeless(origins, turns, frames, drawn)
    points, shapes = sensor_places(system, frames), shapes or {}
    if like is None:
        places = [place for x in drawn for place in x.places] + list(points.values())
        places += [Place(frame, center) for frame, center in centers.items() if frame]
        view = _view(system, q, v, (origins, turns), _distinct(places), (drawn, centers, shapes))
        unit = _unit(drawn, origins, turns, view.size)
    else:
        view, unit = like.view, like.unit
    arrows = {f"{base_name(x.name)}.{s.vector}" for x in drawn for s in symbols_of(x) if s.vector and loads}
    quantities = _quantities(system, tuple(dict.fromkeys([*sorted(arrows), *outputs])), on, known, t, q, v)
    origins = _beside(origins, frames, view, unit)
    kept = {name: quantities[name] for name in outputs}
    names = tuple(name for name, _ in frames.values())
    scene = Scene(names, np.asarray(t), origins, turns, (), {}, unit, view, points, kept)
    maker = PartMaker(drawn, scene, quantities, centers, shapes)
    parts = [part for x in drawn for part in maker.of(x, loads)] + list(maker.of_ground())
    parts += ground_parts(parts, origins, turns, view, unit)
    meshes = maker.meshes | {part.mesh: shape(part.mesh) for part in parts if part.mesh not in maker.meshes}
    scene = dataclasses.replace(scene, parts=tuple(parts), meshes=meshes)
    scene = dataclasses.replace(scene, view=framed(view, scene.reach()))
    gravity = np.asarray(system.gravity[0], float)
    if np.any(gravity):
        arrow = _gravity(gravity, scene.view, unit, len(origins))
        scene = dataclasses.replace(scene, parts=(*parts, arrow), meshes={**meshes, arrow.mesh: shape(arrow.mesh)})
    return scene


def _view(
    system: System, q: Any, v: Any, where: tuple[np.ndarray, np.ndarray], places: list[Place], sizes: tuple[Any, ...]
) -> Viewpoint:
    """From where all places are seen at all times; `sizes`: elements, centres of mass and given shapes."""
    flat = all(system.structure.bodies[e.parts[0].group].kind.planar for e in moving_bodies(system).values())
    drawn, centers, shapes = sizes
    origins, turns = where
    if len(q) == 1:
        # Where one state is drawn, what it would do next tells the plane of the motion.
        ahead = system.retract(jnp.asarray(q[0]), 1e-3 * jnp.asarray(v[0]))[None]
        _, *later, _ = frames_of(system, ahead, v)
        count = later[0].shape[1]
        origins, turns = (np.concatenate([x[:, :count], y]) for x, y in zip((origins, turns), later, strict=True))
        places = [place for place in places if place.frame < count]
    at = lambda places: np.stack([origins[:, p.frame] + turns[:, p.frame] @ p.point for p in places], axis=1)
    seen, corners = at(places), sized_places(drawn, shapes)
    flat_size = float(np.linalg.norm(np.ptp(seen[np.all(np.isfinite(seen), axis=-1)], axis=0))) if seen.size else 0.0
    if not corners and flat_size <= 1e-9 * float(np.nanmax(np.abs(seen), initial=0)):
        corners = by_inertia(drawn, centers)
    corners = [place for place in corners if place.frame < origins.shape[1]]
    sized = at(corners).reshape(-1, 3) if corners else np.zeros((0, 3))
    sized = sized[np.all(np.isfinite(sized), axis=-1)]
    gravity = np.asarray(system.gravity[0], float)
    return viewpoint(seen, sized, _with_axes(drawn, turns, len(q)), gravity, flat)


def _with_axes(drawn: list[DrawnElement], turns: np.ndarray, count: int) -> np.ndarray:
    """Rotations, and where only one state is known small ones about the axes of joints, which will come."""
    if count > 1:
        return turns
    every = [turns]
    for x in drawn:
        for symbol in symbols_of(x):
            if symbol.shape in _HINGED and symbol.axis is not None:
                axis = turns[0, x.places[symbol.marker].frame] @ np.asarray(symbol.axis, float)
                turn = Rotation.from_rotvec(0.1 * axis / np.linalg.norm(axis)).as_matrix()
                every.append(np.broadcast_to(turn, (len(turns), 1, 3, 3)))
    return np.concatenate(every, axis=1)


def _unit(drawn: list[DrawnElement], origins: np.ndarray, turns: np.ndarray, size: float) -> float:
    """Smaller where connectors are short, so that nets of many do not become one lump."""
    lengths = []
    for x in drawn:
        # Joints may be open a little in pictures of vibrations.
        reaches = any(symbol.stretched and symbol.shape != "rail" for symbol in symbols_of(x))
        if len(x.places) == 2 and reaches:
            ends = [origins[0, p.frame] + turns[0, p.frame] @ p.point for p in x.places]
            lengths.append(float(np.linalg.norm(ends[1] - ends[0])))
    lengths = [length for length in lengths if length > 1e-3 * size]
    usual = float(np.median(lengths)) if lengths else np.inf
    return float(np.clip(_SLIM * usual, 0.1 * UNIT * size, UNIT * size))


def _gravity(gravity: np.ndarray, view: Viewpoint, unit: float, count: int) -> Part:
    """An arrow beside the mechanism."""
    corner = view.center + (view.width / 2 + 4 * unit) * view.right + (view.height / 2) * view.up
    down = np.broadcast_to(gravity / np.linalg.norm(gravity), (count, 3))
    return Part("gravity", "gravity", "arrow", Place(0, corner), size=0.55 * unit, vector=down)


def _with_placeless(origins: Any, turns: Any, frames: Any, drawn: list[DrawnElement]) -> tuple[Any, ...]:
    """With a frame of its own for each connector that has no marker; where such frames are is known later."""
    count = origins.shape[1]
    added: list[str] = []
    for i, x in enumerate(drawn):
        if not x.places and x.kind != "bodies":
            place = Place(count + len(added), np.zeros(3))
            drawn[i] = dataclasses.replace(x, places=(place,))
            added.append(x.name)
    if not added:
        return origins, turns, frames, drawn
    frames = frames | {(-1, i): (name, count + i) for i, name in enumerate(added)}
    nowhere = np.full((len(origins), len(added), 3), np.nan)
    still = np.broadcast_to(np.eye(3), (len(origins), len(added), 3, 3))
    return np.concatenate([origins, nowhere], axis=1), np.concatenate([turns, still], axis=1), frames, drawn


def _beside(origins: np.ndarray, frames: Any, view: Viewpoint, unit: float) -> np.ndarray:
    """With what is nowhere in space in a row under the mechanism."""
    nowhere = [number for _, number in frames.values() if np.isnan(origins[0, number, 0])]
    origins = origins.copy()
    for i, number in enumerate(nowhere):
        across = (i - (len(nowhere) - 1) / 2) * 5 * unit
        origins[:, number] = view.center + across * view.right - (view.height / 2 + 6 * unit) * view.up
    return origins


def _distinct(places: list[Place]) -> list[Place]:
    return list({(p.frame, *np.round(p.point, 12)): p for p in places}.values())


def _quantities(
    system: System, names: tuple[str, ...], on: Any, known: Any, t: Time, q: Coordinates, v: Velocities
) -> dict[str, np.ndarray]:
    """Outputs at all times, in one program."""
    every = output_names(system)
    for name in names:
        base, _, component = instance_of(name)[0].rpartition(".")
        possible = {name, instance_of(name)[0], base, instance_of(base)[0], f"{instance_of(base)[0]}.{component}"}
        if not possible & set(every):
            raise ParameterError(f"there is no output '{name}'. {did_you_mean(name, every)}")
    if not names:
        return {}
    arrays = jax.tree.map(jnp.asarray, (on, known, t, q, v))
    return dict(zip(names, map(np.asarray, _evaluated(system, names, *arrays)), strict=True))


@eqx.filter_jit
def _evaluated(system: System, names: tuple[str, ...], on: Any, known: Any, t: Any, q: Any, v: Any) -> Any:
    def at(on, known, t, q, v):
        outputs = Outputs(system if on is None else system.switched(on), t, q, v, accelerations=known)
        return [outputs[name] for name in names]

    return jax.vmap(at)(on, known, t, q, v)
