"""What objects show in a cell of a notebook: sound markup, short, with names as text."""

import html.parser
from pathlib import Path

import numpy as np
import pytest

import difmbs as mbs

EXAMPLES = Path(__file__).parents[2] / "examples"
ALONE = {"br", "hr", "img", "meta", "path", "use", "rect", "circle", "clippath"}


class Cell(html.parser.HTMLParser):
    """Refuses tags that are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.rows = [], [], [], 0
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def things():
    model = mbs.Model(gravity=(0, -9.81, 0))
    masses = model.add("masses", mbs.MassPoint(np.ones(40)), position=np.arange(120.0).reshape(40, 3))
    model.add("pull <b> x"[:4], mbs.SpringDamper(1.0, 10.0), between=(model.ground, masses[0]))
    system = model.assemble()
    solution = mbs.simulate(system, t1=0.1, dt=1e-2)
    fit = mbs.load_fit(EXAMPLES / "drop_test" / "fit.toml").run(progress=False)
    table = mbs.read_table(EXAMPLES / "drop_test" / "drop_test.csv")
    return [model, system, solution, mbs.check(solution), fit, table]


def test_cells_are_short_and_sound(things, tmp_path):
    solution = things[2]
    mbs.save_result(solution, tmp_path / "run.npz")
    for thing in (*things, mbs.load_result(tmp_path / "run.npz")):
        cell = Cell(thing._repr_html_())
        assert "script" not in cell.tags
        assert cell.rows <= 20
        assert len(repr(thing).splitlines()) <= 30
        pictured = not isinstance(thing, (mbs.System, mbs.Table))
        assert ("svg" in cell.tags) == pictured


def test_names_are_text(file):
    hostile = "<script>alert(1)</script>"
    table = mbs.read_table(file(f"t,{hostile}\n0,1\n1,2\n", "t.csv"))
    cell = Cell(table._repr_html_())
    assert "script" not in cell.tags
    assert any(hostile in word for word in cell.words)


def test_what_cannot_be_drawn_has_its_table_still():
    model = mbs.Model()
    model.add("a", mbs.GenericODE1(np.eye(2)), states=(1.0, 2.0))
    assert "svg" not in Cell(model._repr_html_()).tags
    assert "GenericODE1" in model._repr_html_()
