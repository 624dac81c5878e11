"""Pages about fits and designs: sound markup, true numbers, nothing from outside, the same bytes each time."""

import dataclasses
import functools
import html
import html.parser
import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.image import imread

import difmbs as mbs
from difmbs.core.formatting import measured, short
from difmbs.core.markup import cell
from difmbs.pictures.page import script_hash, viewer_script
from difmbs.plots.inline_svg import Drawing
from difmbs.plots.style import chosen
from difmbs.reports.samples import fitted_samples
from difmbs.reports.time_series import autocorrelation, series
from difmbs.reports.unknowns_section import correlation

from ..helpers.unhooked import mbs as unhooked
from ..zoo.fits import DT, NOISE, TIMES, cantilever, clean, experiment, identify, noisy, three_tests, unknowns

EVIL = "<script>alert('1')</script> & \"x\" $\\frac$ \x07\u202e"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FIT_PARTS = [
    "summary",
    "unknowns",
    "mechanism",
    "data",
    "validation",
    "convergence",
    "correlation",
    "identifiability",
    "gradient",
    "run",
]
DESIGN_PARTS = ["summary", "unknowns", "mechanism", "objectives", "motion", "convergence", "run"]


class Page(html.parser.HTMLParser):
    """Reads a page, and refuses tags that are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.text, self.open, self.tags, self.ids, self.links, self.words = text, [], [], [], [], []
        self.rows, self.scripts = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts.append(data)
        elif "style" not in self.open:
            self.words.append(data)
        if self.open and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def _note(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if "href" in attrs else []
        self.links += re.findall(r"url\(([^)]*)\)", " ".join(filter(None, attrs.values())))

    @property
    def sections(self):
        return re.findall(r'<section id="(\w+)">', self.text)

    @property
    def said(self):
        return " ".join(" ".join(self.words).split())

    def row(self, first):
        """The first row that begins with a word."""
        return next(row for row in self.rows if row and row[0] == first)


def page_of(result, folder, name="page.html"):
    text = mbs.report(result, folder / name).read_text(encoding="utf-8")
    page = Page(text)
    # Each name once, each link to one of them, no address.
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    *scenes, viewer = page.scripts or [""]
    assert page.scripts == [] or (scenes and viewer == viewer_script() and script_hash() in text)
    assert all(re.fullmatch(r"[A-Za-z0-9+/=]+", scene) for scene in scenes)
    rest = functools.reduce(lambda text, script: text.replace(script, ""), page.scripts, text)
    assert not re.search(r"https?:|//\w|xmlns|@import|<image|<!--", rest)
    assert not {"iframe", "img", "link", "metadata"} & set(page.tags)
    return page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def plain():
    """Two runs, of which one is only predicted."""
    held_out = experiment(noisy(1), name="other run", validation=True)
    return identify([experiment(noisy()), held_out], unknowns())


@pytest.fixture(scope="module")
def joint():
    """A static and a modal test with a motion, missing samples and all components of an output."""
    static, modal, motion = three_tests().values()
    exact = motion.data["x"]
    data = np.stack([exact, 0 * exact, 0 * exact], axis=1)
    data += 1e-2 * np.random.default_rng(0).normal(size=data.shape)
    both = mbs.Experiment(
        TIMES,
        {
            "x": exact,
            "outer.position": np.where(np.arange(303).reshape(101, 3) % 7 == 1, np.nan, data),
            "rough": data[:, 0],
        },
        {
            "x": mbs.Channel(noise=1e-4),
            "outer.position": mbs.Channel(noise=1e-2, missing=True),
            "rough": mbs.Channel("outer.position", 0),
        },
        params=motion.params,
        name="motion",
        weight=2.0,
    )
    wanted = {
        "first.stiffness": mbs.Positive(1000.0, prior=(1200.0, 300.0)),
        "second.stiffness": mbs.Positive(500.0),
        "second.damping": mbs.Fixed(2.0),
        "outer.mass": mbs.Positive(1.0),
    }
    return mbs.identify(cantilever(), [static, modal, both], wanted, dt=DT, progress=False)


@pytest.fixture(scope="module")
def design():
    model = mbs.Model()
    mass = model.add("mass", mbs.Mass1D(1.0), position=0.1)
    model.add("spring", mbs.SpringDamper(1.0, 100.0, 1.0), between=(model.ground.at(-1, 0, 0), mass))
    return mbs.optimize(
        model.assemble(),
        [mbs.MeanSquare("mass.position.x"), _effort],
        {"spring.damping": mbs.Interval(1.0, 0.1, 100.0)},
        limits=[
            mbs.Limit(mbs.LargestSize("mass.velocity", 0), upper=0.4),
            mbs.Limit(mbs.Final("mass.position"), lower=-0.2, upper=0.3),
        ],
        t1=5.0,
        dt=0.02,
        progress=False,
    )


def _effort(solution):
    return 1e-6 * solution["spring.force_local"][-1] ** 2


def number(text):
    """What a cell says."""
    text = text.replace("−", "-").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(text.replace("·10", "e").replace("∞", "inf").replace("–", "nan"))


def test_fits_and_designs_show_their_tables(plain, design):
    for found in (plain, design):
        assert repr(found) == str(found)


def test_the_page_of_a_fit_says_what_the_fit_says(plain, folder):
    page = page_of(plain, folder, "plain.html")
    assert page.sections == FIT_PARTS
    assert [link for link in page.links if not link.startswith("#f")][: len(FIT_PARTS)] == [f"#{p}" for p in FIT_PARTS]
    for name in plain.names:
        row, error = page.row(name), plain.standard_errors[name]
        assert number(row[2]) == pytest.approx(plain.values[name], abs=0.06 * error)
        assert number(row[3]) == pytest.approx(error, rel=0.06)
        low, high = map(number, row[4].split(" … "))
        np.testing.assert_allclose([low, high], plain.interval()[name], atol=0.06 * error)
        assert number(row[5]) == plain.start[name]
        # All digits are there, too.
        assert f'title="{plain.values[name]!r}"' in page.text
    assert page.row("spring.stiffness")[1] == "N/m"
    assert "The numbers can be believed" in page.said
    assert "The search converged" in page.said
    assert "other run" in page.said
    assert f"{plain.evaluations} simulations with derivatives" in page.said
    correlation = page.rows[[r[:2] for r in page.rows].index(["unknown", "and"]) + 1]
    i, j = (plain.index(name) for name in correlation[:2])
    assert number(correlation[2]) == pytest.approx(plain.correlation[i, j], rel=1e-3)
    found = next(r for r in page.rows if r[:2] == ["experiment", "u"])
    assert number(found[4]) == pytest.approx(plain.residuals[0].rms, rel=1e-2)
    assert len([r for r in page.rows if len(r) == 7 and r[0].isdigit()]) == len(plain.history)


def test_the_same_fit_gives_the_same_bytes_whatever_the_settings_of_plots(plain, folder):
    import matplotlib

    first = mbs.report(plain, folder / "first.html").read_bytes()
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": False}):
        second = mbs.report(plain, folder / "second.html").read_bytes()
    slower = dataclasses.replace(plain, history=tuple(dataclasses.replace(h, seconds=9.0) for h in plain.history))
    assert first == second == mbs.report(slower, folder / "third.html").read_bytes()
    assert len(first) < 300_000


def test_the_page_of_a_joint_fit_has_each_kind_of_test(joint, folder):
    page = page_of(joint, folder, "joint.html")
    assert "1 static test, 1 modal test and 1 time series" in page.said
    assert "frequency [Hz] measured" in page.said
    rows = page.rows[[r[:1] for r in page.rows].index(["mode"]) :]
    frequencies = rows[1:3]
    np.testing.assert_allclose([number(r[2]) for r in frequencies], joint.predicted[1]["frequency"], rtol=1e-4)
    cases = [r for r in page.rows if len(r) == 5 and r[1] in ("−5", "10")]
    assert len(cases) == 2
    missing = int(np.sum(np.isnan(joint.experiments[2].data["outer.position"])))
    assert f"{missing} of 303 samples are missing or do not count" in page.said
    assert "second.damping was fixed: 2" in page.said
    assert "prior 1200 ± 300" in page.said
    assert "The noise was estimated" in page.said
    assert "No experiment was kept for validation" in page.said
    assert "outer.position y [m]" in page.said
    # Of exact data the residuals are rounding, whatever their pattern is.
    assert "something is missing in the model" not in page.said
    # Not in the deviations that its weight makes of it.
    vector = next(r for r in page.rows if r[:2] == ["motion", "outer.position"])
    assert number(vector[3]) == 1e-2
    assert number(vector[4]) == pytest.approx(joint.residuals[3].rms, rel=1e-2)


def test_hostile_names_stay_text(folder):
    channel = "</style><b>$^"
    records = [
        mbs.Experiment(
            TIMES, {channel: noisy(i)}, {channel: mbs.Channel("u", noise=NOISE)}, name=name, validation=i == 2
        )
        for i, name in enumerate((EVIL, '"><svg onload=x>', "]]>-->"))
    ]
    wanted = {"mass.velocity": mbs.Free(0.9, own=True), "spring.stiffness": mbs.Positive(3900.0)}
    page = page_of(identify(records, wanted), folder, "evil.html")
    assert "<script" not in page.text
    assert "<b>" not in page.text
    assert not re.search(r"<[^>\"]*onload", page.text)
    assert "<script>alert('1')</script>" in page.said
    assert '"><svg onload=x>: mass.velocity' in page.said
    assert "\x07" not in page.text
    assert "\u202e" not in page.text


def test_residuals_are_data_less_fit_in_standard_deviations(plain):
    (samples,) = fitted_samples(plain)
    np.testing.assert_allclose(samples.residuals[:, 0], (noisy() - plain.predicted[0]["u"]) / NOISE, atol=1e-9)
    assert np.abs(samples.residuals).max() > 1


@pytest.mark.parametrize("text", ['"><svg onload=x>', "a & b &lt; c", 'it\'s "so"', "</td><td>"])
def test_texts_and_attributes_come_back_as_they_were(text):
    read = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            read.append((tag, dict(attrs)))

        def handle_data(self, data):
            read.append(data)

    reader = Reader()
    reader.feed(cell(text, full=text))
    reader.close()
    assert read == [("td", {"title": text}), text]


def test_undetermined_unknowns_are_marked(folder):
    fit = identify(experiment(noisy()), unknowns() | {"spring.damping": mbs.Positive(5.0)})
    page = page_of(fit, folder, "undetermined.html")
    assert page.row("spring.stiffness")[3] == "∞"
    assert "not determined by itself" in page.row("spring.stiffness")[7]
    assert "Do not use these numbers yet" in page.said
    assert "spring.stiffness / mass.mass" in page.said
    assert "Fix one of" in page.said
    assert "No two that are known are correlated" in page.said


def test_bounds_noise_of_size_zero_and_no_history(folder):
    fit = identify(experiment(clean(), noise=None), unknowns())
    assert fit.residuals[0].rms < 10
    exact = dataclasses.replace(fit, predicted=({"u": np.array(clean())},), history=())
    page = page_of(exact, folder, "exact.html")
    assert "all residuals are 0" in page.said
    assert "No iteration was recorded" in page.said
    bounded = identify(experiment(), unknowns() | {"mass.mass": mbs.Interval(2.5, 2.0, 4.0)})
    page = page_of(bounded, folder, "bounded.html")
    assert page.row("mass.mass")[3] == "–"
    assert page.row("mass.mass")[-1] == "at its lower bound"
    assert "At a bound ended mass.mass (lower)" in page.said


def test_bad_fits_are_not_praised(plain, folder):
    smaller = experiment(noisy(0, 30 * NOISE), noise=NOISE)
    fit = identify(smaller, unknowns())
    page = page_of(fit, folder, "noisy.html")
    assert "The residuals are larger than the noise that was given" in page.said
    # The console says the same as the page, as its last line, and neither hides how large the errors may be.
    sentence = "Do not use these numbers yet: the residuals are larger than the noise that was given."
    assert str(fit).splitlines()[-1] == fit.verdict.text == sentence
    assert sentence in page.said
    factor = np.sqrt(fit.chi2 / fit.degrees_of_freedom)
    assert fit.error_factor == pytest.approx(factor)
    assert factor == pytest.approx(30, rel=0.2)
    scaled = fit.scaled_standard_errors["spring.stiffness"]
    assert scaled == pytest.approx(factor * fit.standard_errors["spring.stiffness"])
    assert number(page.row("spring.stiffness")[4]) == pytest.approx(scaled, rel=0.06)
    columns = str(fit).splitlines()
    assert columns[0].split()[2:6] == ["+-", "std", "+-", "scaled"]
    assert float(next(line for line in columns if line.startswith("spring.stiffness")).split()[3]) == pytest.approx(
        scaled, rel=1e-2
    )
    assert f"scaled: standard errors times sqrt(chi^2 / degrees of freedom) = {factor:.3g}" in str(fit)
    assert (plain.verdict.level, plain.error_factor, fit.verdict.level) == ("good", 1.0, "bad")
    assert "+- scaled" not in str(plain)
    cut = dataclasses.replace(plain, status="max_iterations")
    assert "The search was cut off" in page_of(cut, folder, "cut.html").said


def test_starts_are_ranked(plain, folder):
    from difmbs.identification.best_start import TriedStarts

    tried = TriedStarts(np.full((2, 3), 2.0), np.stack([plain.numbers, 2 * plain.numbers]), np.array([plain.chi2, 1e5]))
    page = page_of(dataclasses.replace(plain, tried=tried), folder, "tried.html")
    assert "starts" in page.sections
    assert "Only 1 of 2 starts ended at the best optimum" in page.said


def test_the_page_of_a_design_says_what_the_design_says(design, folder):
    page = page_of(design, folder, "design.html")
    assert page.sections == DESIGN_PARTS
    row = page.row("spring.damping")
    assert number(row[2]) == pytest.approx(design.values["spring.damping"], rel=1e-6)
    assert row[1] == "N s/m"
    rows = [r for r in page.rows if r[0] in ("objective", "limit") and len(r) == 6]
    found = [number(r[3]) for r in rows]
    np.testing.assert_allclose(found, [*design.objectives.values(), *design.limits], rtol=1e-5)
    # The first of the history is the start.
    assert sum(number(r[2]) for r in rows[:2]) == pytest.approx(design.history[0].value, rel=1e-5)
    assert rows[2][4:] == ["at most 0.4", "active"]
    # Of the three entries of a vector the one that is nearest to a bound is shown; all of them are drawn.
    assert (rows[3][1], rows[3][5]) == (design.limited[1], "met")
    assert design.limited[1].startswith("Final(mass.position.")
    assert all(f"mass.position.{letter} [m]" in page.said for letter in "xyz")
    assert "This design is an optimum: the search converged and all limits are met." in page.said
    again = mbs.report(design, folder / "again.html").read_bytes()
    assert again == page.text.encode()


def test_what_is_refused(plain, folder):
    with pytest.raises(unhooked.ParameterError, match="report needs what identify or optimize returned, got 'fit'"):
        unhooked.report("fit", folder / "refused.html")
    with pytest.raises(unhooked.ParameterError, match="report needs the path of a file"):
        unhooked.report(plain, 3)
    path = folder / "taken.html"
    path.write_text("mine")
    with pytest.raises(mbs.FileError, match="exists already"):
        mbs.report(plain, path)
    assert path.read_text() == "mine"
    assert mbs.report(plain, str(path), force=True) == path
    assert path.read_text() != "mine"
    with pytest.raises(mbs.FileError, match="cannot be written"):
        mbs.report(plain, folder / "nowhere" / "page.html")


def test_drawn_samples_keep_the_extremes():
    y = np.random.default_rng(0).normal(size=50_000)
    y[7] = np.nan
    kept = chosen(y, 2000)
    assert kept.size <= 2000
    assert np.nanmax(y) == np.nanmax(y[kept])
    assert np.nanmin(y) == np.nanmin(y[kept])
    assert np.array_equal(chosen(y[:100], 2000), np.arange(100))


def test_the_autocorrelation_is_that_of_an_autoregressive_process():
    rng = np.random.default_rng(0)
    x = np.zeros((20_000, 1))
    for i in range(1, len(x)):
        x[i] = 0.8 * x[i - 1] + rng.normal()
    x[100:200] = np.nan
    found, _ = autocorrelation(x)
    # Three standard errors of 20000 samples.
    np.testing.assert_allclose(found[:5], 0.8 ** np.arange(1, 6), atol=0.05)


@pytest.mark.parametrize("count", [20, 50])
def test_many_unknowns_are_summed_up(plain, count):
    factor = np.random.default_rng(0).normal(size=(count, 3))
    names = tuple(f"chain.stiffness[{i}]" for i in range(count))
    setup = dataclasses.replace(plain.setup, unknowns=dataclasses.replace(plain.setup.unknowns, names=names))
    text = correlation(Drawing(), dataclasses.replace(plain, setup=setup, covariance=factor @ factor.T))
    assert len(text) < 300_000
    assert "<image" not in text
    assert ("too large to be drawn" in text) == (count == 50)
    assert "more rows are not shown" in text


def test_long_records_are_thinned_out(plain):
    samples = fitted_samples(plain)[0]
    times = np.linspace(0, 1, 60_000)
    wave = np.sin(30 * times)[:, None]
    off = np.random.default_rng(0).normal(size=wave.shape)
    record = mbs.Experiment(times, {"u": wave[:, 0]}, {"u": mbs.Channel(noise=1.0)})
    long = dataclasses.replace(samples, experiment=record, measured=wave + off, predicted=wave, residuals=off)
    text = series(Drawing(), long, 2000)
    assert "Of 60000 samples about 2000 are drawn" in text
    assert len(text) < 200_000


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (798.7675, 1.84, "798.8"),
        (8.016022, 0.132, "8.02"),
        (-1.23456e-5, 2e-8, "−1.2346·10⁻⁵"),
        (123456.0, 1200.0, "123456"),
        (0.0, 0.1, "0.00"),
        (5.0, np.inf, "5"),
        (5.0, 0.0, "5"),
        (0.01, 7.0, "0.01"),
        (np.nan, 1.0, "–"),
    ],
)
def test_values_have_the_digits_that_they_deserve(value, error, text):
    assert measured(value, error) == text


def test_short_numbers():
    assert [short(x) for x in (np.inf, -np.inf, 0.0, 1e-12, 123456.0)] == ["∞", "−∞", "0", "10⁻¹²", "1.235·10⁵"]


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium to render pages with")
@pytest.mark.parametrize("width", [400, 1300])
def test_a_browser_shows_it(plain, folder, width):
    path, picture = folder / f"shown{width}.html", folder / f"shown{width}.png"
    mbs.report(plain, path)
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"]
    command += [f"--user-data-dir={folder / 'browser'}", f"--window-size={width},3000", f"--screenshot={picture}"]
    done = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr
    assert picture.stat().st_size > 20_000
    pixels = imread(picture)[..., :3]
    assert pixels.shape[1] == width
    assert np.mean(pixels.min(axis=-1) < 0.9) > 0.005
