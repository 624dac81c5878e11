"""A mechanism in some states as shapes in space: what sketches, pages and films are made from."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ParameterError, did_you_mean
from ..core.types import Coordinates, Switches, Time, Velocities
from ..dynamics.outputs import Outputs, output_names
from ..elements.bodies.state_vector import StateVector
from ..elements.sensors import Position
from ..elements.symbols import Symbol
from ..system.system import System
from .ground_signs import ground_parts
from .links import bars, body_mesh, outside
from .meshes import Mesh, shape
from .parts import Part, Place, directed
from .viewpoint import Viewpoint, viewpoint

UNIT = 0.024
"""Size of what has none of its own, relative to the mechanism."""

_RADIUS = {"coil": 0.95, "damper": 0.45, "strut": 0.6, "buffer": 0.7, "shoes": 0.7, "zigzag": 0.8, "rod": 0.6,
           "dashes": 0.45, "rail": 1.0}  # fmt: skip
"""Radius of stretched shapes, in units."""
_SIZES: dict[str, Any] = {
    "axes": 1.4, "ball": 0.75, "block": 0.8, "box": (2.4, 1.7, 1.7), "cross": 0.9, "curl": 2.2, "diamond": 0.6,
    "disc": (0.5, 1.1, 1.1), "gearwheel": 1.5, "halo": 1.0, "hinge": (1.5, 0.62, 0.62), "housing": 0.9, "plane": 1.6,
    "pointer": 3.0, "ring": 1.0, "rotor": (2.0, 2.0, 2.0), "sleeve": 0.9, "slide": 0.8, "sphere": 1.0, "spiral": 1.3,
    "cylinder": (2.0, 0.7, 0.7),
}  # fmt: skip
"""Sizes of still shapes, in units."""
ARROW = 7.0
"""Length of the longest arrow, in units."""
_SLIM = 0.12
"""Largest unit relative to the usual length of connectors."""
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
    gravity: np.ndarray

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

    def lowest(self) -> float:
        """How far down, against `view.upright`, shapes reach."""
        every = np.unique(np.linspace(0, len(self.times) - 1, min(20, len(self.times))).astype(int))
        found = [0.0 if len(self.parts) == 0 else np.inf]
        for part in self.parts:
            for k in every if part.layer != "loads" else ():
                A, p = self.placed(part, int(k))
                heights = self.meshes[part.mesh].points @ (A.T @ self.view.upright) + p @ self.view.upright
                found.append(float(np.min(heights)))
        return min(found)

    def heights(self) -> list[int]:
        """For each part, in which layer of a plane picture it is: small things before large ones."""
        areas = []
        for part in self.parts:
            A, _ = self.placed(part, 0)
            points = self.meshes[part.mesh].points @ A.T
            areas.append(float(np.ptp(points @ self.view.right) * np.ptp(points @ self.view.up)))
        bodies = [i for i, part in enumerate(self.parts) if part.layer == "bodies"]
        rank = {i: k for k, i in enumerate(sorted(bodies, key=lambda i: -areas[i]))}
        above = {"ground": 0, "connectors": _LAYERS + 1, "loads": _LAYERS + 2}
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


@dataclasses.dataclass(frozen=True)
class _Drawn:
    """An instance of an element: its name, what it is with plain numbers, and the places of its markers."""

    name: str
    kind: str
    element: Any
    places: tuple[Place, ...]
    active: bool


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
) -> Scene:
    """The scene of states in rows; `on`, `known`: their switches, accelerations and multipliers as in a `Solution`.

    `shapes`: for bodies by name, meshes with places, (mesh, A, p), in place of their own; `outputs`: names of
    quantities that are kept; `loads`: with arrows.
    """
    if not len(t):
        raise ParameterError("there is no state to be drawn: nothing was reached.")
    frames, origins, turns, centers = _frames(system, q, v)
    drawn = list(_elements(system, frames))
    origins, turns, frames, drawn = _with_placeless(origins, turns, frames, drawn)
    points = _sensors(system, frames)
    places = [place for x in drawn for place in x.places] + list(points.values())
    seen = np.stack([origins[:, p.frame] + turns[:, p.frame] @ p.point for p in _distinct(places)], axis=1)
    gravity = np.asarray(system.gravity[0], float)
    flat = all(system.structure.bodies[e.parts[0].group].kind.planar for e in _moving(system).values())
    if len(t) == 1:
        # Where one state is drawn, what it would do next tells the plane of the motion.
        ahead = system.retract(jnp.asarray(q[0]), 1e-3 * jnp.asarray(v[0]))[None]
        _, *later, _ = _frames(system, ahead, v)
        known_places = [p for p in _distinct(places) if p.frame < later[0].shape[1]]
        moved = [later[0][:, p.frame] + later[1][:, p.frame] @ p.point for p in known_places]
        both = np.concatenate([turns[:, : later[1].shape[1]], later[1]])
        view = viewpoint(np.concatenate([seen.reshape(-1, 3), np.concatenate(moved)]), both, gravity, flat)
    else:
        view = viewpoint(seen, turns, gravity, flat)
    unit = _unit(drawn, origins, turns, view.size)
    shown = {f"{x.name}.{s.vector}" for x in drawn for s in _symbols(x) if s.vector} if loads else set()
    wanted = tuple(dict.fromkeys([*sorted(_base(name) for name in shown), *outputs]))
    quantities = _quantities(system, wanted, on, known, t, q, v)
    origins = _beside(origins, frames, view, unit)
    builder = _Parts(drawn, view, unit, quantities, centers, shapes or {})
    parts = [part for x in drawn for part in builder.of(x, loads)]
    parts += ground_parts(parts, origins, turns, view, unit)
    meshes = builder.meshes | {part.mesh: shape(part.mesh) for part in parts if part.mesh not in builder.meshes}
    kept = {name: quantities[name] for name in outputs}
    names = tuple(name for name, _ in frames.values())
    return Scene(names, np.asarray(t), origins, turns, tuple(parts), meshes, unit, view, points, kept, gravity)


class _Parts:
    """Makes parts of elements."""

    def __init__(self, drawn: list[_Drawn], view: Viewpoint, unit: float, quantities: Any, centers: Any, shapes: Any):
        self.view, self.unit, self.quantities, self.centers, self.shapes = view, unit, quantities, centers, shapes
        self.meshes: dict[str, Mesh] = {}
        self.attached: dict[int, list[np.ndarray]] = {}
        for x in drawn:
            for place in x.places if x.kind != "bodies" else ():
                self.attached.setdefault(place.frame, []).append(place.point)
        masses = [float(x.element.mass) for x in drawn if x.kind == "bodies" and _has_mass(x.element)]
        self.usual_mass = float(np.median(masses)) if masses else 1.0
        self.longest: dict[str, float] = {}
        for x in drawn:
            for symbol in _symbols(x):
                vector = self._vector(x, symbol) if symbol.vector else None
                if vector is not None:
                    size = float(np.max(np.linalg.norm(vector, axis=-1), initial=0))
                    self.longest[symbol.shape] = max(size, self.longest.get(symbol.shape, 0.0))

    def of(self, x: _Drawn, loads: bool) -> Iterator[Part]:
        if x.kind == "bodies" and _base(x.name) in self.shapes:
            yield from self._given(x)
            return
        symbols = _symbols(x)
        both = {s.shape for s in symbols} >= {"coil", "damper"}
        for symbol in symbols:
            if symbol.vector is not None:
                if loads:
                    yield from self._arrow(x, symbol)
            elif symbol.stretched:
                yield from self._stretched(x, symbol, both)
            else:
                yield from self._still(x, symbol)

    def _given(self, x: _Drawn) -> Iterator[Part]:
        for i, (mesh, axes, point) in enumerate(self.shapes[_base(x.name)]):
            key = f"{_base(x.name)}:{i}"
            self.meshes[key] = mesh
            yield Part(x.name, "bodies", key, Place(x.places[0].frame, point), axes=axes)

    def _arrow(self, x: _Drawn, symbol: Symbol) -> Iterator[Part]:
        vector = self._vector(x, symbol)
        longest = self.longest.get(symbol.shape, 0.0)
        if vector is not None and longest > 0:
            size = self.unit * (_SIZES["curl"] if symbol.shape == "curl" else 0.55)
            yield Part(x.name, "loads", symbol.shape, x.places[symbol.marker], size=size, vector=vector / longest)

    def _vector(self, x: _Drawn, symbol: Symbol) -> np.ndarray | None:
        base = _base(x.name)
        values = self.quantities.get(f"{base}.{symbol.vector}")
        if values is None or values.shape[-1] != 3:
            return None
        return values if base == x.name else values[:, int(x.name[len(base) + 1 : -1])]

    def _stretched(self, x: _Drawn, symbol: Symbol, both: bool) -> Iterator[Part]:
        begin, end = x.places[symbol.marker], x.places[symbol.to or 0]
        # A damper inside of a coil.
        radius = self.unit * _RADIUS[symbol.shape] * (0.8 if both and symbol.shape == "damper" else 1)
        yield Part(x.name, "connectors", symbol.shape, begin, size=radius, to=end, active=x.active)

    def _still(self, x: _Drawn, symbol: Symbol) -> Iterator[Part]:
        layer = "bodies" if x.kind == "bodies" else "connectors"
        for place in x.places if x.kind == "fields" else x.places[symbol.marker : symbol.marker + 1]:
            point = place.point if symbol.center is None else place.point + np.asarray(symbol.center, float)
            key, size = symbol.shape, symbol.size
            if key == "link":
                near = [p - point for p in self.attached.get(place.frame, [])]
                center = self.centers.get(place.frame, np.zeros(3)) - point
                key = f"link:{x.name}"
                self.meshes[key] = body_mesh(x.element, near, center, self.unit, self.view)
                size = 1.0
            elif size is None:
                size = self.unit * np.asarray(_SIZES[key], float)
                if key == "sphere" and _has_mass(x.element):
                    size = size * np.clip((float(x.element.mass) / self.usual_mass) ** (1 / 3), 0.6, 2.0)
            if x.kind == "bodies" and not key.startswith("link:"):
                yield from self._arms(x, place, point, np.broadcast_to(np.asarray(size, float), 3))
            turn = np.eye(3) if symbol.axis is None else directed(np.asarray(symbol.axis, float), 1.0, (0, 0, 1), True)
            if key == "halo":
                # Seen as a circle.
                turn = np.stack([self.view.front, self.view.right, self.view.up], axis=1)
            axes = turn * np.broadcast_to(np.asarray(size, float), 3)
            yield Part(x.name, layer, key, Place(place.frame, point), axes=axes, active=x.active)

    def _arms(self, x: _Drawn, place: Place, center: np.ndarray, size: np.ndarray) -> Iterator[Part]:
        """Bars to what is attached outside of the body's own shape."""
        far = outside(self.attached.get(place.frame, []), center, size, self.unit)
        if far:
            self.meshes[f"arms:{x.name}"] = bars(center, far, self.unit)
            yield Part(x.name, "bodies", f"arms:{x.name}", Place(place.frame, np.zeros(3)), axes=np.eye(3))


