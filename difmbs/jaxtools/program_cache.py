"""Compiled programs, kept from one process to the next.

JAX does this itself once it knows a folder. It gets one here, unless its user has given it one or wants none. What JAX
would do with the files does not serve a folder that nobody looks after: it writes them in place, so that another
process may read half of one, and so that one that was killed leaves half of one for good; and it limits their size only
with a package that need not be there. So in this folder, and only here, the files are those of `ProgramCache`.
"""

import contextlib
import os
import secrets
import warnings
import zlib
from pathlib import Path
from typing import Any

import jax

_CONFIG: Any = jax.config

_MOST = 1 << 30
"""Bytes, of which the least recently used ones make room."""
_FULL = 0.8
_SHORT = 0.01
"""Seconds; what compiles faster is not kept."""
_USUAL = 1.0
"""JAX's own value, in seconds."""
_OFF = ("0", "off", "false", "no", "")


class ProgramCache:
    """Programs by their keys, for JAX: written elsewhere and then moved here, with a checksum; silent about failures,
    after which a program is compiled again."""

    def __init__(self, folder: str):
        self._path = Path(folder)
        self._size: int | None = None

    def get(self, key: str) -> bytes | None:
        if self._left():
            return None
        path = self._path / f"{key}-program"
        with contextlib.suppress(OSError):
            content = path.read_bytes()
            value, check = content[:-4], content[-4:]
            if check == _checksum(value):
                os.utime(path)
                return value
            path.unlink()
        return None

    def put(self, key: str, value: bytes) -> None:
        if self._left() or len(value) > _MOST:
            return
        part = self._path / f"{secrets.token_hex(8)}.part"
        with contextlib.suppress(OSError):
            try:
                part.write_bytes(value + _checksum(value))
                part.replace(self._path / f"{key}-program")
            finally:
                part.unlink(missing_ok=True)
            self._size = self._known() + len(value)
            if self._size > _MOST:
                self._make_room()

    def _left(self) -> bool:
        """Whether JAX was told another folder since, to which it goes with the next program."""
        if _CONFIG.jax_compilation_cache_dir == str(self._path):
            return False
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()
        if _CONFIG.jax_persistent_cache_min_compile_time_secs == _SHORT:
            _CONFIG.update("jax_persistent_cache_min_compile_time_secs", _USUAL)
        return True

    def _known(self) -> int:
        return sum(size for _, size, _ in self._files()) if self._size is None else self._size

    def _files(self) -> list[tuple[float, int, str]]:
        """When last used, size and path of all."""
        found = []
        with os.scandir(self._path) as entries:
            for entry in entries:
                if entry.name.endswith(("-program", ".part")):
                    # Other processes remove files as well.
                    with contextlib.suppress(OSError):
                        status = entry.stat()
                        found.append((status.st_mtime, status.st_size, entry.path))
        return sorted(found)

    def _make_room(self) -> None:
        files = self._files()
        self._size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._size <= _FULL * _MOST:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            self._size -= size


def _checksum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(4, "little")


def folder() -> Path | None:
    """Where programs are kept: what DIFMBS_CACHE says, or a folder of the user; None if they are not to be."""
    given = os.environ.get("DIFMBS_CACHE")
    if given is not None and given.strip().lower() in _OFF:
        return None
    try:
        own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "difmbs"
        return Path(given or own).expanduser().absolute()
    except RuntimeError:  # there is no home
        return None


def used() -> str | None:
    """The folder in which JAX keeps compiled programs."""
    return _CONFIG.jax_compilation_cache_dir if _CONFIG.jax_enable_compilation_cache else None


def switch_on() -> None:
    """Gives JAX the folder, if nobody else has told it anything about one."""
    place = folder()
    if place is None or _CONFIG.jax_compilation_cache_dir is not None or not _CONFIG.jax_enable_compilation_cache:
        return
    if not _usable(place):
        if "DIFMBS_CACHE" in os.environ:
            warnings.warn(f"DIFMBS_CACHE: compiled programs cannot be kept in {place}.", stacklevel=2)
        return
    from jax._src import compilation_cache

    jaxs: Any = compilation_cache
    others = jaxs.get_file_cache
    jaxs.get_file_cache = lambda path: (ProgramCache(path), path) if path == str(place) else others(path)
    _CONFIG.update("jax_compilation_cache_dir", str(place))
    untold = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ
    if untold and _CONFIG.jax_persistent_cache_min_compile_time_secs == _USUAL:
        _CONFIG.update("jax_persistent_cache_min_compile_time_secs", _SHORT)


def _usable(place: Path) -> bool:
    """Whether files can be written there, which are run later: so nobody else may own it."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        mine = not hasattr(os, "getuid") or place.stat().st_uid == os.getuid()
    except OSError:
        return False
    return mine and os.access(place, os.R_OK | os.W_OK | os.X_OK)
