"""Motions to look at: pages and films of simulations, modes, fits and designs."""

import dataclasses
import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..core.errors import ParameterError, counted, did_you_mean
from ..core.parameters import show
from ..design.design import Design
from ..dynamics.output_units import of_output, with_unit
from ..dynamics.outputs import entry_names, output_names
from ..files.writing import replacing
from ..identification.fit import Fit
from ..pictures.film import FILMS, film
from ..pictures.packing import Run, packed
from ..pictures.page import whole_page
from ..pictures.parts import Part, Place
from ..pictures.scene import Scene, scene_of
from ..pictures.shape_meshes import shape
from ..simulation.arguments import check_number, check_whole
from ..simulation.solution import Solution, reached
from ..system.system import System
from .given_shapes import given_shapes
from .shown_motions import ShownMotion, motions_of

MOST_FRAMES = 1000
_MOST_TRAILS = 12
"""Of those that nobody has asked for."""
LARGEST = 6_000_000
"""Bytes of a page."""


@dataclasses.dataclass(frozen=True)
class Animation:
    """What `animate` made: `page`, the HTML of it, "" of a film; `path` of its file, if there is one; `frames`, of how
    many outputs; `size` in bytes. In a notebook it shows itself.
    """

    page: str = dataclasses.field(repr=False)
    path: Path | None
    frames: int
    outputs: int
    size: int

    def __repr__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        of = f" of {self.outputs} outputs" if self.outputs > self.frames else ""
        return f"{where}{counted(self.frames, 'frame')}{of}, {self.size / 1e6:.2f} MB"

    def _repr_html_(self) -> str:
        if not self.page:
            return f"<p>{html.escape(repr(self))}</p>"
        return f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:460px;border:0"></iframe>'


def animate(
    motion: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    labels: Any = None,
    shapes: Any = None,
    color_by: str | None = None,
    values: Any = (),
    trails: Any = None,
    title: str = "",
    experiment: str | None = None,
    frames: Any = MOST_FRAMES,
    seconds: Any = None,
    force: bool = False,
) -> Animation:
    """Shows a motion: a page for a browser, one file that needs nothing else, or a film.

    **Arguments:** `motion`: a `Solution`, a list of them, which are laid over each other, `Modes`, a `Fit` (fitted,
    with what was measured of positions) or a `Design` (start and optimum); `path`: a file that ends in .html, .gif or
    .mp4, None: for a notebook; `labels`: what the motions are called; `shapes`: for bodies by name the path of an .stl
    or .obj file, an outline (n, 2) in the x-y plane, or a `Box`, `Cylinder` or `Sphere`, or what `urdf_shapes`
    returned; `color_by`: an output such as "spring.force", or "force" of all elements that have one; `values`: outputs
    whose numbers are shown; `trails`: bodies and sensors of positions that leave a trace, None: all such sensors;
    `title`; `experiment`: the name of one of a fit's, None: the first; `frames`: how many at most; `seconds`: how long
    a film lasts; `force`: replace a file that exists.

    A page is not larger than 6 MB: of longer motions, fewer frames are kept, and the result says how many.
    """
    path = None if path is None else _checked_path(path)
    frames, seconds = check_whole("frames", frames), _checked_seconds(seconds)
    values, trails = _names("values", values), None if trails is None else _names("trails", trails)
    motions, together, unit = motions_of(motion, experiment)
    as_film = path is not None and path.suffix.lower() in FILMS
    if as_film and not together:
        motions = motions[:1]
    said = [m.label for m in motions] if labels is None else _names("labels", labels)
    if len(said) != len(motions):
        raise ParameterError(f"labels: there are {len(motions)} motions, got {len(said)} labels.")
    given = given_shapes(shapes, motions[0].solution.system)
    every = max(int(reached(m.solution).sum()) for m in motions)
    if as_film and frames == MOST_FRAMES:
        frames = 100
    while True:
        runs, legend = _runs(motions, said, frames, given, color_by, values, trails)
        count = max(len(run.scene.times) for run in runs)
        if path is not None and as_film:
            content = film(runs, path.suffix.lower(), _lasting(seconds, runs), title, unit, legend)
            page = ""
            break
        text = packed(
            runs, title=title, together=together, loop=not together or len(runs) == 1, legend=legend, unit=unit
        )
        page = whole_page(text, title or "difmbs")
        content = page.encode()
        if len(content) <= LARGEST or count <= 2:
            break
        frames = max(2, int(0.9 * count * LARGEST / len(content)))
    if path is not None:
        with replacing(path, force=force) as file:
            file.write(content)
    return Animation(page, path, count, every, len(content))


