"""From elements to the shapes that they have in a picture."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..elements.symbols import Symbol
from .drawn_elements import DrawnElement, base_name, has_mass, symbols_of
from .links import bars, body_mesh, outside
from .meshes import Mesh
from .parts import Part, Place, directed
from .viewpoint import Viewpoint

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


class PartMaker:
    """Makes parts of elements."""

    def __init__(
        self, drawn: list[DrawnElement], view: Viewpoint, unit: float, quantities: Any, centers: Any, shapes: Any
    ):
        self.view, self.unit, self.quantities, self.centers, self.shapes = view, unit, quantities, centers, shapes
        self.meshes: dict[str, Mesh] = {}
        self.attached: dict[int, list[np.ndarray]] = {}
        for x in drawn:
            for place in x.places if x.kind != "bodies" else ():
                self.attached.setdefault(place.frame, []).append(place.point)
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
            yield Part(x.name, "bodies", key, Place(x.places[0].frame, point), axes=axes)

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
                if key == "sphere" and has_mass(x.element):
                    size = size * np.clip((float(x.element.mass) / self.usual_mass) ** (1 / 3), 0.6, 2.0)
            if x.kind == "bodies" and not key.startswith("link:"):
                yield from self._arms(x, place, point, np.broadcast_to(np.asarray(size, float), 3))
            turn = np.eye(3) if symbol.axis is None else directed(np.asarray(symbol.axis, float), 1.0, (0, 0, 1), True)
            if key == "halo":
                # Seen as a circle.
                turn = np.stack([self.view.front, self.view.right, self.view.up], axis=1)
            axes = turn * np.broadcast_to(np.asarray(size, float), 3)
            yield Part(x.name, layer, key, Place(place.frame, point), axes=axes, active=x.active)

    def _arms(self, x: DrawnElement, place: Place, center: np.ndarray, size: np.ndarray) -> Iterator[Part]:
        """Bars to what is attached outside of the body's own shape."""
        far = outside(self.attached.get(place.frame, []), center, size, self.unit)
        if far:
            self.meshes[f"arms:{x.name}"] = bars(center, far, self.unit)
            yield Part(x.name, "bodies", f"arms:{x.name}", Place(place.frame, np.zeros(3)), axes=np.eye(3))
