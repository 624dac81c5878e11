"""Model files: exact round trips; safe writing."""

import dataclasses
import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import difmbs as mbs
from difmbs.files.element_tables import KINDS
from difmbs.files.model_files import model_text, read_model
from difmbs.files.writing import output_folder, replacing

from ..helpers.same import assert_same
from ..zoo import cases, models
from ..zoo.described import MODEL, everything

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def built(monkeypatch):
    """The models that are assembled from now on."""
    made = []
    assemble = mbs.Model.assemble
    monkeypatch.setattr(mbs.Model, "assemble", lambda self, **options: made.append(self) or assemble(self, **options))
    return made


@pytest.mark.parametrize("make", [models.rods, models.four_bar, models.top, models.andrews], ids=lambda m: m.__name__)
def test_mechanisms_come_back_to_the_last_bit(make, built, tmp_path):
    system = make()
    mbs.save(built[0], tmp_path / "model.toml")
    assert_same(mbs.load(tmp_path / "model.toml").assemble(), system)


@pytest.mark.parametrize("case", [*cases.CONNECTORS, *cases.CONSTRAINTS])
def test_connectors_come_back_to_the_last_bit_and_functions_are_refused(case, built, tmp_path):
    described = {**cases.CONNECTORS, **cases.CONSTRAINTS}[case]
    for pairing in described.pairings[-1:]:
        system = cases.system_of(described.law(), pairing, marker=described.marker)
        path = tmp_path / f"{pairing}.toml"
        if "user" in case or "time" in case or (case.endswith("velocity") and "Vector" not in case):
            with pytest.raises(mbs.FileError, match=r"'link': [a-z_]* is a function, which a file cannot hold"):
                mbs.save(built[-1], path)
            assert not path.exists()
        else:
            mbs.save(built[-1], path)
            assert_same(mbs.load(path).assemble(), system)


def test_everything_comes_back_to_the_last_bit(tmp_path):
    model, path = everything(), tmp_path / "model.toml"
    settings = mbs.SimulationSettings(0.1 + 0.2, dt=1e-3, method="generalized_alpha", spectral_radius=0.9)
    mbs.save(model, path, simulation=settings, redundant="min_norm")
    loaded = read_model(path)
    assert loaded.simulation == settings
    assert loaded.redundant == "min_norm"
    assert_same(loaded.assemble(), model.assemble(redundant="min_norm"))
    assert model_text(loaded.model, settings, "min_norm") == path.read_text()


def test_changed_models_are_changed_systems():
    """By so little that the same constraints are independent."""
    model = everything()
    text, system = model_text(model), model.assemble()
    params = jax.tree.map(lambda x: x * (1 + 1e-9), system.params())
    assert_same(model.with_params(params).assemble(), system.with_params(params))
    assert model_text(model) == text


def test_every_public_element_has_a_table():
    classes = [getattr(mbs, name) for name in mbs.__all__]
    elements = (mbs.AbstractBody, mbs.AbstractForce, mbs.AbstractField, mbs.AbstractConstraint, mbs.Event)
    public = {c for c in classes if isinstance(c, type) and issubclass(c, elements) and "Abstract" not in c.__name__}
    assert set(KINDS.values()) == public
    assert {"mass_point_2d", "mass_1d", "rigid_body_2d", "all_pairs_gravity", "event"} <= set(KINDS)


def test_what_a_file_says(file):
    described = read_model(file(MODEL))
    system = described.assemble()
    params = system.params()
    np.testing.assert_array_equal(params["s1"]["stiffness"], 4000)
    np.testing.assert_array_equal(params["push"]["marker0"], [0.1, 0, 0])
    np.testing.assert_array_equal(params["net"]["marker0"], [[0, 1, 0]])
    solution = mbs.simulate(system, **described.simulation.arguments())
    np.testing.assert_allclose(solution.t, np.arange(6) * 0.1, rtol=1e-14)
    np.testing.assert_array_equal(solution["pull"], solution["s1.force"][:, 0])
    assert solution["pull"][-1] == 0


@pytest.mark.parametrize("save_dt", [0.1, 0.01, 1 / 3])
def test_the_end_is_an_output_if_a_whole_number_of_steps_leads_there(save_dt):
    """Also where their quotient is rounded down, as that of 0.3 and 0.1 is."""
    for count in range(1, 101):
        times = mbs.SimulationSettings(t_end=count * save_dt, save_dt=save_dt).arguments()["saveat"]
        np.testing.assert_allclose(times, np.arange(count + 1) * save_dt, rtol=1e-14)
    assert 0.3 / 0.1 < 3


