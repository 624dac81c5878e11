"""What holds for every mechanism. Each check looks at all mechanisms of a yard and notes what does not hold."""

import collections
import dataclasses
import functools
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

import difmbs as mbs

from . import building, moved, numbers, oracle
from .plans import Plan
from .yards import Yard, has_copies, normalized

TIMES = np.linspace(0, numbers.DURATION, 49)
MANY = np.linspace(0, numbers.DURATION, 961)
FEW = np.array([0, 0.37, 0.371, 1.0]) * numbers.DURATION
STEP = numbers.DURATION / 24
SOLVERS: dict[str, dict[str, Any]] = {
    "RungeKutta4": dict(dt=STEP),
    "GeneralizedAlpha": dict(dt=STEP, solver=mbs.GeneralizedAlpha()),
    "Dopri8": dict(dt=2 * STEP, solver=diffrax.Dopri8()),
    "TrapezoidalIndex2": dict(dt=STEP, solver=mbs.TrapezoidalIndex2()),
    # Its equations as exactly as rounding allows, so that differences of values see derivatives.
    "Kvaerno5": dict(dt=2 * STEP, solver=diffrax.Kvaerno5(), rtol=1e-10, atol=1e-12),
    "RungeKutta4, last step cut": dict(dt=numbers.DURATION / 23.3),
    "Heun": dict(dt=STEP / 2, solver=diffrax.Heun()),
    "ImplicitEuler": dict(dt=STEP, solver=diffrax.ImplicitEuler(), rtol=1e-10, atol=1e-12),
}
ITERATED = ("Kvaerno5", "ImplicitEuler")
STEP_ASIDE = 3e-5
"""Of difference quotients, as a share of each parameter."""
ILL = 100.0
"""States near the start where the condition of the constraints is larger are left out."""
FAST = 60.0
"""Motions faster than this [m/s, rad/s] are left out of comparisons of motions."""


@dataclasses.dataclass
class Report:
    """`failures`: sentences; `counts`: how often each check was made, and what was left out by which rule; `largest`:
    the largest share of its bound that each check has used."""

    failures: list[str] = dataclasses.field(default_factory=list)
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    largest: dict[str, float] = dataclasses.field(default_factory=dict)

    def expect(self, check: str, where: str, error: Any, bound: float, said: str = "") -> None:
        error = float(error)
        self.counts[check] += 1
        # Not the other way round: NaN is a failure.
        if not error <= bound:
            self.failures.append(f"{check}: {where}: {error:.3g} > {bound:.3g} {said}".rstrip())
        share = error / bound if bound else 0.0
        self.largest[check] = float(np.fmax(self.largest.get(check, 0.0), share))

    def left_out(self, rule: str, count: int = 1) -> None:
        self.counts[f"left out: {rule}"] += count


def where(plan: Plan, k: int) -> str:
    return f"mechanism {plan.prefix.strip()[1:]}, numbers {k}"


