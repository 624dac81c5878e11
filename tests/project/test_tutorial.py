"""The tutorial does what it says: its commands print what stands on the page, its files are those of the example."""

from pathlib import Path

import pytest

from ..helpers.pages import blocks, difference, play

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
FOLDER = ROOT / "examples" / "quarter_car"


@pytest.mark.timeout(600)
def test_it_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = [difference(printed, said) for printed, said in play(PAGE.read_text(), str(PAGE))]
    assert len(told) == 7
    assert not [unlike for unlike in told if unlike]


@pytest.mark.parametrize("content", [content for kind, content, _ in blocks(PAGE.read_text()) if kind == "toml"])
def test_files_on_the_page_are_those_of_the_example(content):
    assert [file.name for file in FOLDER.glob("*.toml") if content in file.read_text()]


@pytest.mark.parametrize(
    ("printed", "said", "same"),
    [
        ("k  1.001 +- 0.1", "k 1.002 +- 0.1", True),
        ("k 1.1", "k 1.2", False),
        ("k 1.1 good", "k 1.1 bad", False),
        ("off by 1e-16", "off by 3e-13", True),
        ("7.1 s: search 2.0 s", "9.3 s: search 1.5 s", True),
        ("from 0 to 4 s", "from 0 to 5 s", False),
        ("a\nb", "a", False),
    ],
)
def test_what_counts_as_the_same(printed, said, same):
    assert (difference(printed, said) == "") == same