def _symbols(x: _Drawn) -> tuple[Symbol, ...]:
    """Those whose markers are there."""
    reach = len(x.places)
    return tuple(s for s in x.element.symbols() if max(s.marker, s.to or 0) < reach)


def _has_mass(element: Any) -> bool:
    fields = {field.name for field in dataclasses.fields(element)}
    return "mass" in fields and np.ndim(element.mass) == 0


def _base(name: str) -> str:
    return name.partition("[")[0]


def _moving(system: System) -> dict[str, Any]:
    elements = system.structure.elements.items()
    return {name: e for name, e in elements if e.kind == "bodies" and name != "ground"}


def _frames(system: System, q: Coordinates, v: Velocities) -> tuple[Any, ...]:
    """By (group, row) names and numbers of bodies, with origins, rotations and centres of mass."""
    structure = system.structure
    found = jax.tree.map(np.asarray, _of_bodies(system, jnp.asarray(q), jnp.asarray(v)))
    frames: dict[tuple[int, int], tuple[str, int]] = {}
    order = [name for name in structure.elements if name == "ground"]
    order += list(_moving(system))
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    centers: dict[int, np.ndarray] = {}
    for name in order:
        element = structure.elements[name]
        (part,) = element.parts
        if structure.bodies[part.group].kind is StateVector:
            continue
        origins, turns, middle = found[part.group]
        for i, row in enumerate(part.instances.rows.tolist()):
            frames[part.group, row] = (name if element.single else f"{name}[{i}]", len(columns))
            if origins is None:
                columns.append((np.full((len(q), 3), np.nan), np.broadcast_to(np.eye(3), (len(q), 3, 3))))
                continue
            centers[len(columns)] = turns[0, row].T @ (middle[0, row] - origins[0, row])
            columns.append((origins[:, row], turns[:, row]))
    origins, turns = (np.stack(x, axis=1) for x in zip(*columns, strict=True))
    return frames, origins.astype(float), turns.astype(float), centers


