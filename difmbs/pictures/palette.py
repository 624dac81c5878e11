"""Colours of shapes."""

from matplotlib.colors import to_rgb

from .parts import Part

GROUND, QUIET = "#8a949e", "#c3c9cf"
_BODIES = ("#5b8db8", "#c98b4e", "#6fa287", "#a87ca8", "#b8a24a", "#7f8fa6")
_SHAPES = {
    "coil": "#2b5f8c", "zigzag": "#2b5f8c", "spiral": "#2b5f8c", "damper": "#5e6b77", "strut": "#a4532f",
    "housing": "#a4532f", "rod": "#4a5560", "dashes": "#8e6fb0", "halo": "#8e6fb0", "diamond": "#8e6fb0",
    "buffer": "#7a4a2b", "shoes": "#7a4a2b", "arrow": "#c22f3d", "curl": "#c22f3d", "pointer": "#c22f3d",
    "plane": "#b9c0c7",
}  # fmt: skip
_JOINTS = "#3d4852"


def color_of(part: Part) -> str:
    if part.layer == "ground":
        return GROUND
    if not part.active:
        return QUIET
    if part.layer == "bodies":
        return _BODIES[part.hue % len(_BODIES)]
    return _SHAPES.get(part.mesh, _JOINTS)


def rgb_of(part: Part) -> tuple[float, ...]:
    return to_rgb(color_of(part))
