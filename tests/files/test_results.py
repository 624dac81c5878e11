"""Results on disk, and whether they belong to a system."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import difmbs as mbs
from difmbs.files.fingerprint import fingerprint

from ..helpers.mutations import mutated


@pytest.fixture(scope="module")
def solution():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint2D(1.0), position=(1, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    model.add("late", mbs.Event(0.15))
    model.sense("tip", mbs.Position(bob))
    return mbs.simulate(model.assemble(), t1=0.2, dt=0.1, saveat=[0.0, 0.1, 0.2])


def test_results_come_back_and_are_the_same_bytes_again(solution, tmp_path):
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    mbs.save_result(solution, first)
    mbs.save_result(solution, second)
    assert first.read_bytes() == second.read_bytes()
    result = mbs.load_result(first)
    assert result.status == "ok"
    assert result.fingerprint == fingerprint(solution.system)
    for name in ("t", "q", "v"):
        np.testing.assert_array_equal(getattr(result, name), getattr(solution, name))
    for name in ("tip", "rod.force"):
        np.testing.assert_array_equal(result[name], solution[name])
    np.testing.assert_allclose(result.events["late"], 0.15)
    assert int(result.stats["steps"]) == int(solution.stats["steps"])
    with pytest.raises(mbs.FileError, match=r"the result has no 'tap'. Did you mean 'tip'"):
        result["tap"]


def test_results_know_the_names_that_solutions_know(tmp_path):
    model = mbs.Model(gravity=(0, -9.81, 0))
    beads = model.add("beads", mbs.MassPoint([1.0, 2.0, 3.0]), position=np.eye(3))
    disc = model.add("disc", mbs.RigidBody2D(1.0, 0.2, center_of_mass=(0.1, 0)), angular_velocity=2.0)
    model.add("pin", mbs.RevoluteJoint2D(), between=(model.ground, disc))
    model.sense("places", mbs.Position(beads))
    solution = mbs.simulate(model.assemble(), t1=0.2, dt=0.1, saveat=[0.0, 0.1, 0.2])
    mbs.save_result(solution, tmp_path / "run.npz")
    result = mbs.load_result(tmp_path / "run.npz")
    assert result.names == ("places", "pin.force", "beads.position", "disc.position", "disc.rotation")
    for name in (*result.names, "places.x", "beads.position.y", "disc.position.x", "pin.force.y"):
        np.testing.assert_allclose(result[name], solution[name], atol=1e-14)
    for name in ("beads", "disc"):
        np.testing.assert_array_equal(result.coordinates[name], solution.system.coordinates(name))
        np.testing.assert_array_equal(result.velocities[name], solution.system.velocities(name))
    # Three numbers of one instance, or one of each of three?
    for name in ("disc.rotation.x", "pin.force.z", "beads.x", "disc.place"):
        with pytest.raises(mbs.FileError, match=f"the result has no '{name}'"):
            result[name]
    assert list(solution) == list(solution.names)
    assert list(dict(solution)) == list(solution.names)
    assert set(result.names) <= set(solution.names)
    assert {"beads.velocity", "disc.angular_velocity", "pin.displacement"} <= set(solution.names)
    assert "beads.rotation" not in solution.names
    shapes = {name: solution[name].shape for name in solution.names}
    assert (shapes["beads.acceleration"], shapes["disc.rotation"]) == ((3, 3, 3), (3,))


TWO_SPRINGS = """schema = 1
[[mass_1d]]
name = "m"
mass = [1, 2]
[[linear_spring_damper]]
name = "soft"
between = [{ body = "m", instance = 0 }, "ground"]
stiffness = 1
reference_length = 1
[[linear_spring_damper]]
name = "tensile"
between = ["m", { body = "ground", at = [5, 0, 0] }]
stiffness = 1
reference_length = 1
type = "tensile"
[[coordinate_load]]
name = "push"
on = { body = "m", instance = 1, coordinate = 0 }
load = { times = [0, 1], values = [0, 1], smooth = true }
[[event]]
name = "cut"
when = 1
switch = { soft = false }
"""


def test_fingerprints_see_every_change_and_are_the_same_in_another_process(file):
    changes = {
        "mass = [1, 2]": "mass = [1, 2.0000000000000004]",
        "instance = 0": "instance = 1",
        "instance = 1": "instance = 0",
        "at = [5, 0, 0]": "at = [5, 0, 1e-300]",
        'type = "tensile"': 'type = "compressive"',
        "smooth = true": "smooth = false",
        "soft = false": "soft = true",
        'name = "push"\n': 'name = "pull"\n',
        'name = "push"': 'active = false\nname = "push"',
    }
    texts = [TWO_SPRINGS, *(TWO_SPRINGS.replace(*change) for change in changes.items())]
    systems = [mbs.load(file(text)).assemble() for text in texts]
    assert len({fingerprint(system) for system in systems}) == len(texts) == len(set(texts))
    code = "import jax; jax.config.update('jax_enable_x64', True); import difmbs as f, sys;"
    code += "print(f.fingerprint(f.load(sys.argv[1]).assemble()))"
    command = [sys.executable, "-c", code, file(TWO_SPRINGS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == fingerprint(systems[0])


def test_bad_results(solution, tmp_path):
    path = tmp_path / "good.npz"
    mbs.save_result(solution, path)
    data = path.read_bytes()

    def with_header(header):
        made = tmp_path / "made.npz"
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("t.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        return made.read_bytes()

    huge = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    np.savez_compressed(tmp_path / "bomb.npz", t=np.zeros(10**6))
    np.savez(tmp_path / "objects.npz", t=np.array([{}], dtype=object))
    np.savez(tmp_path / "newer.npz", schema=2)
    np.savez(tmp_path / "other.npz", x=1)
    bad = {
        "empty": b"", "noise": b"PK\x03\x04 not a file", "cut": data[: len(data) // 2], "huge": with_header(huge),
        "long header": with_header(huge[:-2] + b" " * 20_000 + b"}\n"),
        **{name: (tmp_path / f"{name}.npz").read_bytes() for name in ("bomb", "objects", "newer", "other")},
    }  # fmt: skip
    for content in bad.values():
        path.write_bytes(content)
        with pytest.raises(mbs.FileError, match="is not a result of difmbs, or is damaged"):
            mbs.load_result(path)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=mutated(b""))
def test_changed_results_are_read_or_refused(solution, tmp_path, data):
    path = tmp_path / "result.npz"
    mbs.save_result(solution, path, force=True)
    whole = path.read_bytes()
    at = sum(data) * 37 % len(whole)
    path.write_bytes(whole[:at] + data + whole[at + len(data) :])
    try:
        result = mbs.load_result(path)
    except mbs.FileError:
        return
    np.testing.assert_array_equal(result.q, solution.q)
