"""Parametric models that benchmarks share."""

import numpy as np

import difmbs as mbs

MASS, STIFFNESS, DAMPING, LENGTH = 0.3, 50.0, 0.1, 0.1
GRAVITY = (0.0, -9.81, 0.0)


def chain(n: int, *, names: bool = False) -> mbs.System:
    """The system of `chain_model`."""
    return chain_model(n, names=names).assemble()


def chain_model(n: int, *, names: bool = False) -> mbs.Model:
    """n point masses on n spring-dampers in a row from the ground, stretched out along x and let go.

    Bodies "mass" and springs "spring", or with `names` each by its own name: "mass3", "spring3". Sensor "tip".
    """
    model = mbs.Model(gravity=GRAVITY)
    positions = chain_positions(n)
    if names:
        end = model.ground
        for i in range(n):
            mass = model.add(f"mass{i}", mbs.MassPoint(mass=MASS), position=positions[i])
            model.add(f"spring{i}", mbs.SpringDamper(LENGTH, STIFFNESS, DAMPING), between=(end, mass))
            end = mass
    else:
        masses = model.add("mass", mbs.MassPoint(mass=np.full(n, MASS)), position=positions)
        first = [model.ground, masses[:-1]] if n > 1 else model.ground
        model.add("spring", springs(n), between=(first, masses))
        end = masses[n - 1]
    model.sense("tip", mbs.Position(end))
    return model


def chain_positions(n: int) -> np.ndarray:
    return LENGTH * np.arange(1, n + 1)[:, None] * np.array([1.0, 0.0, 0.0])


def springs(n: int) -> mbs.SpringDamper:
    return mbs.SpringDamper(np.full(n, LENGTH), np.full(n, STIFFNESS), np.full(n, DAMPING))


def random_mesh(n: int) -> mbs.System:
    """n spring-dampers between random pairs of n / 4 point masses."""
    rng = np.random.default_rng(0)
    points = n // 4
    model = mbs.Model(gravity=GRAVITY)
    masses = model.add("mass", mbs.MassPoint(mass=np.full(points, MASS)), position=rng.normal(size=(points, 3)))
    first = rng.integers(points, size=n)
    second = (first + rng.integers(1, points, size=n)) % points
    model.add("spring", springs(n), between=(masses[first], masses[second]))
    return model.assemble()


def star_cluster(n: int) -> mbs.System:
    """n point masses that attract each other."""
    rng = np.random.default_rng(0)
    model = mbs.Model()
    stars = model.add("star", mbs.MassPoint(mass=rng.uniform(0.5, 2.0, n)), position=rng.normal(size=(n, 3)))
    model.add("gravity of stars", mbs.AllPairsGravity(1.0, min_distance_regularization=0.01), on=stars)
    return model.assemble()
