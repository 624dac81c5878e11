"""Which of the files it is that difmbs reads."""

from collections.abc import Iterable, Mapping

EXPERIMENTS = ("experiment", "static_test", "modal_test")
"""The kinds of experiments by the names of their tables."""

_TAKEN_BY: Mapping[str, str] = {
    "model": "difmbs simulate and mbs.load take it",
    "fit": "difmbs identify and mbs.load_fit take it",
    "design": "difmbs optimize and mbs.load_design take it",
    "sweep": "difmbs sweep and mbs.load_sweep take it",
    "result": "the model with these values is model.toml beside it",
}
_SHARED = {"schema", "model", "unknown", "simulation", "search"}


def kind_of_keys(keys: Iterable[str]) -> str:
    """ "model", "fit", "design", "sweep" or, of the parameters that were found, "result"; what is none of them is a
    model."""
    found = set(keys)
    if "parameter" in found:
        return "result"
    if found & {"sample", "sweep"}:
        return "sweep"
    if found & {"objective", "limit"} and not found & set(EXPERIMENTS):
        return "design"
    return "fit" if found & {"model", "unknown", *EXPERIMENTS} else "model"


def other_kind(content: Iterable[str], kind: str, keys: Iterable[str]) -> str | None:
    """What to say of a file of another kind than the one that is wanted, with these keys; None if it is not one."""
    given, known = set(content), set(keys)
    found = kind_of_keys(given)
    if found == kind or given <= known | {"schema"} or given & (known - _SHARED):
        return None
    return f"this is a {found} file, and a {kind} file is needed: {_TAKEN_BY[found]}."
