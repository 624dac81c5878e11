"""From elements to the shapes that they have in a picture."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..elements.symbols import Symbol
from .drawn_elements import GROUND, DrawnElement, base_name, has_mass, symbols_of
from .links import bars, body_mesh, outside
from .meshes import Mesh
from .parts import Part, Place, directed

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
_TURNING = ("spiral", "housing", "disc", "gearwheel")


class PartMaker:
    """Makes parts of elements; `scene`: the scene as far as it is known, without parts; `centers` of mass by frame."""

    def __init__(self, drawn: list[DrawnElement], scene: Any, quantities: Any, centers: Any, shapes: Any):
        self.scene, self.view, self.unit = scene, scene.view, scene.unit
        self.quantities, self.centers, self.shapes = quantities, centers, shapes
        self.meshes: dict[str, Mesh] = {}
        self.attached: dict[int, list[np.ndarray]] = {}
        self.rolling: set[int] = set()
        for place in scene.points.values():
            self.attached.setdefault(place.frame, []).append(place.point)
        for x in drawn:
            for place in x.places if x.kind != "bodies" else ():
                self.attached.setdefault(place.frame, []).append(place.point)
            for symbol in symbols_of(x) if x.kind != "bodies" else ():
                if symbol.size is not None and not symbol.stretched:
                    self.rolling.add(x.places[symbol.marker].frame)
        bases = dict.fromkeys(base_name(x.name) for x in drawn if x.kind == "bodies")
        self.hues = {name: i for i, name in enumerate(bases)}
        masses = [float(x.element.mass) for x in drawn if x.kind == "bodies" and has_mass(x.element)]
        self.usual_mass = float(np.median(masses)) if masses else 1.0
        self.longest: dict[str, float] = {}
        for x in drawn:
            for symbol in symbols_of(x):
                vector = self._vector(x, symbol) if symbol.vector else None
                if vector is not None:
                    size = float(np.max(np.linalg.norm(vector, axis=-1), initial=0))
                    self.longest[symbol.shape] = max(size, self.longest.get(symbol.shape, 0.0))

    def of(self, x: DrawnElement, loads: bool) -> Iterator[Part]:
        if x.kind == "bodies" and base_name(x.name) in self.shapes:
            yield from self._given(x)
            return
        symbols = symbols_of(x)
        both = {s.shape for s in symbols} >= {"coil", "damper"}
        for symbol in symbols:
            if symbol.vector is not None:
                if loads:
                    yield from self._arrow(x, symbol)
            elif symbol.stretched:
                yield from self._stretched(x, symbol, both)
            else:
                yield from self._still(x, symbol)

    def _given(self, x: DrawnElement) -> Iterator[Part]:
        for i, (mesh, axes, point) in enumerate(self.shapes[base_name(x.name)]):
            key = f"{base_name(x.name)}:{i}"
            self.meshes[key] = mesh
            hue = self.hues.get(base_name(x.name), 0)
            yield Part(x.name, "bodies", key, Place(x.places[0].frame, point), axes=axes, hue=hue)

    def of_ground(self) -> Iterator[Part]:
        """Shapes that are given for it."""
        if GROUND in self.shapes:
            yield from self._given(DrawnElement(GROUND, "bodies", None, (Place(0, np.zeros(3)),), True))

    def _arrow(self, x: DrawnElement, symbol: Symbol) -> Iterator[Part]:
        vector = self._vector(x, symbol)
        longest = self.longest.get(symbol.shape, 0.0)
        if vector is not None and longest > 0:
            size = self.unit * (_SIZES["curl"] if symbol.shape == "curl" else 0.55)
            yield Part(x.name, "loads", symbol.shape, x.places[symbol.marker], size=size, vector=vector / longest)

    def _vector(self, x: DrawnElement, symbol: Symbol) -> np.ndarray | None:
        base = base_name(x.name)
        values = self.quantities.get(f"{base}.{symbol.vector}")
        if values is None or values.shape[-1] != 3:
            return None
        return values if base == x.name else values[:, int(x.name[len(base) + 1 : -1])]

    def _stretched(self, x: DrawnElement, symbol: Symbol, both: bool) -> Iterator[Part]:
        begin, end = x.places[symbol.marker], x.places[symbol.to or 0]
        # A damper inside of a coil.
        radius = self.unit * _RADIUS[symbol.shape] * (0.8 if both and symbol.shape == "damper" else 1)
        yield Part(x.name, "connectors", symbol.shape, begin, size=radius, to=end, active=x.active)

    def _still(self, x: DrawnElement, symbol: Symbol) -> Iterator[Part]:
        layer = "bodies" if x.kind == "bodies" else "connectors"
        for place in x.places if x.kind == "fields" else [self._where(x, symbol)]:
            point = place.point if symbol.center is None else place.point + np.asarray(symbol.center, float)
            key, size = symbol.shape, symbol.size
            if key == "link":
                near = [p - point for p in self.attached.get(place.frame, [])]
                center = self.centers.get(place.frame, np.zeros(3)) - point
                key = f"link:{x.name}"
                bare = place.frame in self.rolling
                self.meshes[key] = body_mesh(x.element, near, center, self.unit, self.view, bare)
                size = 1.0
            elif key == "plane" and size is None:
                size = self._plane(x)
            elif size is None:
                size = self.unit * np.asarray(_SIZES[key], float)
                if key == "sphere" and has_mass(x.element):
                    size = size * np.clip((float(x.element.mass) / self.usual_mass) ** (1 / 3), 0.6, 2.0)
            if x.kind == "bodies" and not key.startswith("link:"):
                yield from self._arms(x, place, point, np.broadcast_to(np.asarray(size, float), 3))
            turn = np.eye(3) if symbol.axis is None else directed(np.asarray(symbol.axis, float), 1.0, (0, 0, 1), True)
            if key == "halo":
                # Seen as a circle.
                turn = np.stack([self.view.front, self.view.right, self.view.up], axis=1)
            axes = turn * np.broadcast_to(np.asarray(size, float), 3)
            hue = self.hues.get(base_name(x.name), 0)
            yield Part(x.name, layer, key, Place(place.frame, point), axes=axes, active=x.active, hue=hue)

    def _where(self, x: DrawnElement, symbol: Symbol) -> Place:
        """At the marker; what turns against the ground is where it turns."""
        place = x.places[symbol.marker]
        if symbol.shape in _TURNING and place.frame == 0 and len(x.places) > 1:
            return Place(0, self.scene.position(x.places[1], 0))
        return place

    def _plane(self, x: DrawnElement) -> np.ndarray:
        """As large as it is needed."""
        first, second = (self.scene.position(place) for place in (x.places * 2)[:2])
        far = float(np.max(np.linalg.norm(second - first, axis=-1), initial=0))
        return np.array([1.6 * self.unit, *[1.6 * self.unit + 0.55 * far] * 2])

    def _arms(self, x: DrawnElement, place: Place, center: np.ndarray, size: np.ndarray) -> Iterator[Part]:
        """Bars to what is attached outside of the body's own shape."""
        far = outside(self.attached.get(place.frame, []), center, size, self.unit)
        if far:
            self.meshes[f"arms:{x.name}"] = bars(center, far, self.unit)
            place, hue = Place(place.frame, np.zeros(3)), self.hues.get(base_name(x.name), 0)
            yield Part(x.name, "bodies", f"arms:{x.name}", place, axes=np.eye(3), hue=hue)