@eqx.filter_jit
def _of_bodies(system: System, q: Coordinates, v: Velocities) -> Any:
    """Origin, rotation matrix and centre of mass of each body, by group."""

    def one(body: Any, q: Coordinates, v: Velocities) -> Any:
        if not body.in_space:
            return None, None, None
        pose = body.pose(q)
        point = jnp.zeros(3, q.dtype) if body.extended else None
        return body.point(q, point), pose.rotation.matrix(), pose.p

    return jax.vmap(lambda q, v: system.each_body(one, q, v))(q, v)


def _elements(system: System, frames: Mapping[tuple[int, int], tuple[str, int]]) -> Iterator[_Drawn]:
    """All that has a picture, with plain numbers."""
    structure = system.structure
    for kind in ("bodies", "forces", "fields", "constraints"):
        groups = [(g, jax.tree.map(np.asarray, g.stack.instances(leaves))) for g, leaves in system.with_leaves(kind)]
        for name, element in structure.elements.items():
            if element.kind != kind or name == "ground":
                continue
            for part in element.parts:
                group, tree = groups[part.group]
                if kind == "fields":
                    # One law with all places.
                    law = _instance(tree, 0)
                    places = tuple(p for i, s in enumerate(group.slots) for p in _places(law, i, s, frames))
                    yield _Drawn(name, kind, law["element"], places, group.active)
                    continue
                rows, positions = part.instances.rows.tolist(), part.positions.rows.tolist()
                for row, position in zip(rows, positions, strict=True):
                    said = name if element.single else f"{name}[{position}]"
                    if kind == "bodies":
                        if (part.group, row) in frames:
                            place = Place(frames[part.group, row][1], np.zeros(3))
                            yield _Drawn(said, kind, _instance(tree["element"], row), (place,), True)
                        continue
                    places = tuple(
                        place
                        for i, slot in enumerate(group.slots)
                        for place in _places(tree, i, slot, frames)[row : row + 1]
                    )
                    yield _Drawn(said, kind, _instance(tree["element"], row), places, group.active)


