"""A shape-changing mesh as large as Exudyn's PARTS_ATEs_moving: planar triangles whose corners are six-bar linkages."""

import itertools
from typing import Any

import numpy as np

from .exudyn_systems import _empty, _items, _kinds

SIDE = 0.229
ARM, BAR, OFF, PLUG = 38e-3, 29e-3, 8e-3, 10e-3


def _turned(angle: float, point: Any) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ point


class _Mesh:
    def __init__(self, columns: int, rows: int):
        (self.container, self.system), self.X = _empty(), _items()
        self.nodes: list[Any] = []
        self.places: list[np.ndarray] = []
        lower: list[Any] = []
        for y in range(rows):
            beside, upper = None, []
            for x in range(columns):
                a, b, c, d = (SIDE * np.array([x + i, y + j]) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
                first, second = self.triangle(a, b, c), self.triangle(a, c, d)
                self.join(first[5], second[0])
                self.join(first[4], second[1])
                if beside is not None:
                    self.join(beside[0], second[5])
                    self.join(beside[1], second[4])
                beside = first[2], first[3]
                if y:
                    # The row below ends in the upper sides of its second triangles.
                    self.join(lower[2 * x], first[0])
                    self.join(lower[2 * x + 1], first[1])
                upper += [second[3], second[2]]
            lower = upper

    def join(self, one: Any, other: Any) -> None:
        self.system.AddObject(
            self.X.ObjectConnectorCartesianSpringDamper(
                markerNumbers=[one, other], stiffness=[1e8, 1e8, 0], damping=[1e2, 1e2, 0]
            )
        )

    def body(self, place: Any, angle: float) -> Any:
        self.places.append(np.asarray(place))
        self.nodes.append(self.system.AddNode(self.X.NodeRigidBody2D(referenceCoordinates=[*place, angle])))
        return self.system.AddObject(self.X.ObjectRigidBody2D(mass=1.0, inertia=33.0, nodeNumber=self.nodes[-1]))

    def at(self, body: Any, x: float = 0.0, y: float = 0.0, rigid: bool = False) -> Any:
        kind = self.X.MarkerBodyRigid if rigid else self.X.MarkerBodyPosition
        return self.system.AddMarker(kind(bodyNumber=body, localPosition=[x, y, 0]))

    def corner(self, origin: Any, turn: float, opening: float) -> tuple[Any, ...]:
        """A linkage: markers of its two slides, and of its two plugs."""
        lean = np.arctan(OFF / ARM)
        size = OFF / np.sin(lean)
        along = lambda angle, length: length * np.array([np.cos(angle), np.sin(angle)])
        low = np.array([ARM, OFF])
        hub = low + along(opening - lean, size)
        inner = along(opening - lean, size)
        points = {"low": low, "end": np.array([ARM + BAR, OFF]), "hub": hub, "right": hub + np.array([BAR, 0]),
                  "up": hub + along(opening, BAR), "inner": inner, "outer": inner + along(opening, BAR)}  # fmt: skip
        world = {name: _turned(turn, point) + origin for name, point in points.items()}
        middle = lambda a, b: (world[a] + world[b]) / 2
        first = self.body(middle("end", "low"), turn)
        one = self.body(world["hub"], turn)
        second = self.body(middle("right", "end"), opening - lean + turn)
        third = self.body(middle("up", "outer"), lean + turn)
        other = self.body(world["hub"], turn)
        last = self.body(middle("outer", "inner"), opening + turn)
        apart = {name: points[name] - hub for name in ("low", "up", "inner", "right")}
        hinges = [
            (self.at(first, -BAR / 2), self.at(one, *apart["low"])),
            (self.at(first, BAR / 2), self.at(second, -size / 2)),
            (self.at(third, size / 2), self.at(one, *apart["up"])),
            (self.at(last, BAR / 2), self.at(third, -size / 2)),
            (self.at(last, -BAR / 2), self.at(other, *apart["inner"])),
            (self.at(one), self.at(other)),
            (self.at(second, size / 2), self.at(other, *apart["right"])),
        ]
        for pair in hinges:
            self.system.AddObject(self.X.ObjectJointRevolute2D(markerNumbers=list(pair)))
        slides = self.at(first, BAR / 2, rigid=True), self.at(last, BAR / 2, rigid=True)
        return (*slides, self.at(first, -BAR / 2 - PLUG, -OFF), self.at(last, -BAR / 2 - PLUG, OFF))

    def triangle(self, *corners: Any) -> list[Any]:
        """Three linkages with slides between them: the markers of its plugs."""
        a, b, c = (np.linalg.norm(corners[i - 2] - corners[i - 1]) for i in range(3))
        angles = [np.arccos((y**2 + z**2 - x**2) / (2 * y * z)) for x, y, z in ((a, b, c), (b, a, c), (c, a, b))]
        base = np.arctan2(*(corners[1] - corners[0])[::-1])
        turns = base, np.pi - angles[1] + base, -(angles[1] + angles[2]) + base
        made = [self.corner(*given) for given in zip(corners, turns, angles, strict=True)]
        pairs = (made[0][0], made[1][1]), (made[1][0], made[2][1]), (made[2][0], made[0][1])
        for i, (pair, side) in enumerate(zip(pairs, (c, a, b), strict=True)):
            pair = list(pair)
            ends = pair[::-1] if i == 2 else pair
            self.system.AddObject(
                self.X.ObjectJointPrismatic2D(
                    markerNumbers=ends, axisMarker0=[1, 0, 0], normalMarker1=[0, -1, 0], constrainRotation=True
                )
            )
            self.system.AddObject(
                self.X.ObjectConnectorSpringDamper(
                    markerNumbers=pair, stiffness=1e5, damping=1e3, referenceLength=side - 2 * ARM - 2 * BAR
                )
            )
        return [made[0][2], made[1][3], made[1][2], made[2][3], made[2][2], made[0][3]]


def mesh(columns: int = 4, rows: int = 2) -> Any:
    """288 bodies, 336 hinges and 48 slides by default, held on the left side and pulled on the right."""
    made = _Mesh(columns, rows)
    system, X, V = made.system, made.X, _kinds()
    fixed = system.AddNode(X.NodePointGround())
    zero = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
    left = min(place[0] for place in made.places)
    held = [node for node, place in zip(made.nodes, made.places, strict=True) if place[0] < left + 1e-6]
    for node, i in itertools.product(held, range(2)):
        end = system.AddMarker(X.MarkerNodeCoordinate(nodeNumber=node, coordinate=i))
        system.AddObject(X.ObjectConnectorCoordinate(markerNumbers=[zero, end]))
    pull = lambda mbs, t, load: [load[i] * (0.01 + 0.99 * (1 - np.cos(t / 0.05 * np.pi))) for i in range(3)]
    far = made.nodes[int(np.argmax([place[0] + place[1] for place in made.places]))]
    marker = system.AddMarker(X.MarkerNodePosition(nodeNumber=far))
    system.AddLoad(X.LoadForceVector(markerNumber=marker, loadVector=[1e4, -1e4, 0], loadVectorUserFunction=pull))
    for node in (far, made.nodes[len(made.nodes) // 2]):
        for kind in (V.Position, V.Velocity):
            system.AddSensor(X.SensorNode(nodeNumber=node, outputVariableType=kind))
    system.Assemble()
    return made.container, system