def off(found: Any, expected: Any) -> float:
    """The largest difference; NaN and shapes that differ are infinitely off."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        return np.inf
    return float(np.nan_to_num(np.abs(found - expected), nan=np.inf).max(initial=0))


def size(values: Any) -> float:
    return max((float(np.abs(np.asarray(x)).max(initial=0)) for x in values), default=0.0)


# Single states


def forces_are_those_of_the_oracle(yard: Yard, report: Report, rng: np.random.Generator, near: int = 2) -> None:
    """Accelerations, multipliers and forces at the start, and in states near it at other times."""
    for k, params in enumerate(yard.sets):
        q0, v0 = yard.initial(params)
        states = [(0.0, q0, v0)]
        for _ in range(near):
            q = normalized(yard, q0 + 0.05 * rng.normal(size=q0.shape))
            states.append((float(rng.uniform(0, numbers.DURATION)), q, v0 + 0.5 * rng.normal(size=v0.shape)))
        for i, (t, q, v) in enumerate(states):
            found = yard.evaluated(params, t, q, v)
            for plan in yard.plans:
                _compare(yard, report, plan, params, (t, q, v), found, f"{where(plan, k)}, state {i}")


def _compare(yard: Yard, report: Report, plan: Plan, params: Any, state: Any, found: Any, place: str) -> None:
    t, q, v = state
    of_body = yard.split(plan, q, v)
    condition = oracle.condition(plan, params, t, *of_body)
    if condition > ILL:
        return report.left_out("ill-conditioned state")
    expected = oracle.solve(plan, params, t, *of_body)
    acceleration, outputs = found
    # Rounding times the square of the condition, as of the normal equations, and the range of masses and inertias.
    bound = 1e-11 * condition**2
    largest = 1 + size(expected.acceleration.values())
    for name, a in expected.acceleration.items():
        got = np.asarray(acceleration)[yard.system.velocities(name)]
        report.expect("acceleration", f"{place}, '{name}'", off(got, a) / largest, bound)
    of_constraints = [x for name, x in expected.outputs.items() if name.rpartition(".")[0] in plan.constraints]
    largest = 1 + size(of_constraints)
    for name, x in expected.outputs.items():
        if name.rpartition(".")[0] in plan.constraints:
            report.expect("multiplier", f"{place}, '{name}'", off(outputs[name], x) / largest, bound)
        else:
            report.expect("force", f"{place}, '{name}'", off(outputs[name], x) / (1 + size([x])), 1e-11)


def forces_do_not_depend_on_the_place(yard: Yard, report: Report, rng: np.random.Generator) -> None:
    """Translated, turned about z, or in space where all is spatial, the same accelerations and forces."""
    for way in moved.WAYS:
        for k, params in enumerate(yard.sets):
            motion = moved.draw(way, rng)
            others = {plan.prefix: motion.of(plan, params) for plan in yard.plans}
            joined = params | {"gravity": motion.gravity(params)}
            for other in others.values():
                joined = joined | (other or {})
            before = yard.evaluated(params, 0.1, *yard.initial(params))
            after = yard.evaluated(joined, 0.1, *yard.initial(joined))
            for plan in yard.plans:
                if others[plan.prefix] is None:
                    report.left_out(f"{way}: has a preferred place or direction")
                    continue
                _same(yard, report, way, where(plan, k), plan, params, before, after, motion.R)


def _same(
    yard: Yard, report: Report, check: str, place: str, plan: Plan, params: Any, before: Any, after: Any, R: np.ndarray
) -> None:
    condition = oracle.condition(plan, params, 0.1, *yard.split(plan, *yard.initial(params)))
    bound = 1e-10 * condition**2
    sizes = 1 + size(np.asarray(before[0])[yard.system.velocities(name)] for name in plan.bodies)
    for name, kind in plan.bodies.items():
        old, new = (np.asarray(x[0])[yard.system.velocities(name)] for x in (before, after))
        old = moved.turned_acceleration(kind, old, R)
        report.expect(check, f"{place}, '{name}'", off(new, old) / sizes, bound)
    sizes = 1 + size(before[1][name] for name in yard.names if name.rpartition(".")[0] in plan.connectors)
    for name in yard.names:
        if name.rpartition(".")[0] in plan.connectors:
            old, new = (np.asarray(x[1][name]) for x in (before, after))
            report.expect(check, f"{place}, '{name}'", off(new, moved.turned(old, R)) / sizes, bound)


def forces_do_not_depend_on_units(yard: Yard, report: Report, rng: np.random.Generator) -> None:
    """In units that are powers of two of each other, so that nothing is rounded."""
    scale = moved.Scale(kilogram=2.0**-7, metre=2.0**5, second=2.0**-3)
    for k, params in enumerate(yard.sets):
        scaled = moved.in_units(yard.system, yard.plans, params, scale)
        t = 0.1
        before = yard.evaluated(params, t, *yard.initial(params))
        after = yard.evaluated(scaled, t * scale.second, *yard.initial(scaled))
        for plan in yard.plans:
            factors = moved.factors_of_outputs(plan, scale)
            back = {name: np.asarray(after[1][name]) / factors.get(name, 1.0) for name in after[1]}
            acceleration = np.array(after[0])
            for name, kind in plan.bodies.items():
                acceleration[yard.system.velocities(name)] /= moved.factors_of_accelerations(kind, scale)
            _same(yard, report, "units", where(plan, k), plan, params, before, (acceleration, back), np.eye(3))


def forces_do_not_depend_on_the_order(yard: Yard, report: Report, rng: np.random.Generator) -> None:
    """Elements added in another order, markers a -> b swapped."""
    plans = [moved.swapped_plan(plan) for plan in yard.plans]
    params = [moved.swapped_params(yard.plans, p) for p in yard.sets]
    system = building.build(plans, params[0], order=rng).assemble(redundant="min_norm")
    other = Yard(plans, system, [building.completed(system, p) for p in params])
    for k, (old, new) in enumerate(zip(yard.sets, other.sets, strict=True)):
        before = yard.evaluated(old, 0.1, *yard.initial(old))
        after = other.evaluated(new, 0.1, *other.initial(new))
        for plan in yard.plans:
            back = dict(after[1])
            for name, connector in plan.connectors.items():
                back |= moved.swapped_outputs(name, connector, old[name], after[1])
            acceleration = np.array(before[0])
            for name in plan.bodies:
                acceleration[yard.system.velocities(name)] = np.asarray(after[0])[system.velocities(name)]
            _same(yard, report, "order", where(plan, k), plan, old, before, (acceleration, back), np.eye(3))


def forces_are_the_same_in_single_precision(yard: Yard, report: Report, rng: np.random.Generator) -> None:
    single = lambda tree: jax.tree.map(lambda x: np.asarray(x, np.float32), tree)
    with jax.enable_x64(False):
        system = building.build(yard.plans, yard.sets[0]).assemble(redundant="min_norm")
        other = Yard(yard.plans, system, [single(building.completed(system, p)) for p in yard.sets])
        found = [other.evaluated(p, np.float32(0.1), *other.initial(p)) for p in other.sets]
    for k, (params, after) in enumerate(zip(yard.sets, found, strict=True)):
        before = yard.evaluated(params, 0.1, *yard.initial(params))
        for plan in yard.plans:
            condition = oracle.condition(plan, params, 0.1, *yard.split(plan, *yard.initial(params)))
            old, new = (np.concatenate([np.asarray(x[0])[yard.system.velocities(b)] for b in plan.bodies])
                        for x in (before, after))  # fmt: skip
            # What enters the equations: forces and what they are differences of, in units of acceleration.
            forces = size(before[1][n] for n in yard.names if n.rpartition(".")[0] in plan.connectors)
            scale = 10 + size([old]) + 10 * forces
            assert new.dtype == np.float32
            report.expect("single precision", where(plan, k), off(new, old) / scale, 1e-5 * condition**2)


def forces_have_derivatives(yard: Yard, report: Report, rng: np.random.Generator, reverse: bool = False) -> None:
    """Of accelerations, multipliers and forces along random changes of parameters and of the state."""
    if reverse:
        transposed = lambda p, t, q, v, w: jax.vjp(lambda *x: yard.state(x[0], t, *x[1:]), p, q, v)[1](w)
        back = jax.jit(transposed)
    for k, params in enumerate(yard.sets):
        q, v = yard.initial(params)
        changes = yard.unravel(yard.direction(params, rng)), rng.normal(size=q.shape), rng.normal(size=v.shape)
        value, slope = yard.linearized(params, 0.1, q, v, *changes)
        aside = lambda c: jax.tree.map(lambda x, d: x + c * STEP_ASIDE * d, (params, q, v), changes)  # noqa: B023

        @functools.cache
        def at(c: float) -> Any:
            p, q, v = aside(c)  # noqa: B023
            return yard.evaluated(p, 0.1, q, v)

        for plan in yard.plans:
            of_plan = lambda found: yard.of_state(plan, found)  # noqa: B023
            near = lambda c: of_plan(at(c))  # noqa: B023
            # Where something is strongly curved, once more from nearer.
            _against_quotients(report, plan, where(plan, k), of_plan(value), of_plan(slope), near, (1, 0.1))
        if reverse:
            w = jax.tree.map(lambda y: jnp.asarray(rng.normal(size=y.shape)), value)
            gradient = back(params, 0.1, q, v, w)
            _backwards(report, _all_of(yard, k), gradient, changes, w, slope, 1e-8)
    if not has_copies(yard.plans):
        _no_silent_zeros(yard, report)


def _backwards(report: Report, place: str, gradient: Any, changes: Any, w: Any, slope: Any, bound: float) -> None:
    """w (J d) is (J^T w) d."""
    inner = lambda a, b: [np.asarray(x) * np.asarray(y) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True)]
    ahead, behind = inner(w, slope), inner(gradient, changes)
    scale = sum(np.sum(np.abs(x)) for x in ahead) + 1e-300
    error = abs(sum(np.sum(x) for x in ahead) - sum(np.sum(x) for x in behind)) / scale
    report.expect("forward = reverse", place, error, bound)
    wrong = sum(np.sum(~np.isfinite(x)) for x in jax.tree.leaves(gradient))
    report.expect("finite gradient", place, wrong, 0)


# Motions


@dataclasses.dataclass(frozen=True)
class Moved:
    """A motion with its derivative along a direction; `solution` for `check`."""

    value: Any
    slope: Any
    direction: np.ndarray
    solution: mbs.Solution


def forwards(yard: Yard, solver: str) -> Any:
    """The motion, its derivative along d, and the solution, as one program of (x, d)."""
    motion = yard.motion(SOLVERS[solver], TIMES)
    return jax.jit(lambda x, d: jax.jvp(motion, (x,), (d,), has_aux=True))


def motions(yard: Yard, report: Report, program: Any, rng: np.random.Generator) -> list[Moved | None]:
    """One for each set of numbers; None where it does not count."""
    found: list[Moved | None] = []
    for k, params in enumerate(yard.sets):
        direction = yard.direction(params, rng)
        moved_ = Moved(*_parts(program(yard.flat(params), direction), direction))
        found.append(None)
        if moved_.solution.status == "inconsistent_start" and not _can_be_met(yard, params):
            report.left_out("constraints that cannot be met near the start", len(yard.plans))
        elif moved_.solution.status != "ok":
            report.failures.append(f"status: {moved_.solution.status}, {_all_of(yard, k)}")
        elif size(moved_.solution.v[None]) > FAST:
            report.left_out("fast motion", len(yard.plans))
        else:
            found[-1] = moved_
            report.counts["models moved"] += len(yard.plans)
    return found


def _can_be_met(yard: Yard, params: dict[str, Any]) -> bool:
    """Whether scipy finds positions near the start that meet all constraints. Numbers fit only up to a few millimetres,
    and where two rods are nearly stretched there may be none."""
    system = yard.system.with_params(params)
    q0, v0 = (np.asarray(x) for x in system.initial_state())
    rest = np.zeros_like(v0)
    off = jax.jit(lambda move: system.violations(0.0, system.retract(jnp.asarray(q0), move), jnp.asarray(v0))[0])
    slopes = jax.jit(jax.jacfwd(off))
    found = least_squares(lambda x: np.asarray(off(x)), rest, jac=lambda x: np.asarray(slopes(x)), ftol=None, gtol=None)
    return bool(np.max(np.abs(found.fun), initial=0) < 1e-9)


def _parts(found: Any, direction: np.ndarray) -> tuple[Any, Any, np.ndarray, mbs.Solution]:
    value, slope, solution = found
    return value, slope, direction, solution


def _all_of(yard: Yard, k: int) -> str:
    return f"mechanisms {yard.plans[0].prefix.strip()[1:]} to {yard.plans[-1].prefix.strip()[1:]}, numbers {k}"


def motions_keep_constraints_and_energy(yard: Yard, report: Report, found: list[Moved | None]) -> None:
    """With the default solver, whose steps are as fine as the motion needs them."""
    program = jax.jit(lambda x: yard.motion({}, MANY)(x)[1])
    for k, here in enumerate(found):
        if here is None:
            continue
        solution, place = program(yard.flat(yard.sets[k])), _all_of(yard, k)
        if solution.status != "ok":
            report.failures.append(f"status: {solution.status}, {place}")
            continue
        health = mbs.check(solution)
        largest = max(1.0, np.abs(health.kinetic).max(), np.abs(health.energy - health.energy[0]).max())
        # Steps are right to 1e-8. The work is an integral over the outputs, known to `quadrature`; Simpson's rule is
        # better than that where forces do not jump.
        report.expect("energy", place, health.balance, 1e-6 * largest + health.quadrature)
        extent, speed = 1 + size([solution.q]), 1 + size([solution.v])
        report.expect("positions on constraints", place, health.position, 1e-9 * extent, str(health.worst))
        report.expect("velocities on constraints", place, health.velocity, 1e-8 * speed, str(health.worst))
        report.expect("accelerations on constraints", place, health.acceleration, 1e-8 * speed**2)


def derivatives_are_those_of_differences(
    yard: Yard, report: Report, solver: str, program: Any, found: list[Moved | None]
) -> None:
    """Along random directions by differences of values; of single parameters whether a derivative is silently zero."""
    for k, here in enumerate(found):
        if here is None:
            continue
        x, nothing = yard.flat(yard.sets[k]), np.zeros_like(here.direction)
        around = functools.cache(lambda c: program(x + c * STEP_ASIDE * here.direction, nothing)[0])  # noqa: B023
        for plan in yard.plans:
            near = lambda c: yard.of(plan, around(c))  # noqa: B023
            place, both = f"{solver}, {where(plan, k)}", [yard.of(plan, x) for x in (here.value, here.slope)]
            # Motions that magnify every change are quotients of their own from nearer only.
            _against_quotients(report, plan, place, *both, near, (1, 0.1))
    live = [k for k, here in enumerate(found) if here is not None]
    if live and not has_copies(yard.plans):
        x, owned = yard.flat(yard.sets[live[0]]), [yard.owned(plan) for plan in yard.plans]
        _look_for_silent_zeros(yard, report, solver, x, owned, lambda *x: program(*x)[:2], yard.of)


def backwards_is_forwards(
    yard: Yard, report: Report, solver: str, found: list[Moved | None], rng: np.random.Generator
) -> None:
    motion = yard.motion(SOLVERS[solver], TIMES)
    back = jax.jit(lambda x, w: jax.vjp(lambda x: motion(x)[0], x)[1](w)[0])
    for k, here in enumerate(found):
        if here is None:
            continue
        w = jax.tree.map(lambda y: jnp.asarray(rng.normal(size=y.shape)), here.value)
        gradient = back(yard.flat(yard.sets[k]), w)
        # Gradients of iterated equations are as exact as these are solved.
        bound = 1e-6 if solver in ITERATED else 1e-8
        _backwards(report, f"{solver}, {_all_of(yard, k)}", gradient, here.direction, w, here.slope, bound)


def _against_quotients(
    report: Report, plan: Plan, place: str, values: Any, slopes: Any, near: Any, steps: tuple[float, ...]
) -> None:
    """Each a dictionary of arrays of one mechanism; `near(c)`: c steps aside; `steps`: how many of them are taken, one
    after the other, until the quotient is known."""
    for what, slope in slopes.items():
        if not slope.size:
            continue
        if not (np.all(np.isfinite(values[what])) and np.all(np.isfinite(slope))):
            report.failures.append(f"finite derivative: {place}, {what}: NaN or infinite")
            continue
        scale = size([slope]) + size([values[what]]) + 1e-3
        for step in steps:
            pairs = ((c, near(c * step)[what], near(-c * step)[what]) for c in (1, 2))
            fine, coarse = ((ahead - behind) / (2 * c * step * STEP_ASIDE) for c, ahead, behind in pairs)
            truncation = off(fine, coarse) / scale
            if truncation < 1e-3:
                break
        if not truncation < 1e-3:
            sharp = any(c.sharp for c in plan.forces.values())
            report.left_out("no difference quotient: a sharp law has a kink there", int(sharp))
            if not sharp:
                report.failures.append(f"quotient: {place}, {what}: {truncation:.3g} between two steps")
            continue
        # Richardson's extrapolation: what is left is of fourth order, far below what the two steps differ by; values
        # of iterated equations are known to 1e-11, and so quotients to 1e-6.
        error = off((4 * fine - coarse) / 3, slope) / scale
        if error > 2e-6 and any(c.kinked for c in plan.forces.values()) and _between(slope, values, near, step, what):
            report.left_out("no difference quotient: the state is on a kink", 1)
            continue
        report.expect("derivative", f"{place}, {what}", error, 2e-6 + 0.1 * truncation)


def _between(slope: Any, values: Any, near: Any, step: float, what: str) -> bool:
    """Whether a derivative lies between those from either side."""
    sides = [(near(c * step)[what] - values[what]) / (c * step * STEP_ASIDE) for c in (1, -1)]
    slack = 1e-4 * (1e-3 + np.abs(sides).max())
    return bool(np.all(slope >= np.min(sides, axis=0) - slack) and np.all(slope <= np.max(sides, axis=0) + slack))


def _no_silent_zeros(yard: Yard, report: Report, set_number: int = 0) -> None:
    """Parameters of which no acceleration or force seems to depend do nothing to values either.

    The first parameter of each mechanism at once, then the second of each, and so on: they do not touch.
    """
    x, owned = yard.flat(yard.sets[set_number]), [yard.owned(plan) for plan in yard.plans]
    start = jax.jit(
        lambda x, d: jax.jvp(lambda x: yard.system.with_params(yard.unravel(x)).initial_state(), (x,), (d,))
    )

    def at(x: np.ndarray, d: np.ndarray) -> Any:
        (q, v), (dq, dv) = start(x, d)
        return yard.linearized(yard.unravel(x), 0.1, q, v, yard.unravel(d), dq, dv)

    _look_for_silent_zeros(yard, report, "states", x, owned, at, yard.of_state)


def _look_for_silent_zeros(
    yard: Yard, report: Report, place: str, x: np.ndarray, owned: list[np.ndarray], forwards: Any, of: Any
) -> None:
    """`forwards(x, d)`: values and their derivative along d; `of(plan, values)`: what of them is one mechanism's."""
    for i in range(max(map(len, owned))):
        d, nothing = np.zeros_like(x), np.zeros_like(x)
        for places in owned:
            d[places[i : i + 1]] = 1
        slope = forwards(x, d)[1]
        pairs = zip(yard.plans, owned, strict=True)
        zero = [plan for plan, places in pairs if i < len(places) and size(of(plan, slope).values()) == 0]
        report.counts["parameters looked at"] += int(d.sum())
        if not zero:
            continue
        up, down = (forwards(x + h * d, nothing)[0] for h in (1e-5, -1e-5))
        for plan in zero:
            more, less = of(plan, up), of(plan, down)
            change = max(off(more[what], less[what]) for what in more)
            # Values of iterated equations move by 1e-11 of the largest without any reason.
            bound = 1e-9 * (1 + size(more.values()))
            report.expect(
                "no silent zero", f"{place}, mechanism {plan.prefix.strip()[1:]}, parameter {i}", change, bound
            )


