"""Animations: pages that work from the disk, and films."""

import time
from pathlib import Path

import jax.numpy as jnp
import matplotlib.image
import numpy as np
import pytest
from PIL import Image

import difmbs as mbs
from difmbs.pictures.scene import scene_of

from ..helpers.browser import Browser, needed
from ..helpers.scenes import scene_in

EXAMPLES = Path(__file__).parents[2] / "examples"
NAME = "a <script>alert(1)</script>"


def swing(angle=0.3, gravity=(0, -9.81, 0)):
    model = mbs.Model(gravity=gravity)
    bar = mbs.RigidBody2D(1.0, 0.1, (0.5, 0.0))
    bar = model.add("bar", bar, angle=angle)
    model.add("hinge", mbs.RevoluteJoint2D(), between=(model.ground, bar))
    model.add("spring", mbs.SpringDamper(0.5, 20.0, 0.1), between=(model.ground.at(1, -1, 0), bar.at(1)))
    model.add("push", mbs.Force((0, 1.0, 0)), on=bar.at(1))
    model.sense("tip", mbs.Position(bar.at(1)))
    return model.assemble()


@pytest.fixture(scope="module")
def motions():
    system = swing()
    other = system.with_params({"spring": {"stiffness": 30.0}})
    return [mbs.simulate(s, t1=2.0, dt=1e-2, saveat=np.linspace(0, 2, 61)) for s in (system, other)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("motions")


@needed()
def test_a_page_works_in_a_browser(motions, folder):
    made = mbs.animate(
        motions, folder / "m.html", labels=["soft", NAME], color_by="force", values=["spring.force_local", "tip"],
        title=NAME,
    )  # fmt: skip
    assert made.frames == 61
    assert made.size == made.path.stat().st_size < 100_000
    first = motions[0]
    scene = scene_of(first.system, *(np.asarray(x) for x in (first.t, first.q, first.v)))
    with Browser() as browser:
        browser.open(made.path)
        browser.until("!!document.querySelector('.difmbs-view')?.viewer")
        view = "document.querySelector('.difmbs-view').viewer"
        # Nothing from elsewhere, nothing wrong, names as text.
        assert (browser.asked, browser.errors) == ([made.path.as_uri()], [])
        assert NAME in browser.run("document.querySelector('.panel').innerText")
        assert browser.run("document.scripts.length") == 1
        # All places, at all times.
        little = 2e-6 * scene.view.size
        for k in range(61):
            places = np.array(browser.run(f"{view}.placed({view}.scene.runs[0].times[{k}])"))
            for i, part in enumerate(scene.parts):
                A, p = scene.placed(part, k)
                np.testing.assert_allclose(places[i], [*A.T.ravel(), *p], atol=little)
        shown = browser.picture()
        (folder / "shown.png").write_bytes(shown)
        pixels = matplotlib.image.imread(folder / "shown.png")[..., :3]
        assert np.sum(np.ptp(pixels, axis=-1) > 0.15) > 2000
        # Play, pause, slider, switches, mouse.
        browser.click(".play")
        browser.until(f"{view}.time > 0.1")
        browser.click(".play")
        stopped = browser.run(f"{view}.time")
        time.sleep(0.2)
        assert browser.run(f"{view}.time") == stopped
        browser.click(".time", 0.5)
        assert browser.run(f"{view}.time") == pytest.approx(1.0, abs=0.05)
        value = browser.run("document.querySelector('.values td').textContent")
        k = int(np.argmin(np.abs(np.asarray(motions[0].t) - browser.run(f"{view}.time"))))
        assert float(value) == pytest.approx(float(motions[0]["spring.force_local"][k]), rel=1e-4)
        browser.click("input[name=names]")
        browser.until("document.querySelector('.labels span:not([hidden])')?.textContent === 'bar'")
        before = browser.picture()
        browser.drag("canvas", 60, 20)
        time.sleep(0.3)
        assert browser.picture() != before
        assert browser.errors == []


def test_long_motions_are_thinned_and_say_so(motions, folder, monkeypatch):
    made = mbs.animate(motions[0], folder / "few.html", frames=10)
    assert (made.frames, made.outputs) == (10, 61)
    assert repr(made).endswith(f"few.html: 10 frames of 61 outputs, {made.size / 1e6:.2f} MB")
    kept = scene_in(made.page)["runs"][0]
    assert kept["times"][[0, -1]].tolist() == [0, 2]
    assert set(kept["times"]) <= set(np.asarray(motions[0].t))
    monkeypatch.setattr("difmbs.reports.animation.LARGEST", made.size - 10)
    assert mbs.animate(motions[0]).frames < 10


def test_films_need_no_browser(motions, folder):
    made = mbs.animate(motions[0], folder / "film.gif", frames=4, seconds=1)
    with Image.open(made.path) as image:
        assert (image.n_frames, made.page) == (4, "")
    shown = dict(color_by="force", values="spring.distance", trails="tip", labels=["a", "b"])
    both = mbs.animate(motions, folder / "both.GIF", frames=3, **shown)
    with Image.open(both.path) as image:
        assert image.n_frames == 3
    with pytest.raises(mbs.ParameterError, match="needs the program ffmpeg"):
        mbs.animate(motions[0], folder / "film.mp4", frames=2)


def test_fits_and_modes_move():
    fit = mbs.load_fit(EXAMPLES / "drop_test" / "fit.toml").run(progress=False)
    record = fit.experiments[0]
    made = mbs.animate(fit)
    run = scene_in(made.page)["runs"][0]
    np.testing.assert_allclose(run["times"], record.times)
    np.testing.assert_allclose(fit.motion().t, record.times)
    (ball,) = [part for part in run["parts"] if part["name"].endswith(", measured")]
    places = run["origins"][:, run["moving"].index(ball["frame"])]
    np.testing.assert_allclose(places[:, 2], record.data["height"], atol=1e-6)
    found = mbs.modes(fit.system)
    page = scene_in(mbs.animate(found).page)
    assert not page["together"]
    assert page["runs"][0]["label"].startswith("mode 0: ")
    axes = found.plot(0)
    assert axes.get_title("left").startswith("mode 0")


def test_shapes_of_ones_own_are_where_the_body_is(motions, file):
    solid = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    for shape in (file(solid, "bar.obj"), [(0, 0), (1, 0), (0.5, 0.2)], mbs.Box(1.0, (1.0, 0.1, 0.1), (0.5, 0, 0))):
        page = scene_in(mbs.animate(motions[0], shapes={"bar": shape}).page)
        (part,) = [p for p in page["runs"][0]["parts"] if p["name"] == "bar"]
        mesh = page["meshes"][part["mesh"]]["points"].reshape(-1, 3)
        placed = mesh @ np.reshape(part["axes"], (3, 3)).T + part["at"]
        np.testing.assert_allclose(placed[:, 0].min(), 0, atol=1e-6)
        np.testing.assert_allclose(placed[:, 0].max(), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("takes a Solution", dict(motion=3)),
        ("takes a Solution", dict(motion=[])),
        ("writes .html, .gif and .mp4", dict(path="x.txt")),
        ("labels: there are 1 motions, got 2 labels", dict(labels=["a", "b"])),
        ("trails takes a list of names", dict(trails=True)),
        ("experiment = 'a' is for fits", dict(experiment="a")),
        ("seconds must be > 0", dict(seconds=-1)),
        ("there is no body 'barr'. Did you mean 'bar'", dict(shapes={"barr": "x.stl"})),
        ("'bar' takes the path", dict(shapes={"bar": 3})),
        ("there is no output 'forze'", dict(color_by="forze")),
        ("there is no output 'spring.forze'", dict(values=["spring.forze"])),
        ("no body or position 'tipp'", dict(trails=["tipp"])),
    ],
)
def test_what_is_refused(motions, said, arguments):
    with pytest.raises(mbs.ParameterError, match=said):
        mbs.animate(**{"motion": motions[0], **arguments})


def test_files_are_not_replaced_by_accident(motions, file):
    path = file("mine", "m.html")
    with pytest.raises(mbs.FileError, match="exists already"):
        mbs.animate(motions[0], path)
    mbs.animate(motions[0], path, force=True)
    assert b"<iframe srcdoc=" in mbs.animate(motions[0])._repr_html_().encode()


def test_what_was_not_reached_is_not_shown(motions):
    solution = motions[0]
    stopped = mbs.Solution(
        *(solution.system, solution.t, solution.q.at[30:].set(jnp.nan), solution.v, solution.code, solution.stats)
    )
    assert mbs.animate(stopped).frames == 30
    nothing = mbs.Solution(*(solution.system, solution.t, solution.q * jnp.nan, solution.v, solution.code, {}))
    with pytest.raises(mbs.ParameterError, match="no output was reached"):
        mbs.animate(nothing)
