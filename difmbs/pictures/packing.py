"""Scenes as compressed text for the viewer in a page."""

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .palette import rgb_of
from .parts import Part, Place
from .scene import ARROW, Scene

_LEVELS = 2**23
"""To how many parts of their range positions and rotations are kept."""


class Run:
    """A motion in a page: its scene, what it is called, how solid it looks, and what is shown besides.

    `values`: outputs in a table; `colors`: for parts by number, (n,) numbers from 0 to 1; `trails`: places.
    """

    def __init__(
        self,
        scene: Scene,
        label: str = "",
        alpha: float = 1.0,
        values: dict[str, np.ndarray] | None = None,
        colors: dict[int, np.ndarray] | None = None,
        trails: Sequence[Place] = (),
    ):
        self.scene, self.label, self.alpha = scene, label, alpha
        self.values, self.colors, self.trails = values or {}, colors or {}, tuple(trails)


def packed(runs: Sequence[Run], *, title: str, together: bool, loop: bool, legend: Any, unit: str = "s") -> str:
    """The text from which viewer.js makes a page; `legend`: what colours mean."""
    blob = _Blob()
    first = runs[0].scene
    keys = list(dict.fromkeys(part.mesh for run in runs for part in run.scene.parts))
    meshes: dict[str, Any] = {}
    for run in runs:
        meshes |= dict(run.scene.meshes)
    header = {
        "title": title,
        "unit": unit,
        "together": together,
        "loop": loop,
        "legend": legend,
        "arrow": _digits(ARROW * first.unit),
        "view": _view([run.scene for run in runs]),
        "meshes": [_mesh(blob, key, meshes[key]) for key in keys],
        "runs": [_run(blob, run, {key: i for i, key in enumerate(keys)}) for run in runs],
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return base64.b64encode(zlib.compress(struct.pack("<I", len(text)) + text + blob.content(), 6)).decode()


class _Blob:
    """Arrays one after the other."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def content(self) -> bytes:
        return b"".join(self._parts)

    def _add(self, dtype: str, shape: Any, content: bytes, **more: Any) -> dict[str, Any]:
        offset = self._size
        self._parts.append(content)
        self._size += len(content)
        return {"dtype": dtype, "shape": list(shape), "offset": offset, **more}

    def plain(self, values: Any, dtype: str) -> dict[str, Any]:
        array = np.ascontiguousarray(values, f"<{dtype}")
        return self._add(dtype, array.shape, array.tobytes())

    def fixed(self, values: np.ndarray) -> dict[str, Any]:
        """Numbers that change little from row to row, to a part of their range."""
        values = np.asarray(values, float)
        low, high = (float(f(values)) if values.size else 0.0 for f in (np.min, np.max))
        step = (high - low) / _LEVELS or 1.0
        whole = np.round((values - low) / step).astype("<i4").reshape(len(values), values[:1].size)
        change = np.diff(whole, axis=0, prepend=0).astype("<i4")
        planes = change.reshape(-1, 1).view(np.uint8).T
        return self._add("fixed", values.shape, np.ascontiguousarray(planes).tobytes(), low=low, step=step)


def _digits(x: Any) -> Any:
    """Enough of them for pictures."""
    rounded = np.vectorize(lambda x: float(f"{x:.9g}"))(np.asarray(x, float))
    return rounded.tolist()


def _view(scenes: Sequence[Scene]) -> dict[str, Any]:
    view = scenes[0].view
    centers = np.array([s.view.center for s in scenes])
    size = max(s.view.size for s in scenes)
    width, height = max(s.view.width for s in scenes), max(s.view.height for s in scenes)
    floor = min(s.lowest() for s in scenes)
    vectors = dict(right=view.right, up=view.up, front=view.front, upright=view.upright, center=centers.mean(axis=0))
    numbers = dict(size=size, width=width, height=height, unit=scenes[0].unit, floor=floor)
    return {"plane": view.plane, **{name: _digits(x) for name, x in (vectors | numbers).items()}}


def _mesh(blob: _Blob, key: str, mesh: Any) -> dict[str, Any]:
    return {
        "name": key,
        "points": blob.plain(mesh.points, "f4"),
        "normals": blob.plain(mesh.normals, "f4"),
        "triangles": blob.plain(mesh.triangles.reshape(-1), "u4"),
    }


def _run(blob: _Blob, run: Run, meshes: dict[str, int]) -> dict[str, Any]:
    scene = run.scene
    origins, every = scene.origins, scene.origins.shape[1]
    moving = [f for f in range(every) if np.any(origins[:, f] != origins[0, f])]
    turning = [f for f in range(every) if np.any(scene.turns[:, f] != scene.turns[0, f])]
    flat = np.ascontiguousarray(scene.turns[:, turning].reshape(-1, 3, 3))
    quaternions = np.zeros((len(origins), 0, 4))
    if turning:
        quaternions = Rotation.from_matrix(flat).as_quat().reshape(len(origins), len(turning), 4)
    held = Rotation.from_matrix(np.ascontiguousarray(scene.turns[0])).as_quat()
    arrows = [part.vector for part in scene.parts if part.vector is not None]
    vectors = np.stack(arrows, axis=1) if arrows else np.zeros((len(origins), 0, 3))
    numbers = iter(range(len(arrows)))
    middles = {key: mesh.points.mean(axis=0) for key, mesh in scene.meshes.items()}
    colored = {number: i for i, number in enumerate(run.colors)}
    scales = np.stack([*run.colors.values()], axis=1) if run.colors else np.zeros((0, 0))
    return {
        "label": run.label,
        "alpha": run.alpha,
        "times": blob.plain(scene.times, "f8"),
        "still": np.ravel(_digits(origins[0])).tolist(),
        "held": np.ravel(_digits(held)).tolist(),
        "moving": moving,
        "origins": blob.fixed(origins[:, moving]),
        "turning": turning,
        "turns": blob.fixed(_continuous(quaternions)),
        "arrows": len(arrows),
        "vectors": blob.fixed(vectors),
        "scaled": len(colored),
        "scales": blob.plain(np.round(255 * np.nan_to_num(scales)), "u1"),
        "parts": [_part(part, meshes, numbers, colored.get(i), middles) for i, part in enumerate(scene.parts)],
        "points": [
            {"name": name, "frame": place.frame, "at": _digits(place.point)} for name, place in scene.points.items()
        ],
        "heights": scene.heights() if scene.view.plane else [],
        "values": {
            "names": list(run.values),
            "data": blob.plain(np.stack([*run.values.values()], axis=1) if run.values else np.zeros((0, 0)), "f4"),
        },
        "trails": [{"frame": place.frame, "at": _digits(place.point)} for place in run.trails],
    }


def _continuous(quaternions: np.ndarray) -> np.ndarray:
    """With signs such that neighbours are near each other."""
    if quaternions.size == 0:
        return quaternions
    signs = np.where(np.sum(quaternions[1:] * quaternions[:-1], axis=-1) < 0, -1.0, 1.0)
    return quaternions * np.concatenate([np.ones_like(signs[:1]), np.cumprod(signs, axis=0)])[..., None]


def _part(
    part: Part, meshes: dict[str, int], numbers: Any, scale: int | None, middles: dict[str, np.ndarray]
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": part.name,
        "layer": part.layer,
        "mesh": meshes[part.mesh],
        "color": _digits(rgb_of(part)),
        "frame": part.place.frame,
        "at": _digits(part.place.point),
    }
    if part.vector is not None:
        told |= {"vector": next(numbers), "size": _digits(part.size)}
    elif part.to is not None:
        told |= {"to": part.to.frame, "reach": _digits(part.to.point), "size": _digits(part.size)}
    else:
        told["axes"] = np.ravel(_digits(part.axes)).tolist()
        told["middle"] = _digits(part.place.point + part.axes @ middles[part.mesh])
    return told if scale is None else told | {"scale": scale}