def solvers_agree(yard: Yard, report: Report, found: list[Moved | None]) -> None:
    """The adaptive motion and its gradient are those of fine fixed steps."""

    def program(run: dict[str, Any]) -> Any:
        motion = yard.motion(run, FEW)
        return jax.jit(lambda x, d: jax.jvp(lambda x: motion(x)[0], (x,), (d,)))

    adaptive, fine = program({}), program(dict(dt=numbers.DURATION / 100, solver=diffrax.Dopri8()))
    for k, here in enumerate(found):
        if here is None:
            continue
        x, d = yard.flat(yard.sets[k]), yard.with_times_held(here.direction)
        both = zip(("adaptive motion", "adaptive gradient"), adaptive(x, d), fine(x, d), strict=True)
        for check, ahead, expected in both:
            for plan in yard.plans:
                if any(c.curves for c in plan.constraints.values()):
                    # Accelerations jump at the points of the function, inside of fixed steps.
                    report.left_out(f"{check}: a prescribed motion")
                    continue
                sharp = any(c.sharp for c in plan.forces.values())
                bound = (3e-4 if sharp else 1e-5) if "gradient" in check else (1e-5 if sharp else 1e-6)
                for what, b in yard.of(plan, expected).items():
                    a = yard.of(plan, ahead)[what]
                    report.expect(check, f"{where(plan, k)}, {what}", off(a, b) / (1 + size([b])), bound)


def batches_are_loops(yard: Yard, report: Report, solver: str, moving: list[Moved | None]) -> None:
    """vmap over the sets gives what one after the other gives, values and derivatives."""
    motion = yard.motion(SOLVERS[solver], FEW)
    both = lambda x: jax.jvp(lambda x: motion(x)[0], (x,), (0.1 * x,))
    x = np.stack([yard.flat(params) for params, found in zip(yard.sets, moving, strict=True) if found is not None])
    if len(x) < 2:
        return
    together, one = jax.jit(jax.vmap(both))(x), jax.jit(both)
    for k, alone in enumerate(map(one, x)):
        here = jax.tree.map(lambda y, k=k: y[k], together)
        for plan in yard.plans:
            for check, a, b in zip(("batch", "batch of derivatives"), here, alone, strict=True):
                for what, e in yard.of(plan, b).items():
                    c = yard.of(plan, a)[what]
                    # Rounding, and iterations that stop in a batch when the last one has converged.
                    report.expect(check, f"{solver}, {where(plan, k)}", off(c, e) / (1 + size([e])), 1e-7)
