"""`simulate`, said as plainly as possible: an executable specification, and the first file for newcomers to read.

The start is brought onto the constraints; a loop in Python goes from step to step; outputs inside of steps are
interpolated and brought back onto them. All is dense, nothing is recorded, and JAX differentiates it as it stands.
"""

import diffrax
import jax
import jax.numpy as jnp

from difmbs.dynamics.projection import VisitedStates
from difmbs.simulation import event_search as events
from difmbs.solvers import newmark
from difmbs.solvers.stages import stage_times

slope = lambda system, q, v, u: jnp.concatenate([system.rate(q, v), u[: v.size]])
# Of redundant constraints, the multipliers with the least sum of squares.
solution = lambda system, A, b: jnp.linalg.pinv(A, rtol=1e-9) @ b if system.redundant else jnp.linalg.solve(A, b)


def plain_run(system, solver, steps, outputs, first=0.0, settles=False):
    """At the outputs q, v, accelerations and multipliers; and the moments of the events by number. `steps`: time, size,
    and the number of the event that a step of size 0 is, else -1; `first`: the size of the first step, 0 if it is not
    known; `settles`: whether Newmark's methods, too, end their steps on both levels."""
    system = system.switched(jnp.asarray(system.structure.switches, bool)) if system.structure.events else system
    q, v = onto_constraints(system, steps[0][0], *system.initial_state(), positions=10, velocities=2)
    state, shown, moments = begin(solver, first, system, steps[0][0], q, v), [], {}
    for t, h, event in steps:
        if event < 0:
            make = newmark_step if isinstance(solver, newmark.AbstractNewmark) else runge_kutta_step
            end, inside, levels = make(solver, settles, system, t, h, *state)
            here = [output for output in outputs[len(shown) :] if output <= t + h * (1 + 1e-9)]
            shown += [show(system, t, h, state, end, inside, levels, output) for output in here]
            state = end
        else:
            system, moments[event], state = happen(solver, first, system, t, state, event)
    return *map(jnp.stack, zip(*shown, strict=True)), moments


def equations(system, t, q, v):
    """M, f, G of M v' + G^T lambda = f, and row by row c, dc/dt, gamma of G v' = gamma, and whether there is no c."""
    levels = system.constraint_levels(t, q, v).values()
    join = lambda of: jnp.concatenate([jnp.zeros(0), *map(of, levels)])
    G = jnp.concatenate([jnp.zeros((0, v.size)), *(level.jacobian for level in levels)])
    c = join(lambda level: 0 * level.velocity if level.position is None else level.position)
    without = join(lambda level: 0 * level.velocity + float(level.position is None)) > 0
    rate, gamma = join(lambda level: level.velocity), join(lambda level: level.acceleration)
    return system.mass_matrix(q), system.applied_forces(t, q, v), G, c, rate, gamma, without


@jax.jit(static_argnames="level")
def solved(system, t, q, v, level="acceleration"):
    """Accelerations and multipliers. On the other levels, instead of accelerations the smallest displacement, or change
    of velocity, that leads back onto the constraints: M x + G^T mu = 0 and G x = -c or -dc/dt."""
    M, forces, G, c, rate, gamma, _ = equations(system, t, q, v)
    right = {"position": (0 * v, -c), "velocity": (0 * v, -rate), "acceleration": (forces, gamma)}[level]
    # Of constraints that are switched off the rows are empty, and the multipliers 0.
    matrix = jnp.block([[M, G.T], [G, jnp.diag(jnp.where(jnp.all(G == 0, axis=1), 1.0, 0.0))]])
    return solution(system, matrix, jnp.concatenate(right))


def onto_constraints(system, t, q, v, positions=1, velocities=1):
    for _ in range(positions if system.constrained else 0):
        q = system.retract(q, solved(system, t, q, v, "position")[: v.size])
    for _ in range(velocities if system.constrained else 0):
        v = v + solved(system, t, q, v, "velocity")[: v.size]
    return q, v


def show(system, t, h, state, end, inside, levels, output):
    """q and v at an output, on the constraints of the levels that the method holds; accelerations and multipliers."""
    q, v = jnp.split(inside(output), [state[0].size])
    q, v = state[:2] if output <= t else end[:2] if output >= t + h * (1 - 1e-9) else (q, v)
    q, v = onto_constraints(system, output, q, v, *levels)
    return q, v, solved(system, output, q, v)


def begin(solver, h, system, t, q, v):
    """The state at the start: q and v. Newmark's add v', (a - v') / h with a of their own, and multipliers."""
    if not isinstance(solver, newmark.AbstractNewmark):
        return q, v
    u = solved(system, t, q, v)
    ahead = newmark.ahead(h)(q, v, u[: v.size])
    q1, v1 = system.retract(q, ahead * v), v + ahead * u[: v.size]
    pairs = (t, t + ahead), (q, q1), (v, v1), (u, solved(system, t + ahead, q1, v1))
    return tuple(newmark.state_of(system, newmark.start(solver, system, h, VisitedStates(*map(jnp.stack, pairs)))))


