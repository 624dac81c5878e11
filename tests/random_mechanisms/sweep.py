"""All checks of a range of yards, in processes of their own."""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

QUICK_TO_COMPILE = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
)
FOR_USERS = 8
"""Every so many-th yard runs with the compiler's options that users have: wrong results have hidden there."""
IN_ONE_PROCESS = 3
SIZE, SETS, MOVING = 50, 5, 8
"""Mechanisms in a yard, sets of numbers for it, and how many of the mechanisms are also moved: to compile motions with
derivatives takes longest."""


def examined(number: int, size: int = SIZE, sets: int = SETS, moving: int = MOVING) -> dict[str, Any]:
    """What was found in a yard. All is looked at in single states, a part moves; the longer checks take turns."""
    import numpy as np

    from . import checks
    from .yards import draw_yard, part_of

    began, rng = time.time(), np.random.default_rng([number, 7])
    # Starts and masses are drawn so that nothing is worth a warning but single precision, once.
    warnings.simplefilter("ignore")
    yard, report = draw_yard(number, size, sets), checks.Report()
    report.counts["models"] = len(yard.plans) * sets
    report.left_out("numbers drawn again", yard.redrawn)
    report.counts.update(f"kind: {kind}" for plan in yard.plans for kind in plan.kinds)
    checks.forces_are_those_of_the_oracle(yard, report, rng)
    checks.forces_do_not_depend_on_the_place(yard, report, rng)
    checks.forces_do_not_depend_on_units(yard, report, rng)
    checks.forces_have_derivatives(yard, report, rng, reverse=number % 4 == 1)
    if number % 4 == 2:
        checks.forces_do_not_depend_on_the_order(yard, report, rng)
    elif number % 4 == 3:
        checks.forces_are_the_same_in_single_precision(yard, report, rng)
    solver = list(checks.SOLVERS)[number % len(checks.SOLVERS)]
    if moving:
        _motions(number, part_of(yard, moving), report, solver, rng)
    return dict(
        yard=number,
        seconds=round(time.time() - began, 1),
        counts=dict(report.counts),
        largest=report.largest,
        failures=report.failures,
        solver=solver,
        topologies=[plan.topology for plan in yard.plans],
    )


def _motions(number: int, yard: Any, report: Any, solver: str, rng: Any) -> None:
    from . import checks

    program = checks.forwards(yard, solver)
    motions = checks.motions(yard, report, program, rng)
    checks.motions_keep_constraints_and_energy(yard, report, motions)
    checks.derivatives_are_those_of_differences(yard, report, solver, program, motions)
    if number % 3 == 0:
        checks.backwards_is_forwards(yard, report, solver, motions, rng)
    elif number % 6 == 1:
        checks.solvers_agree(yard, report, motions)
    elif number % 6 == 4:
        checks.batches_are_loops(yard, report, solver, motions)


def work(numbers: list[int], size: int, sets: int, moving: int) -> None:
    """One line of JSON for each yard."""
    import jax

    jax.config.update("jax_enable_x64", True)
    for number in numbers:
        try:
            found = examined(number, size, sets, moving)
        except Exception as error:
            found = dict(yard=number, counts={}, largest={}, failures=[f"crash: {type(error).__name__}: {error}"])
        print(json.dumps(found), flush=True)
        jax.clear_caches()


def sweep(first: int, last: int, record: Path, size: int = SIZE, sets: int = SETS, moving: int = MOVING) -> int:
    """Examines the yards that the record does not know yet; prints failures, and at the end the counts."""
    known = _read(record)
    began = time.time()
    waiting = [n for n in range(first, last) if n not in known]
    for_users = [n for n in waiting if n % FOR_USERS == FOR_USERS - 1]
    others = [n for n in waiting if n not in for_users]
    while waiting:
        # One kind of process after the other, so that what was stopped early has both.
        here = for_users if len(for_users) * (FOR_USERS - 1) >= max(len(others), 1) else others
        chosen, here[:] = here[:IN_ONE_PROCESS], here[IN_ONE_PROCESS:]
        environment = (
            os.environ | {"DIFMBS_CACHE": "0"} | ({} if here is for_users else {"XLA_FLAGS": QUICK_TO_COMPILE})
        )
        arguments = ["--work", json.dumps([chosen, size, sets, moving])]
        command = [sys.executable, "-m", "tests.random_mechanisms", *arguments]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                with record.open("a") as file:
                    file.write(line)
                found = json.loads(line)
                known[found["yard"]] = found
                _print(found)
                models, failures = found["counts"].get("models", 0), len(found["failures"])
                said = f"{found.get('seconds', 0)} s, {models} models, {failures} failures"
                print(f"yard {found['yard']}: {said}; {time.time() - began:.0f} s in all", file=sys.stderr, flush=True)
        for number in chosen:
            if number not in known:
                print(f"yard {number}: the process ended with code {process.returncode}", flush=True)
        waiting = for_users + others
    total = _total([known[n] for n in range(first, last) if n in known])
    print(json.dumps(total))
    return total["failures"]


def _read(record: Path) -> dict[int, Any]:
    lines = record.read_text().splitlines() if record.exists() else []
    return {found["yard"]: found for found in map(json.loads, lines)}


def _print(found: dict[str, Any]) -> None:
    for sentence in found["failures"]:
        print(f"yard {found['yard']}: {sentence}", flush=True)


def _total(all_found: list[dict[str, Any]]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    largest: dict[str, float] = {}
    for found in all_found:
        for name, n in found["counts"].items():
            counts[name] = counts.get(name, 0) + n
        for name, share in found["largest"].items():
            largest[name] = max(largest.get(name, 0.0), share)
    optimized = sum(f["counts"].get("models", 0) for f in all_found if f["yard"] % FOR_USERS == FOR_USERS - 1)
    return dict(
        yards=len(all_found),
        topologies=len({topology for found in all_found for topology in found.get("topologies", ())}),
        failures=sum(len(found["failures"]) for found in all_found),
        models_with_the_compilers_options_of_users=optimized,
        counts=dict(sorted(counts.items())),
        largest_share_of_bounds={name: round(x, 3) for name, x in sorted(largest.items())},
    )
