"""A bar that shows how far long work is, in terminals and notebooks."""

import sys
from typing import Any


def in_notebook() -> bool:
    """Whether the output goes into a notebook's cell."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def looked_at() -> bool:
    """Whether somebody sees what is printed while work goes on."""
    return sys.stderr.isatty() or in_notebook()


def note_line() -> Any:
    """Of tqdm: a line whose text `set_description_str` replaces."""
    from tqdm import tqdm

    return tqdm(bar_format="{desc}", file=sys.stderr, leave=False)


def progress_bar(total: float, unit: str, begun: float = 0.0) -> Any:
    """Of tqdm: with `update(more)`, `set_postfix_str(text)` and `close()`."""
    from tqdm import tqdm

    said = "{n:.4g}/{total:.4g} " + unit + ", {rate_noinv_fmt}, {elapsed} gone, {remaining} left{postfix}"
    form = "{percentage:3.0f} % |{bar:24}| " + said
    return tqdm(total=total, initial=begun, bar_format=form, unit=f" {unit}", file=sys.stderr, mininterval=0.2)
