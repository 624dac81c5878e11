"""Opening what somebody else wrote: only regular files, of bearable size, inside of the folder they belong to."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..core.errors import FileError
from ..core.parameters import show

LARGEST_TEXT = 100_000_000


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A regular file, open for reading; whatever else the path leads to is refused in one sentence."""
    try:
        with _open(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError(f"{path} is not a regular file.")
            yield file
    except IsADirectoryError:
        raise FileError(f"{path} is a folder, not a file.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        # Without O_NONBLOCK a FIFO would wait for somebody to write into it.
        return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")
    except ValueError as error:  # a name with a NUL in it
        raise FileError(f"{show(str(path))} cannot be read: {error}.") from None


def read_text(path: str | os.PathLike[str]) -> str:
    """A whole file of UTF-8, with or without a byte order mark."""
    with opened(path) as file:
        data = file.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise FileError(f"{path} is larger than {LARGEST_TEXT // 10**6} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(f"{path}: line {line} is not UTF-8 text. Save the file as UTF-8.") from None


def hash_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of what is in a file."""
    digest = hashlib.sha256()
    with opened(path) as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def beside(path: str | os.PathLike[str], name: str, *, allow_outside: bool = False) -> Path:
    """The file that a file at `path` names, relative to its folder; refused where it is outside of that folder."""
    folder = Path(path).parent
    try:
        target, home = (folder / name).resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError):
        raise FileError(f"{path}: {show(name)} does not lead to a file.") from None
    if not allow_outside and not target.is_relative_to(home):
        raise FileError(
            f"{path}: {show(name)} is outside of the file's folder. Move it there, or allow this with --allow-outside."
        )
    return folder / name
