"""The gallery is as the script makes it from the examples."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
AGAIN = "run python docs/make_gallery.py"
NEAR = 2.0
"""Points by which texts may be moved by another version of matplotlib."""


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(DOCS))
    try:
        import make_gallery
    finally:
        sys.path.remove(str(DOCS))
    return make_gallery


def test_the_page_is_current(script):
    assert (DOCS / "gallery.md").read_text() == script.page(), AGAIN
    pictures = {path.stem for path in script.FIGURES.iterdir()}
    assert pictures == set(script.names()), AGAIN


def names():
    return sorted(path.stem for path in (DOCS / "figures" / "gallery").glob("*.svg"))


@pytest.mark.parametrize("name", ["pendulum", "quarter_car"])
def test_pictures_are_current(script, name):
    _compare(script, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_all_pictures_are_current(script, name):
    if name == "from_exudyn":
        pytest.importorskip("exudyn")
    _compare(script, name)


def _compare(script, name):
    kept, made = (DOCS / "figures" / "gallery" / f"{name}.svg").read_text(), script.picture(name)
    assert NUMBER.sub("0", kept) == NUMBER.sub("0", made), AGAIN
    numbers = [np.array(NUMBER.findall(text), float) for text in (kept, made)]
    np.testing.assert_allclose(*numbers, atol=NEAR, err_msg=AGAIN)