def scene_text(result: Fit | Design, frames: int) -> str:
    """The motions of a fit or a design, for a scene in a page."""
    motions, together, unit = motions_of(result, None)
    runs, _ = _runs(motions, [m.label for m in motions], frames, {}, None, (), None)
    return packed(runs, title="", together=together, loop=len(runs) == 1, legend=None, unit=unit)


def _names(argument: str, given: Any) -> tuple[str, ...]:
    """One name, or several."""
    several = (given,) if isinstance(given, str) else given
    if not isinstance(several, (list, tuple, np.ndarray)) or not all(isinstance(x, str) for x in several):
        raise ParameterError(f"animate: {argument} takes a list of names, got {show(given)}.")
    return tuple(map(str, several))


def _checked_seconds(seconds: Any) -> float | None:
    if seconds is None:
        return None
    number = check_number("seconds", seconds)
    if number <= 0:
        raise ParameterError(f"animate: seconds must be > 0, got {number:g}.")
    return number


def _checked_path(path: Any) -> Path:
    try:
        path = Path(path)
    except TypeError:
        raise ParameterError(f"animate needs the path of a file, such as 'motion.html', got {show(path)}.") from None
    if path.suffix.lower() not in (".html", *FILMS):
        raise ParameterError(f"animate writes .html, .gif and .mp4 files, got '{path}'.")
    return path


def _lasting(seconds: Any, runs: Sequence[Run]) -> float:
    if seconds is not None:
        return float(seconds)
    times = runs[0].scene.times
    return float(np.clip(times[-1] - times[0], 2, 10))


def _runs(
    motions: Sequence[ShownMotion],
    labels: Sequence[str],
    frames: int,
    shapes: Mapping[str, Any],
    color_by: str | None,
    values: tuple[str, ...],
    trails: Sequence[str] | None,
) -> tuple[list[Run], Any]:
    colored = _colored(motions[0].solution, color_by)
    outputs = tuple(dict.fromkeys([*values, *colored]))
    scenes = [_scene(m, frames, shapes, outputs, None) for m in motions]
    if len(scenes) > 1:
        # All of them are seen in the same way.
        like = next((scene for scene in scenes if not scene.view.plane), scenes[0])
        scenes = [
            scene if scene is like else _scene(m, frames, shapes, outputs, like)
            for m, scene in zip(motions, scenes, strict=True)
        ]
    made = [(m, scene, _scalars(scene, colored)) for m, scene in zip(motions, scenes, strict=True)]
    every = [x for *_, scalars in made for x in scalars.values()]
    low, high = (min(map(np.nanmin, every)), max(map(np.nanmax, every))) if every else (0.0, 1.0)
    runs = []
    for (m, scene, scalars), label in zip(made, labels, strict=True):
        colors = {i: (x - low) / ((high - low) or 1.0) for i, x in scalars.items()}
        shown = {n: x for name in values for n, x in _numbers(m.solution.system, name, scene.quantities[name])}
        runs.append(Run(scene, label, m.alpha, shown, colors, _trails(scene, trails)))
    unit = of_output(motions[0].solution.system, next(iter(colored))) if colored else ""
    legend = {"label": with_unit(color_by or "", unit), "low": float(low), "high": float(high)} if colored else None
    return runs, legend


