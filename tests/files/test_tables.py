"""Tables of numbers: what is read, and what is refused in which words."""

import itertools
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings

import difmbs as mbs
from difmbs.core.units import unit_of
from difmbs.files import tables as _tables
from difmbs.files.reading import beside
from difmbs.files.tables import write_table

from ..helpers.mutations import mutated

GOOD = "t,x\n0,1\n0.1,2\n"


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        't,"x"\n"0","1"\n0.1,"2"\n',
        " t , x\n 0 , 1.\n+.1,2e0\n",
        "\ufeff# Made on Monday, in mm;\r\n#\r\n" + GOOD,
    ],
    ids=["plain", "byte order mark", "carriage returns", "no last end", "empty end", "quotes", "spaces", "comments"],
)
def test_good_tables(file, content):
    table = mbs.read_table(file(content), time="t")
    np.testing.assert_array_equal(table.column("t"), [0, 0.1])
    np.testing.assert_array_equal(table.column("x"), [1, 2])


def test_names_with_commas_and_one_row_without_time(file):
    assert list(mbs.read_table(file('t,"a,b",ü\n1,2,3\n')).columns) == ["t", "a,b", "ü"]


def test_missing_values_are_nan_where_they_are_allowed(file):
    table = mbs.read_table(file("t,x\n0,\n1,NaN\n2, \n3,4\n"), time="t", missing="drop")
    np.testing.assert_array_equal(table.column("x"), [np.nan, np.nan, np.nan, 4])