def test_the_model_of_the_documentation(file):
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    text, *_ = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    described = read_model(file(text))
    assert described.assemble().params()["links"]["reference_length"].shape == (3,)
    keys = [field.name for field in dataclasses.fields(mbs.SimulationSettings)]
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_elements_may_refer_to_later_ones_and_a_byte_order_mark_does_no_harm(file):
    head, *parts = MODEL.split("\n\n")
    turned = "\n\n".join([head, *reversed(parts)])
    assert set(read_model(file("\ufeff" + turned)).assemble().params()) == set(
        mbs.load(file(MODEL)).assemble().params()
    )


def test_what_files_cannot_hold_is_refused_by_name(tmp_path):
    class Own(mbs.AbstractForce):
        @property
        def ports(self):
            return (mbs.Point(),)

        def effort(self, t, config, flow):
            return (config[0],)

        def outputs(self, t, config, flow):
            return {}

    def model():
        made = mbs.Model()
        return made, made.add("bob", mbs.MassPoint(mass=1.0))

    own, bob = model()
    own.add("mine", Own(), on=bob)
    with pytest.raises(
        mbs.FileError,
        match=r"'mine': files know no Own. Take it out .* add it again after mbs.load",
    ):
        mbs.save(own, tmp_path / "own.toml")
    sensed, _ = model()
    sensed.sense("speed", lambda t, outputs: outputs["bob.velocity"][0])
    with pytest.raises(mbs.FileError, match=r"sensor 'speed' is a function, which a file cannot hold. Take it out"):
        mbs.save(sensed, tmp_path / "sensed.toml")

    def traced(x):
        made = mbs.Model()
        made.add("bob", mbs.MassPoint(mass=x))
        with pytest.raises(mbs.FileError, match="'bob': a number is traced by JAX"):
            mbs.save(made, tmp_path / "traced.toml")
        return x

    jax.make_jaxpr(traced)(1.0)
    assert list(tmp_path.iterdir()) == []


# Writing


def test_nothing_is_overwritten_by_accident(tmp_path):
    model = mbs.Model()
    model.add("bob", mbs.MassPoint(mass=1.0))
    path = tmp_path / "model.toml"
    path.write_text("mine")
    with pytest.raises(mbs.FileError, match=r"exists already. Choose another name, or replace it with force") as caught:
        mbs.save(model, path)
    assert caught.value.output
    assert path.read_text() == "mine"
    mbs.save(model, path, force=True)
    assert "bob" in path.read_text()
    for bad, message in {
        tmp_path: "is a folder",
        tmp_path / "no" / "x": "No such file",
        tmp_path / ("x" * 300): "too long",
    }.items():
        with pytest.raises(mbs.FileError, match=message):
            mbs.save(model, bad, force=True)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failing", ["write", "fsync", "replace", "interrupt"])
def test_after_a_failure_the_old_file_is_there_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if failing == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    if failing == "replace":
        monkeypatch.setattr(type(path), "replace", full)

    def write():
        with replacing(path, force=True) as file:
            file.write(b"ne")
            if failing == "interrupt":
                raise KeyboardInterrupt
            if failing == "write":
                full()

    with pytest.raises(KeyboardInterrupt if failing == "interrupt" else mbs.FileError) as caught:
        write()
    assert failing == "interrupt" or "cannot be written: No space left on device" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_leaves_a_thread_alone_ends_between_two_files(tmp_path):
    (tmp_path / "out.bin").write_bytes(b"old")
    code = """
import threading, time
from difmbs.files.writing import end_process, replacing

begun = threading.Event()

def work():
    with replacing("out.bin", force=True) as file:
        begun.set()
        time.sleep(0.2)
        file.write(b"new")
    time.sleep(100)

threading.Thread(target=work, daemon=True).start()
begun.wait()
end_process(7)
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ended.returncode == 7
    assert (tmp_path / "out.bin").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]


def test_folders_for_results(tmp_path):
    def take(path, force=False):
        with output_folder(path, force=force):
            pass

    folder = tmp_path / "a" / "run ü"
    with output_folder(folder) as made:
        (made / "x.csv").write_text("x")
        with pytest.raises(mbs.FileError, match="is being written to by another process"):
            take(folder, force=True)
    with pytest.raises(mbs.FileError, match=r"is not empty. Choose another folder, or replace files with force"):
        take(folder)
    take(folder, force=True)
    with pytest.raises(mbs.FileError, match="cannot be written: File exists"):
        take(folder / "x.csv")
