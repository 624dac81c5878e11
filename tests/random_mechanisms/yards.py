"""Several mechanisms side by side in one model, and several sets of numbers for it."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import difmbs as mbs

from . import building, numbers, oracle
from .plans import CONSTRAINTS, Palette, Plan, draw_palette, draw_plan


@dataclasses.dataclass
class Yard:
    """`sets`: complete parameters of the system; `redrawn`: how many sets were not sound and were drawn again."""

    plans: list[Plan]
    system: mbs.System
    sets: list[dict[str, Any]]
    redrawn: int = 0

    @functools.cached_property
    def names(self) -> list[str]:
        """The outputs that are compared: what the oracle computes."""
        params = self.sets[0]
        return [
            name for plan in self.plans for name in oracle.solve(plan, params, 0.0, *self.start(plan, params)).outputs
        ]

    def start(self, plan: Plan, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        return numbers.states(plan, params)

    def split(self, plan: Plan, q: Any, v: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """q and v by body."""
        q, v = np.asarray(q), np.asarray(v)
        bodies = plan.bodies
        return {x: q[self.system.coordinates(x)] for x in bodies}, {x: v[self.system.velocities(x)] for x in bodies}

    @functools.cached_property
    def state(self) -> Any:
        """Accelerations and outputs as a function of (params, t, q, v)."""

        def state(params, t, q, v):
            outputs = mbs.Outputs(self.system.with_params(params), t, q, v)
            return outputs.accelerations()[0], {name: outputs[name] for name in self.names}

        return state

    @functools.cached_property
    def linearized(self) -> Any:
        """The same with its derivative along changes of (params, q, v), as one program."""

        def linearized(params, t, q, v, *changes):
            return jax.jvp(lambda params, q, v: self.state(params, t, q, v), (params, q, v), changes)

        return jax.jit(linearized)

    def evaluated(self, params: dict[str, Any], t: Any, q: Any, v: Any) -> Any:
        """Accelerations and outputs, from the program that has their derivatives: it is compiled anyway."""
        return self.linearized(params, t, q, v, *jax.tree.map(jnp.zeros_like, (params, q, v)))[0]

    @functools.cached_property
    def initial(self) -> Any:
        return jax.jit(lambda params: self.system.with_params(params).initial_state())

    # One vector for all parameters, and whose they are

    @functools.cached_property
    def unravel(self) -> Any:
        return ravel_pytree(self.sets[0])[1]

    def flat(self, params: dict[str, Any]) -> np.ndarray:
        return np.asarray(ravel_pytree(params)[0])

    def owned(self, plan: Plan) -> np.ndarray:
        """The places of a mechanism's parameters in the vector; not those of repeated constraints and of gravity."""
        repeats = {name: c.copies for name, c in plan.connectors.items() if c.copies}
        mine = {*plan.bodies, *plan.connectors} - {*repeats, *repeats.values()}
        marked = {
            name: jax.tree.map(lambda x, n=name: np.full(np.shape(x), float(n in mine)), tree)
            for name, tree in self.sets[0].items()
        }
        return np.flatnonzero(self.flat(marked))

    def direction(self, params: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        """By which each parameter may change: a part of itself; repeated constraints change alike."""

        def change(x):
            x = np.asarray(x)
            return rng.normal(size=x.shape) * np.where(np.abs(x) < 1e-3, 0.1, np.abs(x))

        changes = jax.tree.map(change, params)
        for plan in self.plans:
            for name, connector in plan.connectors.items():
                if connector.copies:
                    changes[name] = changes[connector.copies]
        return self.flat(changes)

    def with_times_held(self, direction: np.ndarray) -> np.ndarray:
        """The same change, but for the times of functions of time."""
        path = lambda keys, x: 0 * x if getattr(keys[-1], "key", "") == "times" else x
        return self.flat(jax.tree_util.tree_map_with_path(path, self.unravel(direction)))

    def motion(self, run: dict[str, Any], times: np.ndarray) -> Any:
        """The motion as a function of the vector of parameters: q, v, multipliers by constraint; and the solution."""

        def motion(x):
            options: dict[str, Any] = dict(t1=numbers.DURATION, saveat=times, throw=False, max_steps=5000)
            solution = mbs.simulate(self.system, params=self.unravel(x), **options, **run)
            forces = {name: solution.multipliers[name] for plan in self.plans for name in plan.constraints}
            return (solution.q, solution.v, forces), solution

        return motion

    def of(self, plan: Plan, moved: Any) -> dict[str, np.ndarray]:
        """What of a motion, or of a change of it, is that of one mechanism."""
        q, v, forces = moved
        at_q = np.concatenate([self.system.coordinates(x) for x in plan.bodies])
        at_v = np.concatenate([self.system.velocities(x) for x in plan.bodies])
        own = np.concatenate([np.zeros(0), *(np.ravel(forces[name]) for name in plan.constraints)])
        return dict(q=np.asarray(q)[:, at_q], v=np.asarray(v)[:, at_v], multipliers=own)

    def of_state(self, plan: Plan, found: Any) -> dict[str, np.ndarray]:
        """The same of a single state."""
        acceleration, outputs = found
        at_v = np.concatenate([self.system.velocities(x) for x in plan.bodies])
        parts: dict[str, list[Any]] = {"multipliers": [], "forces": []}
        for name in self.names:
            if (connector := name.rpartition(".")[0]) in plan.connectors:
                parts["multipliers" if connector in plan.constraints else "forces"].append(np.ravel(outputs[name]))
        joined = {what: np.concatenate([np.zeros(0), *x]) for what, x in parts.items()}
        return dict(acceleration=np.asarray(acceleration)[at_v], **joined)


def part_of(yard: Yard, count: int) -> Yard:
    """The first mechanisms of a yard, in a model of their own."""
    plans = yard.plans[:count]
    mine = {"gravity"}.union(*(set(plan.bodies) | set(plan.connectors) for plan in plans))
    params = [{name: x for name, x in p.items() if name in mine} for p in yard.sets]
    system = building.build(plans, params[0]).assemble(redundant="min_norm")
    return Yard(plans, system, [building.completed(system, p) for p in params])


def draw_yard(number: int, size: int, sets: int) -> Yard:
    """The yard of a number; in every fifth one mechanisms have a constraint given twice."""
    palette, copies = draw_palette(number), number % 5 == 4
    # With redundant constraints multipliers come from a dense matrix of all mechanisms; each field is compiled apart.
    small = copies or "AllPairsGravity" in palette.forces
    last = number * size + (min(size, 8) if small else size)
    plans = [plan_of(seed, palette, copies) for seed in range(number * size, last)]
    drawn, redrawn = [], 0
    for k in range(sets):
        params: dict[str, Any] = {}
        for i, plan in enumerate(plans):
            found, again = numbers.draw_numbers(plan, np.random.default_rng([number, i, 1 + k]), tries=200)
            assert found is not None, f"'{plan.prefix}' was sound once"
            # Of the uniform field there is one.
            params = found | params
            redrawn += again
        drawn.append(params)
    system = building.build(plans, drawn[0]).assemble(redundant="min_norm")
    # Of those left out, what the system measured in the first set is used in all.
    return Yard(plans, system, [building.completed(system, params) for params in drawn], redrawn)


def plan_of(seed: int, palette: Palette, copies: bool = False) -> Plan:
    def sound(plan: Plan) -> bool:
        return numbers.draw_numbers(plan, np.random.default_rng([seed, 99]), tries=5)[0] is not None

    plan = draw_plan(seed, palette, sound, copies)
    # What joins two points that a joint joins too is too short in all numbers.
    while not sound(plan):
        *_, last = plan.forces
        plan = dataclasses.replace(plan, connectors={n: c for n, c in plan.connectors.items() if n != last})
    return plan


def has_copies(plans: list[Plan]) -> bool:
    return any(c.copies for plan in plans for c in plan.connectors.values() if c.kind in CONSTRAINTS)


def normalized(yard: Yard, q: Any) -> Any:
    """Quaternions of length 1."""
    q = np.array(q)
    for plan in yard.plans:
        for name, kind in plan.bodies.items():
            if kind == "RigidBody":
                at = yard.system.coordinates(name)[3:]
                q[at] /= np.linalg.norm(q[at])
    return jnp.asarray(q)