def _scene(
    m: ShownMotion, frames: int, shapes: Mapping[str, Any], outputs: tuple[str, ...], like: Scene | None
) -> Scene:
    """Of so many of the outputs that were reached."""
    rows, s = np.flatnonzero(reached(m.solution)), m.solution
    if not len(rows):
        raise ParameterError("there is nothing to show: no output was reached.")
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(frames, len(rows))).round().astype(int))]
    pick = lambda x: None if x is None else jax.tree.map(lambda y: np.asarray(y)[rows], x)
    states, known = (pick(s.t), pick(s.q), pick(s.v)), pick(s.accelerations)
    scene = scene_of(s.system, *states, on=pick(s.on), known=known, shapes=shapes, outputs=outputs, like=like)
    return _with_measured(scene, {name: x[rows] for name, x in m.measured.items()})


def _numbers(system: System, name: str, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    names = entry_names(system, name, values.shape[1:])
    unit = of_output(system, name)
    flat = values.reshape(len(values), -1)
    return [(with_unit(n, unit), flat[:, i].astype(float)) for i, n in enumerate(names)]


def _colored(solution: Solution, color_by: str | None) -> tuple[str, ...]:
    """The outputs that colours show."""
    if color_by is None:
        return ()
    every = output_names(solution.system)
    names = tuple(n for n in every if n == color_by) or tuple(n for n in every if n.endswith(f".{color_by}"))
    if not names:
        known = sorted({n.rpartition(".")[2] for n in every if "." in n})
        raise ParameterError(
            f"color_by: there is no output {show(color_by)}. {did_you_mean(color_by, [*every, *known])}"
        )
    return names


def _scalars(scene: Scene, colored: Sequence[str]) -> dict[int, np.ndarray]:
    """For parts by number, a number at each time."""
    found = {}
    of = {name.rpartition(".")[0]: name for name in colored}
    for i, part in enumerate(scene.parts):
        base, _, row = part.name.partition("[")
        if base not in of or part.layer not in ("bodies", "connectors"):
            continue
        values = scene.quantities[of[base]]
        values = values[:, int(row[:-1])] if row else values
        found[i] = np.linalg.norm(values, axis=-1) if values.ndim > 1 else values.astype(float)
    return found


def _trails(scene: Scene, names: Sequence[str] | None) -> list[Place]:
    bodies = {name: Place(i, np.zeros(3)) for i, name in enumerate(scene.frames)}
    known = {**bodies, **scene.points}
    if names is None:
        return list(scene.points.values())[:_MOST_TRAILS]
    found: list[Place] = []
    for name in names:
        several = [place for key, place in known.items() if key == name or key.startswith(f"{name}[")]
        if not several:
            said = did_you_mean(name, list(known))
            raise ParameterError(f"trails: there is no body or position {show(name)}. {said}")
        found += several
    return found


def _with_measured(scene: Scene, points: Mapping[str, np.ndarray]) -> Scene:
    """With balls where something was measured."""
    if not points:
        return scene
    # Where a sample is missing, it stays where it was.
    held = [_held(x) for x in points.values()]
    count, still = scene.origins.shape[1], np.broadcast_to(np.eye(3), (len(scene.times), len(held), 3, 3))
    parts = [
        Part(
            f"{name}, measured",
            "bodies",
            "sphere",
            Place(count + i, np.zeros(3)),
            axes=0.75 * scene.unit * np.eye(3),
            active=False,
        )
        for i, name in enumerate(points)
    ]
    return dataclasses.replace(
        scene,
        frames=(*scene.frames, *(p.name for p in parts)),
        origins=np.concatenate([scene.origins, np.stack(held, axis=1)], axis=1),
        turns=np.concatenate([scene.turns, still], axis=1),
        parts=(*scene.parts, *parts),
        meshes={**scene.meshes, "sphere": shape("sphere")},
    )


def _held(x: np.ndarray) -> np.ndarray:
    good = np.flatnonzero(np.all(np.isfinite(x), axis=1))
    if not len(good):
        return np.zeros_like(x)
    return x[good[np.clip(np.searchsorted(good, np.arange(len(x)), side="right") - 1, 0, None)]]
