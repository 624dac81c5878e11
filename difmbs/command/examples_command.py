"""difmbs examples: models to start from."""

from pathlib import Path

import click

from .shell import Report, command


@click.group("examples")
def examples() -> None:
    """List and copy models to start from."""


@examples.command("list")
@command
def list_examples(report: Report) -> int:
    """Name the examples."""
    found = {folder.name: _title(folder) for folder in _folders()}
    for name, title in found.items():
        report.say(f"{name:20} {title}")
    report.say("Copy one with: difmbs examples copy NAME")
    report.end(0, examples=found)
    return 0


@examples.command("copy")
@click.argument("name")
@click.option("--out", help="The folder to copy it to.  [default: NAME]")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@command
def copy_example(report: Report, name: str, out: str | None, force: bool) -> int:
    """Copy the example NAME into a folder."""
    from ..core.errors import did_you_mean
    from ..files.writing import output_folder, replacing

    folders = {folder.name: folder for folder in _folders()}
    if name not in folders:
        raise click.UsageError(f"there is no example '{name}'. {did_you_mean(name, folders)}")
    files = [path for path in sorted(folders[name].rglob("*")) if path.is_file() and _is_source(path)]
    with output_folder(out or name, force=force) as folder:
        for path in files:
            target = folder / path.relative_to(folders[name])
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target, force=force) as file:
                file.write(path.read_bytes())
    report.say(f"copied to {folder}. Try: {_first_command(folder)}")
    report.end(0, out=str(folder), files=[str(path.relative_to(folders[name])) for path in files])
    return 0


def _is_source(path: Path) -> bool:
    return not path.name.startswith(".") and path.suffix != ".pyc"


def _first_command(folder: Path) -> str:
    tries = {"fit.toml": "identify", "design.toml": "optimize", "model.toml": "simulate"}
    for file, name in tries.items():
        if (folder / file).exists():
            return f"difmbs {name} {folder / file}"
    return f"python {folder / 'fit.py'}"


def _folders() -> list[Path]:
    """In an installed package they are inside of it, in the repository beside it."""
    package = Path(__file__).parent.parent
    inside, beside = package / "_examples", package.parent / "examples"
    root = inside if inside.is_dir() else beside
    return sorted({path.parent for file in ("model.toml", "fit.py") for path in root.glob(f"*/{file}")})


def _title(folder: Path) -> str:
    """The first line of the model, a comment, or of the script."""
    file = folder / "model.toml"
    return (file if file.exists() else folder / "fit.py").read_text().partition("\n")[0].strip('# ."')
