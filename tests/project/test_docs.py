"""The documentation runs, and names what it documents."""

import dataclasses
import inspect
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

import difmbs
from difmbs.elements.connectors.connector import AbstractConnector

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [page for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))) if page.exists()]
RUN = [page for page in PAGES if page.name != "tutorial.md"]
"""The tutorial is run in a folder of its own, with its commands: test_tutorial."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT))


def concrete_connectors():
    classes = [c for c in (getattr(difmbs, name) for name in difmbs.__all__) if inspect.isclass(c)]
    return [c for c in classes if issubclass(c, AbstractConnector) and not inspect.isabstract(c)]


@pytest.mark.parametrize("page", [p for p in RUN if BLOCK.search(p.read_text())], ids=name_of)
def test_python_blocks_run(page):
    text, namespace = page.read_text(), {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        # The line numbers of a traceback are then those of the page.
        lines_before = text.count("\n", 0, block.start(1))
        exec(compile("\n" * lines_before + block[1], str(page), "exec"), namespace)


@pytest.mark.parametrize("connector", concrete_connectors(), ids=lambda c: c.__name__)
def test_connector_has_a_page_with_its_parameters_and_outputs(connector):
    heading = re.compile(rf"^#.*\b{connector.__name__}\b", re.MULTILINE)
    pages = [p.read_text() for p in (DOCS / "connectors").glob("*.md") if heading.search(p.read_text())]
    assert len(pages) == 1, f"{len(pages)} pages of docs/connectors have a heading with {connector.__name__}"
    documented = inspect.getdoc(connector).partition("**Outputs:**")[2]
    outputs = re.findall(r"`(\w+)`", documented)
    assert outputs, f"the docstring of {connector.__name__} lists no outputs"
    expected = [f.name for f in dataclasses.fields(connector)] + outputs
    missing = [name for name in expected if f"`{name}`" not in pages[0]]
    assert not missing, f"the page of {connector.__name__} lacks {missing}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing


def test_the_reference_has_an_entry_for_every_public_name_and_is_current():
    sys.path.insert(0, str(DOCS))
    try:
        import make_reference
    finally:
        sys.path.remove(str(DOCS))
    text = make_reference.PAGE.read_text()
    assert set(difmbs.__all__) == set(re.findall(r"^### (\w+)$", text, re.MULTILINE))
    assert text == make_reference.page(), "run python docs/make_reference.py"


def test_every_page_is_in_the_index():
    linked = {(DOCS / link).resolve() for link in LINK.findall((DOCS / "index.md").read_text())}
    assert {p.resolve() for p in DOCS.rglob("*.md")} - linked == {(DOCS / "index.md").resolve()}


@pytest.mark.parametrize("figure", sorted(DOCS.rglob("*.svg")), ids=name_of)
def test_figures_stand_alone(figure):
    """Well-formed, and without references to anything outside the file."""
    for element in xml.etree.ElementTree.parse(figure).iter():
        references = [v for k, v in element.attrib.items() if k.rpartition("}")[2] == "href"]
        assert not [r for r in references if not r.startswith("#")]
