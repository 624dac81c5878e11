"""Every mistake in a model file is refused in one sentence that says where it is."""

import pytest

from ..helpers.mutations import assert_read_or_refused
from ..helpers.unhooked import mbs
from ..zoo.described import MODEL

read_model = mbs.read_model


def replaced(old, new):
    assert old in MODEL
    return MODEL.replace(old, new, 1)


BAD = {
    "empty": ("", "the line 'schema = 1' is missing"),
    "schema of text": (replaced("schema = 1", 'schema = "1"'), "schema must be 1, got '1'"),
    "schema 0": (replaced("schema = 1", "schema = 0"), "schema must be 1, got 0"),
    "newer schema": (replaced("schema = 1", "schema = 2"), "schema = 2 is newer than what this difmbs reads"),
    "not TOML": (replaced("mass = 1.6", "mass = "), r"Invalid value [(]at line 6, column 8[)]"),
    "same key twice": (replaced("mass = 1.6", "mass = 1.6\nmass = 2"), r"Cannot overwrite a value [(]at line 7"),
    "not UTF-8": (MODEL.encode() + b"\n# \xff", "line 60 is not UTF-8 text"),
    "nested": ("a = " + "[" * 100_000, "brackets are nested too deeply"),
    "huge integer": (replaced("1.6", "9" * 5000), "4300"),
    "unknown type": (replaced("[[force]]", "[[forc]]"), "there is no 'forc'. Did you mean 'force'"),
    "one bracket": (replaced("[[force]]", "[force]"), r"write 'force' as tables, each under a line \[\[force\]\]"),
    "gravity": (replaced("[0, 0, -9.81]", "[0, -9.81]"), r"'gravity': acceleration must have shape \(3,\), got shape"),
    "gravity of text": (replaced("[0, 0, -9.81]", '"down"'), "'gravity': acceleration must be numbers"),
    "redundant": ("redundant = 1\n" + MODEL, "redundant must be one of warn, min_norm, error, got 1"),
    "unknown key": (replaced("mass = 1.6", "mas = 1.6"), r"mass_point 'm1': there is no 'mas'. Did you mean 'mass'"),
    "initial of load": (replaced("on = {", "position = [0]\non = {"), "force 'push': there is no 'position'"),
    "negative mass": (
        replaced("mass = 1.6", "mass = -1.0"),
        r"'m1': mass = -1.0 must be > 0. \(item 1, line 4\)",
    ),
    "nan": (replaced("mass = 1.6", "mass = nan"), "mass_point 'm1': mass = nan is not finite"),
    "boolean": (replaced("mass = 1.6", "mass = true"), "mass must be numbers of shape \\(\\), got True"),
    "date": (replaced("mass = 1.6", "mass = 1979-05-27"), "mass must be numbers of shape .*date"),
    "table as number": (replaced("mass = 1.6", "mass = {}"), "mass must be numbers, got {}"),
    "shape": (replaced("[0.5, 0, 0]", "[0.5, 0]"), r"position must have shape \(3\), or .*got shape \(2,\)"),
    "ragged": (replaced("[0.5, 0, 0]", "[0.5, [0]]"), "position must be numbers of shape"),
    "no mass": (replaced("mass = 1.6\n", ""), "mass_point 'm1': mass is missing. [(]item 1, line 4[)]"),
    "no name": (replaced('name = "m1"\n', ""), "mass_point: name is missing. [(]item 1, line 4[)]"),
    "name twice": (
        replaced('"beads"', '"m1"'),
        r"there is already an element 'm1'.*[(]item 2, line 15",
    ),
    "name of a number": (replaced('"m1"', "1"), "mass_point 1 is not a valid name"),
    "odd name": (replaced('"m1"', '"a/b"'), "mass_point 'a/b' is not a valid name"),
    "no such body": (
        replaced('"ground", "m1"', '"ground", "m2"'),
        "'s1': there is no body 'm2'. Did you mean",
    ),
    "itself": (replaced('"ground", "m1"', '"m1", "m1"'), "spring_damper 's1' joins 'm1' with itself"),
    "ground only": (replaced('"ground", "m1"', '"ground", "ground"'), "'s1' acts on ground only"),
    "one marker": (replaced('["ground", "m1"]', '"m1"'), "between must be a list of markers, got 'm1'"),
    "three markers": (replaced('"ground", "m1"]', '"ground", "m1", "m1"]'), "needs between=.*got between=3 markers"),
    "numbers as marker": (replaced('"ground", "m1"', '"ground", 1'), "a marker is the name of a body or a table"),
    "key of marker": (
        replaced("at = [0.1, 0]", "att = [0.1, 0]"),
        "a marker has no 'att'. Did you mean 'at'",
    ),
    "two places": (replaced("at = [0.1, 0]", "at = [0, 0], coordinate = 1"), "a marker is at one place"),
    "point of text": (replaced("at = [0.1, 0]", 'at = "tip"'), r"at must be a point \[x, y, z\], or"),
    "point on particle": (
        replaced('{ body = "top", at = [0.1', '{ body = "m1", at = [0.1'),
        "has no points but itself",
    ),
    "no such instance": (replaced("instance = 1", "instance = 3"), "'beads' has instances 0 to 2, got"),
    "half an instance": (replaced("instance = 1", "instance = 0.5"), "instances must be whole numbers, got"),
    "masks": (replaced("[2, 0]", "[true, false, true]"), "instances must be whole numbers, got"),
    "no coordinate": (replaced('"m1", coordinate = 0', '"m1", coordinate = 3'), "'m1' has coordinates 0 to 2, got 3"),
    "coordinates": (replaced('"m1", coordinate = 0', '"m1", coordinates = 1'), "coordinates must be true, got 1"),
    "counts": (replaced("instances = [2, 0]", "instances = [2, 0, 1]"), "'net': the numbers of instances differ"),
    "active": (replaced("active = false", "active = 0"), "'slide': active must be True or False, got 0"),
    "piecewise": (replaced("times = [0, 1]", "times = [1, 0]"), "force 'push': Piecewise: times must be .*ascending"),
    "half a piecewise": (replaced("times = [0, 1], ", ""), "load_vector: times is missing"),
    "no piecewise": (
        replaced("times = [0, 1], values = [[0, 0, 0], [1, 0, 0]], ", ""),
        r"load_vector: a function of time is .*file = .*got",
    ),
    "smooth": (replaced("smooth = true", "smooth = 1"), "load_vector: smooth must be true or false, got 1"),
    "function of time": (
        replaced("when = 0.35", "when = { times = [0, 1], values = [0, 1] }"),
        "when must be numbers",
    ),
    "function": (
        replaced("when = 0.35", 'when = 0.35\njump = "f"'),
        "jump is a function, which a file",
    ),
    "switch": (
        replaced("{ s1 = false }", "{ s2 = false }"),
        "'cut': there is no connector 's2'. Did you mean",
    ),
    "switch number": (
        replaced("{ s1 = false }", "{ s1 = 0 }"),
        "switch must be a dict of connectors and",
    ),
    "quantity": (replaced('"velocity"', '"speed"'), "sensor 'tip': a body has no 'speed'"),
    "component": (replaced('"velocity"', "1"), "sensor 'tip': quantity must be a word, got 1"),
    "sensor of nothing": (
        replaced('of = "s1"', 'of = "s2"'),
        "'pull': there is no element 's2'. Did you",
    ),
    "key of sensor": (replaced('of = "s1"', 'off = "s1"'), "sensor 'pull': there is no 'off'. Did you mean 'of'"),
    "half a sensor": (replaced('of = "s1"\n', ""), "sensor 'pull': of is missing. [(]item 2, line 51[)]"),
    "no table": (replaced("[simulation]", "[[simulation]]"), r"write \[simulation\] as a table"),
    "no end": (replaced("t_end = 0.5", ""), r"\[simulation\]: t_end is missing"),
    "key of simulation": (
        replaced("t_end = 0.5", "t_end = 0.5\ntol = 1"),
        r"\[simulation\]: there is no 'tol'",
    ),
    "end of text": (replaced("t_end = 0.5", 't_end = "1"'), "t_end must be a number, got '1'"),
    "end first": (replaced("t_end = 0.5", "t_end = -1"), "t_end = -1.0 must be after t_start = 0.0"),
    "end nan": (replaced("t_end = 0.5", "t_end = nan"), "t_end = nan is not finite"),
    "outputs": (replaced("save_dt = 0.1", "save_dt = 1e-9"), "save_dt = 1e-09 makes more than 10000000 outputs"),
    "no outputs": (replaced("save_dt = 0.1", "save_dt = 0"), "save_dt = 0.0 must be > 0"),
    "late outputs": (replaced("save_dt = 0.1", "save_times = [0, 1]"), "saveat reaches from 0.0 to 1.0, outside"),
    "both outputs": (
        replaced("save_dt = 0.1", "save_dt = 0.1\nsave_times = [0]"),
        "give save_dt or save_times, not",
    ),
    "method": (
        replaced("t_end", 'method = "rk4"\nt_end'),
        "there is no method 'rk4'. Known: auto",
    ),
    "radius": (
        replaced("t_end", "spectral_radius = 0.5\nt_end"),
        "spectral_radius is for method = 'gen",
    ),
    "large radius": (
        replaced("t_end", 'spectral_radius = 2\nmethod = "generalized_alpha"\nt_end'),
        "must be from 0 to 1",
    ),
    "steps": (replaced("t_end", "max_steps = 1.5\nt_end"), "max_steps must be a whole number from 1 on, got 1.5"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=list(BAD))
def test_bad_models(file, content, message):
    path = file(content)
    with pytest.raises(mbs.FileError, match=f"^{path}:? .*({message})") as caught:
        read_model(path)
    assert len(str(caught.value)) < 1000


def test_a_table_is_called_by_what_it_is(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("t,x\n0,1\n")
    for read, kind in ((mbs.load, "model"), (mbs.load_fit, "fit"), (mbs.load_design, "design")):
        with pytest.raises(mbs.FileError, match=f'run.csv is a table, and a {kind} file is needed.*file = "run.csv"'):
            read(path)


def test_what_is_wrong_with_the_whole_is_said_of_the_file_too(file):
    text = "schema = 1\n[[mass_1d]]\nname = 'm'\nmass = 1\n"
    path = file(text + "[[sensor]]\nname = 'x'\nof = 'm'\nquantity = 'positon.x'")
    with pytest.raises(mbs.FileError, match=r"'x': 'm' has no output 'positon'. Did you .*[(]item 1, line 5[)]"):
        read_model(path).assemble()
    with pytest.raises(mbs.FileError, match="the model has no body"):
        read_model(file("schema = 1")).assemble()


def test_lines_are_left_out_where_they_are_not_certain(file):
    hidden = MODEL + 'method = """\n[[mass_point]]\n"""\n'
    with pytest.raises(mbs.FileError, match="there is no method"):
        read_model(file(hidden))
    hidden = hidden.replace("mass = 1.6", "mass = -1")
    with pytest.raises(mbs.FileError, match=r"mass = -1.0 must be > 0. [(]item 1[)]"):
        read_model(file(hidden))


@pytest.mark.filterwarnings("ignore:.* is negative")
@pytest.mark.parametrize("examples", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_changed_bytes_are_read_or_refused(file, examples):
    assert_read_or_refused(lambda data: read_model(file(data)), mbs.FileError, examples, MODEL.encode())


def test_only_solutions_are_saved_as_results(tmp_path):
    with pytest.raises(mbs.FileError, match=r"save_result takes a Solution, as simulate returns it, got 3\."):
        mbs.save_result(3, tmp_path / "three.npz")