BAD = {
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "header only": ("t,x\n", "has no numbers, only the names of columns"),
    "one row": ("t,x\n0,1\n", "one row of numbers; a time series needs two"),
    "no header": ("0,1\n1,2\n", r"row 1 has numbers; it must name the columns"),
    "names in a comment": (
        "# t,x\n0,1\n",
        r"row 2 has numbers; it must name the columns.* Names in a line that begins",
    ),
    "only comments": ("# t\n#\n", "is empty"),
    "comment below": ("t,x\n0,1\n# end\n", "row 3 has 1 cells"),
    "text after comments": ("#\n#\nt,x\n0,1\n1,two\n", "row 5, column 'x': 'two' is not a number"),
    "overflow after comments": ("#\nt,x\n0,1\n1,1e400\n", "row 4, column 'x': the number is too large"),
    "time after comments": ("#\nt,x\n1,1\n0,2\n", "row 4: time 0.0 after 1.0"),
    "semicolons": ("t;x\n0;1\n1;2\n", "separated by ';': read it with delimiter = \";\""),
    "tabs": ("t\tx\n0\t1\n", r"separated by '\\t'"),
    "semicolons below": ("t,x\n0;1\n", "row 2 has 1 cells, but there are 2 columns. Separate columns by ','"),
    "decimal commas": ("t,x\n0,0,1,5\n", "row 2 has 4 cells, but there are 2 columns. Write decimal points"),
    "quoted decimal commas": ('t,x\n0,"1,5"\n', "row 2, column 'x': '1,5' is not a number. Write decimal points"),
    "short row": ("t,x,y\n0,1,2\n1,2\n", "row 3 has 2 cells, but there are 3 columns"),
    "long row": ("t,x\n0,1\n1,2,3\n", "row 3 has 3 cells, but there are 2 columns"),
    "empty row": ("t,x\n0,1\n\n1,2\n", "row 3 is empty"),
    "text": ("t,x\n0,1\n1,two\n", "row 3, column 'x': 'two' is not a number"),
    "open quote": ('t,x\n0,"1\n1,2\n', "row 2: a quoted cell or the row does not end properly"),
    "stray quote": ('t,x\n0,"1"2\n', "row 2: a quoted cell"),
    "old carriage returns": ("t,x\r0,1\r1,2\r", "row 1: a quoted cell or the row does not end properly"),
    "nan": ("t,x\n0,nan\n", "row 2, column 'x': nan is not a number. Allow missing values with missing = \"drop\""),
    "empty cell": ("t,x\n0,\n", "row 2, column 'x': the cell is empty. Allow missing"),
    "inf": ("t,x\n0,1\n1,-inf\n", "row 3, column 'x': '-inf' is not a number"),
    "infinity": ("t,x\n0,Infinity\n", "row 2, column 'x': 'Infinity' is not a number"),
    "overflow": ("t,x\n0,1\n1,1e400\n", "row 3, column 'x': the number is too large"),
    "hexadecimal": ("t,x\n0,0x10\n", "'0x10' is not a number"),
    "underscore": ("t,x\n0,1_000\n", "'1_000' is not a number"),
    "other digits": ("t,x\n0,\uff11\n", "'\uff11' is not a number"),
    "time falls": ("t,x\n0,1\n4.06,2\n4.05,3\n", "row 4: time 4.05 after 4.06: times must increase"),
    "time stands": ("t,x\n0,1\n0,2\n", "row 3: time 0.0 after 0.0: times must increase"),
    "no such time": ("s,x\n0,1\n", "there is no column 't'. Known: s, x"),
    "two of a name": ("t,x, x\n0,1,2\n", "there are two columns 'x'"),
    "no name": ("t,,x\n0,1,2\n", "column 2 has no name"),
    "NUL": ("t,x\n0,1\0\n", "row 2 has a NUL character"),
    "not UTF-8": (b"t,x\n0,1\n1,\xff\n", "row 3 is not UTF-8 text.*or read it with encoding, such as .latin-1"),
    "UTF-16": (GOOD.encode("utf-16"), "row 1 is not UTF-8 text.*UTF-16"),
    "title": ("Run 12\nt,x\n0,1\n", "row 2 has 2 cells, but there are 1 columns. With skip = 1 .* t, x are names"),
    "title with commas": ("Run 12, dry\nt,x\n0,1\n", "row 2 has no numbers. .*units_row = true.* skip = 1"),
    "units": ("t,x\ns,mm\n0,1\n", "row 2 has no numbers. A row of units is read with units_row = true"),
    "long line": (b"t,x\n" + b"1" * 1_000_001, "row 2 is longer than 1000000 characters"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=list(BAD))
def test_bad_tables(file, content, message):
    path = file(content)
    with pytest.raises(mbs.FileError, match=f"^{path}.*{message.replace('(', '[(]')}"):
        mbs.read_table(path, time="t")


LOGGER = 'Logger 7;dry\n\nt;way;note °\n[s];(mm);\n0;1,5;-,5e1\n0,1;"2,5";3\n'
"""What a logger made for Germans writes."""
AS_LOGGER = dict(delimiter=";", decimal=",", skip=2, units_row=True, encoding="latin-1")


def test_tables_of_loggers_are_read_where_it_is_said_how(file):
    table = mbs.read_table(file(LOGGER.encode("latin-1")), time="t", **AS_LOGGER)
    np.testing.assert_array_equal(table.column("way"), [1.5, 2.5])
    np.testing.assert_array_equal(table.column("note °"), [-5, 3])
    assert (table.units, table.first) == ({"t": "s", "way": "mm"}, 5)
    tabs = mbs.read_table(file(GOOD.replace(",", "\t")), time="t", delimiter="\t")
    np.testing.assert_array_equal(tabs.column("x"), [1, 2])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (LOGGER.replace("0;1,5", "0;1.5"), {}, "row 5, column 'way': '1.5' is not a number. Leave out decimal"),
        (LOGGER.replace("0,1;", "0,1;7;"), {}, "row 6 has 4 cells, but there are 3 columns"),
        (LOGGER.replace("[s];", ""), {}, "row 4, of the units, has 2 cells"),
        (LOGGER.replace("[s];(mm);\n", ""), {}, "row 4 has numbers, but units_row = true"),
        (LOGGER, {"decimal": "."}, "row 5, column 'way': '1,5' is not a number.*decimal = \",\""),
        (LOGGER, {"skip": 0}, "row 2 is empty"),
        (LOGGER, {"skip": 1}, "row 2 is empty. With skip = 2 the lines above row 3 are left out, and t, way"),
        (LOGGER, {"encoding": "utf-8"}, "row 3 is not UTF-8 text"),
        (LOGGER, {"encoding": "ascii"}, "encoding must be one of 'utf-8', 'latin-1', 'cp1252', got 'ascii'"),
        (LOGGER, {"delimiter": ","}, "columns and decimals cannot both"),
        (LOGGER, {"delimiter": "\t"}, "row 3.*separated by ';'|separated by ';'"),
        (LOGGER, {"delimiter": "x"}, "delimiter must be one of ',', ';', '.t', '|', got 'x'"),
        (LOGGER, {"skip": -1}, "skip must be a number of lines"),
        (LOGGER, {"units_row": False}, "row 4 has no numbers. A row of units"),
        ("a\nb\n", {}, "is empty"),
    ],
)
def test_tables_of_loggers_are_refused_as_strictly(file, content, options, message):
    path, options = file(content.encode("latin-1")), AS_LOGGER | options
    with pytest.raises(mbs.FileError, match=f"^{path}.*{message.replace('(', '[(]')}"):
        mbs.read_table(path, **options)


