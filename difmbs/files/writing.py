"""Writing so that nobody ever sees half a file, and nothing is overwritten by accident."""

import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..core.errors import FileError

try:
    import fcntl
except ImportError:  # Windows, where folders are not locked
    fcntl = None  # type: ignore[assignment]

_LOCK = ".lock"
_PART = re.compile(r"\.[0-9a-f]{12}\.part")
_WRITING = threading.RLock()
"""Held while a file is written."""


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[BinaryIO]:
    """A file to write into, which takes its place at `path` when all of it is on the disk.

    A file that exists is only replaced with `force`. After an error nothing has changed.
    """
    path = Path(path)
    with _refusing(path), _WRITING:
        if path.is_dir():
            raise FileError(f"{path} is a folder, not a file.", output=True)
        if not force and os.path.lexists(path):
            raise FileError(f"{path} exists already. Choose another name, or replace it with force.", output=True)
        part = path.with_name(f".{secrets.token_hex(6)}.part")
        try:
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def end_process(code: int) -> None:
    """Ends it without waiting for its threads, but between two files where one is not long in being written."""
    _WRITING.acquire(timeout=1)
    os._exit(code)


@contextmanager
def output_folder(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """A folder to write results into, made where it is missing, that no other process writes into meanwhile."""
    path = Path(path)
    with _refusing(path):
        path.mkdir(parents=True, exist_ok=True)
        if not force and any(entry.name != _LOCK and not _PART.fullmatch(entry.name) for entry in path.iterdir()):
            raise FileError(f"{path} is not empty. Choose another folder, or replace files with force.", output=True)
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with _refusing(path):
            # The lock ends with the process, however that ends.
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _tidy(path)
        try:
            yield path
        finally:
            _tidy(path)
    finally:
        os.close(lock)


def _tidy(folder: Path) -> None:
    """Without what was being written when a process was killed or a thread left alone."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if _PART.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except BlockingIOError:
        raise FileError(f"{path} is being written to by another process.", output=True) from None
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.", output=True) from None


def _sync_folder(folder: Path) -> None:
    if fcntl is not None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
