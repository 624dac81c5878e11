"""Shapes from STL and OBJ files."""

import itertools
import os
from pathlib import Path

import numpy as np

from ..core.errors import FileError
from .meshes import Mesh, faceted

_LARGEST = 200_000_000
"""Bytes of a file that is read."""
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """The surface in an .stl file, of text or binary, or in an .obj file, whose faces may have any corners."""
    path = Path(path)
    readers = {".stl": _stl, ".obj": _obj}
    if path.suffix.lower() not in readers:
        raise FileError(f"{path}: shapes are read from .stl and .obj files.")
    try:
        if path.stat().st_size > _LARGEST:
            raise FileError(f"{path} is larger than {_LARGEST // 1_000_000} MB.")
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        points, triangles = readers[path.suffix.lower()](content)
    except (ValueError, IndexError) as error:
        raise FileError(f"{path} is not a mesh, or is damaged: {error}.") from None
    if len(triangles) == 0:
        raise FileError(f"{path} holds no triangle.")
    if not np.all(np.isfinite(points)):
        raise FileError(f"{path} has points that are not finite.")
    return faceted(points, triangles)


def _stl(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    count = int.from_bytes(content[80:84], "little")
    if len(content) >= 84 and len(content) == 84 + count * _TRIANGLE.itemsize:
        corners = np.frombuffer(content, _TRIANGLE, count, 84)["corners"].astype(float)
    else:
        try:
            words = content.decode("ascii").split()
        except UnicodeDecodeError:
            raise ValueError(
                f"it holds {len(content)} bytes, of {count} triangles these would be {84 + 50 * count}"
            ) from None
        if words[:1] != ["solid"]:
            raise ValueError("neither a binary STL file nor one of text")
        at = [i for i, word in enumerate(words) if word == "vertex"]
        corners = np.array([words[i + 1 : i + 4] for i in at], float).reshape(-1, 3, 3)
    return corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)


def _obj(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    points, triangles = [], []
    for line in content.decode("utf-8").splitlines():
        kind, *words = line.split() or [""]
        if kind == "v":
            points.append([float(x) for x in words[:3]])
        elif kind == "f":
            numbers = [int(word.split("/")[0]) for word in words]
            corners = [n - 1 if n > 0 else len(points) + n for n in numbers]
            if any(not 0 <= c < len(points) for c in corners):
                raise ValueError(f"a face has a corner that is not there: {line.strip()}")
            triangles += [(corners[0], b, c) for b, c in itertools.pairwise(corners[1:])]
    return np.array(points, float).reshape(-1, 3), np.array(triangles, int).reshape(-1, 3)
