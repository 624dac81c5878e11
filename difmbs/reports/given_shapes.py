"""Shapes of bodies that the user gives."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..core.errors import ParameterError, did_you_mean
from ..core.parameters import show
from ..elements.bodies.body import AbstractBody
from ..interop.urdf import LinkShape
from ..pictures.mesh_files import read_mesh
from ..pictures.meshes import Mesh, plate
from ..pictures.shape_meshes import shape
from ..system.system import System

PlacedMesh = tuple[Mesh, np.ndarray, np.ndarray]
"""A mesh, and A and p with which a point x of it is at A x + p in the frame of the body."""


def given_shapes(given: Any, system: System) -> dict[str, list[PlacedMesh]]:
    """By name of body; `given`: by name of body, or a list of links' shapes."""
    bodies = [name for name, element in system.structure.elements.items() if element.kind == "bodies"]
    found: dict[str, list[Any]] = {}
    if isinstance(given, Mapping):
        found = {name: [x] for name, x in given.items()}
    for item in given if given is not None and not isinstance(given, Mapping) else ():
        if not isinstance(item, LinkShape):
            raise ParameterError(f"shapes must be given by name of body, or by urdf_shapes, got {show(item)}.")
        found.setdefault(item.body, []).append(item)
    for name in found:
        if name not in bodies:
            raise ParameterError(f"shapes: there is no body {show(name)}. {did_you_mean(name, bodies)}")
    return {name: [_shape(name, x) for x in several] for name, several in found.items()}


def _shape(name: str, given: Any) -> PlacedMesh:
    none = np.zeros(3)
    if isinstance(given, LinkShape):
        return _of_link(given)
    if isinstance(given, (str, os.PathLike)):
        return read_mesh(given), np.eye(3), none
    if isinstance(given, AbstractBody):
        (symbol,) = given.symbols()
        if symbol.size is not None:
            center = none if symbol.center is None else np.asarray(symbol.center, float)
            return shape(symbol.shape), np.diag(np.broadcast_to(np.asarray(symbol.size, float), 3)), center
    try:
        outline = np.asarray(given, float)
    except (TypeError, ValueError):
        outline = np.zeros(0)
    if outline.ndim != 2 or outline.shape[1] != 2 or len(outline) < 3 or not np.all(np.isfinite(outline)):
        raise ParameterError(
            f"shapes: '{name}' takes the path of an .stl or .obj file, an outline of three or more points (x, y), or a "
            f"Box, Cylinder or Sphere, got {show(given)}."
        )
    return plate(outline, 0.08 * float(np.ptp(outline, axis=0).max())), np.eye(3), none


def _of_link(item: LinkShape) -> PlacedMesh:
    turn = Rotation.from_rotvec(np.asarray(item.rotation)).as_matrix()
    at = np.asarray(item.position, float)
    if item.kind == "mesh":
        return read_mesh(str(item.file)), turn @ np.diag(item.size or (1.0, 1.0, 1.0)), at
    if item.kind == "cylinder":
        radius, length = item.size
        # Along z, where the shape is along x.
        along = np.array([[0, 0, radius], [0, radius, 0], [length, 0, 0.0]])
        along[:, 2] *= -1
        return shape("cylinder"), turn @ along, at
    sizes = item.size if item.kind == "box" else (item.size[0],) * 3
    return shape(item.kind), turn @ np.diag(sizes), at