def _places(tree: Any, i: int, slot: Any, frames: Mapping[tuple[int, int], tuple[str, int]]) -> list[Place]:
    """Those of a marker of a group, by instance; none of states."""
    points = tree.get(f"marker{i}")
    rows = slot.rows.rows.tolist()
    if (slot.body, rows[0]) not in frames:
        return []
    none = np.zeros(3)
    return [Place(frames[slot.body, r][1], none if points is None else points[k]) for k, r in enumerate(rows)]


def _instance(tree: Any, row: int) -> Any:
    return jax.tree.map(lambda x: x[row] if isinstance(x, np.ndarray) else x, tree)


def _unit(drawn: list[_Drawn], origins: np.ndarray, turns: np.ndarray, size: float) -> float:
    """Smaller where connectors are short, so that nets of many do not become one lump."""
    lengths = []
    for x in drawn:
        if len(x.places) == 2 and x.kind != "bodies":
            ends = [origins[0, p.frame] + turns[0, p.frame] @ p.point for p in x.places]
            lengths.append(float(np.linalg.norm(ends[1] - ends[0])))
    lengths = [length for length in lengths if length > 1e-3 * size]
    usual = float(np.median(lengths)) if lengths else np.inf
    return float(np.clip(_SLIM * usual, 0.1 * UNIT * size, UNIT * size))


def _sensors(system: System, frames: Mapping[tuple[int, int], tuple[str, int]]) -> dict[str, Place]:
    """The sensors of positions, by name."""
    groups = system.with_leaves("sensors")
    found: dict[str, Place] = {}
    for name, reading in system.structure.readings.items():
        if not isinstance(reading, int) or groups[reading][0].sensor is not Position:
            continue
        group, leaves = groups[reading]
        tree = jax.tree.map(np.asarray, group.stack.instances(leaves))
        places = _places(tree, 0, group.slot, frames)
        found |= {name if group.single else f"{name}[{i}]": place for i, place in enumerate(places)}
    return found


def _with_placeless(origins: Any, turns: Any, frames: Any, drawn: list[_Drawn]) -> tuple[Any, ...]:
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
        if name not in every and name.rpartition(".")[0] not in every:
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
