"""Writing a page."""

import os
from pathlib import Path
from typing import Any

from ..core.errors import ParameterError
from ..core.markup import document
from ..core.parameters import show
from ..design.design import Design
from ..files.writing import replacing
from ..identification.fit import Fit
from ..pictures.page import SCENE, script_hash, viewer_script, viewer_style
from .design_page import design_page
from .fit_page import fit_page


def report(result: Fit | Design, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Writes a page about a `Fit` or a `Design`: one file for a browser, which needs nothing else.

    **Arguments:** `result`: what `identify` or `optimize` returned; `path` of the file, such as "report.html"; `force`:
    whether a file that exists is replaced. Returns the path.

    It makes a few more simulations: a check of the gradient, or the motions at the start and at the optimum. The same
    result gives the same bytes.
    """
    path = _checked(path)
    if isinstance(result, Fit):
        title, subtitle, sections = fit_page(result)
    elif isinstance(result, Design):
        title, subtitle, sections = design_page(result)
    else:
        raise ParameterError(f"report needs what identify or optimize returned, got {show(result)}.")
    style, script = Path(__file__).with_name("style.css").read_text(encoding="utf-8"), ""
    if any(SCENE in content for *_, content in sections):
        style, script = viewer_style() + style, viewer_script()
    with replacing(path, force=force) as file:
        file.write(document(title, subtitle, style, sections, script, script_hash()).encode())
    return path


def _checked(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise ParameterError(f"report needs the path of a file, such as 'report.html', got {show(path)}.") from None
