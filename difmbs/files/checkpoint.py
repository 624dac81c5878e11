"""What a search or a long simulation has done, on disk, so that it can go on after any stop."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..core.errors import FileError, MismatchError
from ..system.system import System
from .fingerprint import fingerprint
from .writing import replacing

_FORMAT = 2
"""Number of the format, changed with what fingerprints are made of."""


def write_checkpoint(path: str | os.PathLike[str], of: str, rest: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Writes arrays, and in `rest` what is none; `of`: the fingerprint of the search."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**rest, "of": of, "format": _FORMAT})
    with replacing(Path(path), force=True) as file:
        np.savez(file, rest=np.frombuffer(text.encode(), np.uint8), **arrays)


def read_checkpoint(path: str | os.PathLike[str], of: str, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_checkpoint` wrote; refused if it belongs to another search: `what` may have changed, in words."""
    again = "Start again without resume."
    try:
        with np.load(path, allow_pickle=False) as file:
            rest = json.loads(file["rest"].tobytes())
            arrays = {name: file[name] for name in file.files if name != "rest"}
            known, mine = rest.get("format") == _FORMAT, rest["of"] == of
    except FileNotFoundError:
        raise FileError(f"{path} does not exist: there is nothing to resume.") from None
    except Exception as error:  # whatever a damaged archive raises
        raise FileError(f"{path} cannot be read: {type(error).__name__}. {again}") from None
    if not known:
        raise MismatchError(f"{path} was written by another version of difmbs. {again}")
    if not mine:
        raise MismatchError(f"{path} belongs to {what} were changed. {again}")
    return rest, arrays


def fingerprint_of(system: System, arrays: Iterable[Any], words: Iterable[Any]) -> str:
    """Fingerprint of a system, all numbers and all words of a search."""
    digest = hashlib.sha256(fingerprint(system).encode())
    for array in map(np.asarray, jax.tree.leaves(arrays)):
        digest.update(bytes_of(array))
    for word in words:
        digest.update(word if isinstance(word, bytes) else said(word))
    return digest.hexdigest()


def bytes_of(array: Any) -> bytes:
    return f"{array.shape}{array.dtype}".encode() + np.asarray(array).tobytes()


def said(value: Any) -> bytes:
    # What has no better representation shows its address.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).encode()
