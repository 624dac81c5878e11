"""Writes docs/gallery.md: a picture of each example, what it is, and how to run it.

`python docs/make_gallery.py`; tests say when it has to be run again. With `--readme` also the pictures of the README,
for which Chromium has to be installed.
"""

import ast
import importlib.util
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

import difmbs as mbs  # noqa: E402
from difmbs.pictures.state_sketch import draw_initial  # noqa: E402
from difmbs.plots.inline_svg import Drawing  # noqa: E402
from difmbs.plots.style import new_figure, style  # noqa: E402

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
FIGURES = DOCS / "figures" / "gallery"
SCRIPTS = {"squeezer": "squeezer.py", "three_tests": "fit.py", "from_exudyn": "compare.py", "robot_arm": "fit.py"}
"""Examples whose model is not in a file model.toml."""
COMMANDS = {"fit.toml": "identify", "design.toml": "optimize", "model.toml": "simulate"}


def names() -> list[str]:
    return sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))


def page() -> str:
    """The whole page."""
    parts = [
        "# Gallery\n\nThe examples, with a sketch of each as `model.draw()` makes it. `difmbs examples copy NAME` puts "
        "one into a folder of your own. Made by `python docs/make_gallery.py`.\n"
    ]
    for name in names():
        said = "\n".join(_said(name))
        shown = f"![{name}](figures/gallery/{name}.svg)"
        parts.append(f"## {name}\n\n{shown}\n\n```text\n{said}\n```\n\n```text\n{_command(name)}\n```\n")
    return "\n".join(parts)


def _said(name: str) -> Iterator[str]:
    """What the head of the model or of the script says of it."""
    model = EXAMPLES / name / "model.toml"
    if model.exists():
        lines = itertools.takewhile(lambda line: line.startswith("#"), model.read_text().splitlines())
        yield from (line[1:].removeprefix(" ").rstrip() for line in lines)
        return
    yield from (ast.get_docstring(ast.parse((EXAMPLES / name / SCRIPTS[name]).read_text())) or "").splitlines()


def _command(name: str) -> str:
    script = EXAMPLES / name / "fit.py"
    if name in SCRIPTS or script.exists():
        return f"python examples/{name}/{'fit.py' if script.exists() else SCRIPTS[name]}"
    file = next(file for file in COMMANDS if (EXAMPLES / name / file).exists())
    return f"difmbs {COMMANDS[file]} examples/{name}/{file}"


def system_of(name: str) -> mbs.System:
    folder = EXAMPLES / name
    if (folder / "model.toml").exists():
        return mbs.read_model(folder / "model.toml").assemble()
    if name == "robot_arm":
        return mbs.from_urdf(folder / "arm.urdf", positions={"shoulder": 0.4, "elbow": 0.6}).assemble()
    script = _module(folder / SCRIPTS[name])
    if name == "from_exudyn":
        container, exudyn_system = script.four_bar()
        system = mbs.from_exudyn(exudyn_system).assemble()
        # Exudyn's systems end with their containers.
        del container
        return system
    return (script.squeezer if name == "squeezer" else script.two_masses)()


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def picture(name: str) -> str:
    """A sketch as a file of its own."""
    with style():
        figure = new_figure(6.4, 3.6)
        draw_initial(figure.add_subplot(), system_of(name))
        text = str(Drawing().svg(figure, f"sketch of the example {name}"))
    font = "<style>text { font-family: 'DejaVu Sans', sans-serif; }</style>"
    head, bracket, rest = text.partition(">")
    return head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1) + bracket + font + rest + "\n"


def for_readme() -> None:
    """The mechanism, the fit and the report."""
    figures = DOCS / "figures"
    described = mbs.read_model(EXAMPLES / "spatial_slider_crank" / "model.toml")
    assert described.simulation is not None
    solution = mbs.simulate(described.assemble(), **described.simulation.arguments())
    fit = mbs.load_fit(EXAMPLES / "quarter_car" / "fit.toml").run(progress=False)
    with tempfile.TemporaryDirectory() as folder:
        motion = mbs.animate(solution, Path(folder) / "motion.html", values=["rod.angular_velocity", "slider.position"])
        assert motion.path is not None
        _screenshot(motion.path, figures / "mechanism.png", 760, 460)
        _screenshot(mbs.report(fit, Path(folder) / "report.html"), figures / "report.png", 920, 1000)
    with style():
        figure = new_figure(6.4, 3.0)
        axes = fit.plot(ax=figure.add_subplot())
        axes.set_xlim(0, 6)
        figure.savefig(figures / "fit.png", dpi=110)


def _screenshot(path: Path, to: Path, width: int, height: int) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    options = ["--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    options += ["--virtual-time-budget=8000", f"--window-size={width},{height}", f"--screenshot={to}"]
    subprocess.run([browser, *options, path.as_uri()], check=True, capture_output=True)


def write(every: Callable[[], list[str]] = names) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    (DOCS / "gallery.md").write_text(page(), encoding="utf-8")
    for name in every():
        (FIGURES / f"{name}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    write()
    if "--readme" in sys.argv:
        for_readme()