def test_missing_times_columns_and_options(file):
    with pytest.raises(mbs.FileError, match="row 3: the time is missing"):
        mbs.read_table(file("t,x\n0,1\n,2\n2,3\n"), time="t", missing="drop")
    with pytest.raises(mbs.FileError, match="row 4: the time is missing"):
        mbs.read_table(file("#\nt,x\n0,1\n,2\n2,3\n"), time="t", missing="drop")
    with pytest.raises(mbs.FileError, match="row 3, column 'x': the number is missing"):
        mbs.read_table(file("#\nt,x\n0,\n"), missing="drop").complete_column("x")
    with pytest.raises(mbs.FileError, match=r"no column 'x_m'. Did you mean 'x_mm'\? Known: t, x_mm"):
        mbs.read_table(file("t,x_mm\n0,1\n")).column("x_m")
    with pytest.raises(mbs.FileError, match="missing must be 'refuse' or 'drop', got 'skip'"):
        mbs.read_table(file(GOOD), missing="skip")


def test_tables_that_are_too_long(file, monkeypatch):
    monkeypatch.setattr(_tables, "MOST_ROWS", 2)
    mbs.read_table(file(GOOD))
    with pytest.raises(mbs.FileError, match="has more than 2 rows"):
        mbs.read_table(file(GOOD + "0.2,3\n"))
    monkeypatch.setattr(_tables, "MOST_ROWS", 100)
    monkeypatch.setattr(_tables, "MOST_NUMBERS", 3)
    with pytest.raises(mbs.FileError, match="has more than 3 numbers"):
        mbs.read_table(file(GOOD + "0.2,3\n"))


def test_what_is_not_a_file(tmp_path, file):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    secret = file(GOOD, "secret.csv")
    secret.chmod(0)
    rows = {
        tmp_path: "is a folder",
        tmp_path / "fifo": "is not a regular file",
        "/dev/zero": "is not a regular file",
        tmp_path / "zero": "is not a regular file",
        tmp_path / "loop": "Too many levels of symbolic links",
        tmp_path / "nothing.csv": "No such file",
        tmp_path / ("a" * 300): "File name too long",
        "a\0b": "null",
    }
    if os.geteuid() != 0:
        rows[secret] = "Permission denied"
    for path, message in rows.items():
        with pytest.raises(mbs.FileError, match=message) as caught:
            mbs.read_table(path)
        assert re.match(re.escape(str(path).replace("\0", "\\x00")), str(caught.value).lstrip("'"))