def runge_kutta_step(solver, _, system, t, h, q, v):
    y, tableau, k, time = jnp.concatenate([q, v]), solver.tableau, [], stage_times(t, h)
    after = lambda weights: y + h * sum(float(w) * x for w, x in zip(weights, k, strict=False))
    for c, a in zip((0.0, *tableau.c), ((), *tableau.a_lower), strict=True):
        q, v = jnp.split(after(a), [q.size])
        k.append(slope(system, q, v, solved(system, time(c), q, v)))
    y1 = after(tableau.b_sol)
    inside = solver.interpolation_cls(t0=t, t1=t + h, y0=y, y1=y1, k=h * jnp.stack(k)).evaluate
    return onto_constraints(system, t + h, *jnp.split(y1, [q.size])), inside, (1, 1)


def newmark_step(solver, settles, system, t, h, *state):
    q1, v1, a1, u = newmark_end((solver, system, t, h, state), jnp.concatenate([state[2], state[4]]))
    levels, x = (settles or not solver.on_velocity, settles or solver.on_velocity), u[: v1.size]
    q1, v1 = onto_constraints(system, t + h, q1, v1) if settles else (q1, v1)
    (y0, k0), (y1, k1) = ((jnp.concatenate(s[:2]), h * slope(system, *s)) for s in (state[:3], (q1, v1, x)))
    inside = diffrax.ThirdOrderHermitePolynomialInterpolation(t0=t, t1=t + h, y0=y0, y1=y1, k0=k0, k1=k1).evaluate
    return (q1, v1, x, (a1 - x) / h, u[x.size :]), inside, levels


@jax.jit
def newmark_end(known, u):
    """At the end of a step q, v, the method's own accelerations, and as u accelerations and multipliers, so that
    M v' - f + G^T lambda = 0 together with the constraints there."""

    def moved(u, known):
        solver, system, _, h, (q, v, before, drift, _) = known
        c, a = solver.coefficients, before + h * drift
        a1 = c.gain * u[: v.size] + (c.alpha_f * before - c.alpha_m * a) / (1 - c.alpha_m)
        displacement = h * v + h**2 * ((0.5 - c.beta) * a + c.beta * a1)
        return system.retract(q, displacement), v + h * ((1 - c.gamma) * a + c.gamma * a1), a1

    def residual(u, known):
        (solver, system, t, h, _), (q, v, _) = known, moved(u, known)
        c, (x, mu) = solver.coefficients, jnp.split(u, [v.size])
        M, f, G, position, rate, _, without = equations(system, t + h, q, v)
        rate, position = rate / (c.gain * c.gamma * h), position / (c.gain * c.beta * h**2)
        rows = jnp.where(without | solver.on_velocity, rate, position) + jnp.where(jnp.all(G == 0, axis=1), mu, 0)
        return jnp.concatenate([M @ x - f + G.T @ mu, rows])

    slopes = lambda u, known: jax.lax.stop_gradient(jax.jacfwd(residual)(u, known))
    better = lambda u, known: u - solution(known[1], slopes(u, known), residual(u, known))
    # Until nothing changes any more; one iteration more, from what was found, has the derivative.
    found, held = jax.tree.map(jax.lax.stop_gradient, (u, known))
    u = better(jax.lax.fori_loop(0, 8, lambda _, u: better(u, held), found), known)
    return *moved(u, known), u


def happen(solver, h, system, t, state, number):
    """The system and the state after an event, and its moment. The moment moves with the event's function, and with it
    the state at a fixed time, because the motion before and after it differ."""
    # Just before, where a force that jumps at this time still has its old value.
    (q, v), before = state[:2], t - 8 * jnp.finfo(float).eps * max(abs(t), 1)
    y = jnp.concatenate([q, v])
    late = -events.values(system, t, y)[number] / events.rates(*jax.lax.stop_gradient((system, before, y)))[number]
    q, v = jnp.split(y + late * slope(system, q, v, solved(system, before, q, v)), [q.size])
    after, jump = system.switched(events.after(system, number)[0]), events.elements(system)[number].jump
    q, v = (q, v) if jump is None else jump(t + late, q, v)
    q, v = onto_constraints(after, t + late, q, v, positions=10, velocities=2)
    back = late * slope(after, q, v, solved(after, t + late, q, v))
    q, v = jnp.split(jnp.concatenate([q, v]) - back, [q.size])
    return after, t + late, begin(solver, h, after, t, q, v)
