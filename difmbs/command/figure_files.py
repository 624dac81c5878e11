"""Figures that commands write."""

import io
from pathlib import Path
from typing import Any

import click

KINDS = ("png", "svg", "pdf")


def checked_kind(option: str, path: str) -> str:
    """The kind of picture that a file is to be."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise click.UsageError(f"{option} must be a .png, .svg or .pdf file, got '{path}'.")
    return kind


def write_figure(figure: Any, path: str, force: bool) -> None:
    """Writes a figure; equal ones make equal bytes."""
    from ..files.writing import replacing

    kind, content = checked_kind("the picture", path), io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    with replacing(path, force=force) as file:
        file.write(content.getvalue())