@pytest.mark.parametrize(
    ("number", "unit", "other", "same"),
    [
        (60, "rpm", 1, "rev/s"), (1, "rev/s", 360, "deg/s"), (180, "deg", np.pi, "rad"), (2, "rev", 720, "deg"),
        (180, "deg/s^2", np.pi, "rad/s^2"), (36, "km/h", 10, "m/s"), (1, "mph", 1.609344, "km/h"), (12, "in", 1, "ft"),
        (1, "in", 25.4, "mm"), (1, "h", 60, "min"), (1, "g", 9.80665, "m/s^2"), (1000, "mg", 1, "g"),
        (1, "lbf", 0.45359237 * 9.80665, "N"), (1, "Nm", 1000, "Nmm"), (1, "t", 1000, "kg"), (100, "%", 1, "-"),
    ],
)  # fmt: skip
def test_the_same_in_two_units(number, unit, other, same):
    assert unit_of(unit).si == unit_of(same).si
    assert number * unit_of(unit).factor == pytest.approx(other * unit_of(same).factor, rel=1e-14)


def test_files_beside_a_file(tmp_path):
    (tmp_path / "fit").mkdir()
    fit = tmp_path / "fit" / "fit.toml"
    (tmp_path / "fit" / "out.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert beside(fit, "data/run.csv") == tmp_path / "fit" / "data" / "run.csv"
    for name in ("../run.csv", "/etc/passwd", "data/../../x", "out.csv", "../fit2/run.csv"):
        with pytest.raises(mbs.FileError, match="is outside of the file's folder"):
            beside(fit, name)
        assert beside(fit, name, allow_outside=True) == fit.parent / name
    with pytest.raises(mbs.FileError, match="does not lead to a file"):
        beside(fit, "a\0b")


def test_written_tables_are_read_back_exactly_and_compute_nothing(tmp_path):
    path = tmp_path / "out.csv"
    numbers = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    write_table(path, {"t": np.arange(50.0), "=cmd|' /C calc'!A0": numbers, "a,b": -numbers})
    table = mbs.read_table(path, time="t")
    assert list(table.columns) == ["t", "'=cmd|' /C calc'!A0", "a,b"]
    np.testing.assert_array_equal(table.column("a,b"), -numbers)
    write_table(path, {"#1": np.arange(2.0), "x": np.ones(2)}, force=True)
    assert list(mbs.read_table(path).columns) == ["#1", "x"]


@pytest.mark.parametrize("examples", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_changed_bytes_are_read_or_refused(file, examples):
    @settings(max_examples=examples, deadline=None)
    @given(
        data=mutated(
            GOOD.encode(),
            b't,"x"\r\n0,1\r\n1,2.5e-3\r\n2,3\r\n',
            b"\xef\xbb\xbf#a\nt,x\n0,\n1,nan\n",
            b"t;x\ns;[m]\n0,1;2\n1;\n",
        )
    )
    def read(data):
        path = file(data)
        for missing, how in itertools.product(("refuse", "drop"), ({}, AS_LOGGER | {"skip": 0})):
            try:
                table = mbs.read_table(path, time="t", missing=missing, **how)
            except mbs.FileError:
                continue
            assert missing == "drop" or all(np.all(np.isfinite(x)) for x in table.columns.values())

    read()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("t,x\n0,1\n\n1,2\n", "row 3 is empty."),
        ("t,x\ns,mm\n0,1\n", "row 2 has no numbers. A row of units is read with units_row = true."),
        (
            "A v3\nDate,2026\nSerial,A1\nt,x\n0,1\n",
            "With skip = 3 the lines above row 4 are left out, and t, x are names.",
        ),
        (
            "A v3\n\nt,x\n[s],[mm]\n0,1\n",
            "row 2 is empty. With skip = 2 the lines above row 3 are left out, and t, x are names.",
        ),
    ],
)
def test_lines_above_the_names_are_counted_where_there_are_some(file, content, said):
    with pytest.raises(mbs.FileError) as caught:
        mbs.read_table(file(content))
    assert str(caught.value).endswith(said)
