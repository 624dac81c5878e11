"""Fits against Exudyn with scipy's least squares, one JSON line each.

`python tests/benchmarks/identify.py` measures all of it, `python tests/benchmarks/identify.py "10 masses" 50` the
rows with one of these words in their names. Everything on one thread. A cold fit is a process of its own, from the
start of the interpreter to its end; a warm one is repeated in a process that has made it once. The longer the record,
the less does it matter that the first fit compiles its program.
"""

import json
import os
import subprocess
import sys
from typing import Any

# Also the libraries of linear algebra that numpy, scipy and jaxlib bring along.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np

MASS, LENGTH, STIFFNESS, DAMPING, GRAVITY = 1.6, 1.0, 4000.0, 8.0, 9.81
DT, EVERY = 1e-3, 0.02
NOISE = 1e-4
LIMITS = {10: ("cold >= 3", "warm >= 15"), 50: ("cold >= 8", "warm >= 15")}


class Chain:
    """n masses that hang on springs and dampers below each other and swing: the numbers both programs use."""

    def __init__(self, n: int, seconds: int):
        rng = np.random.default_rng(0)
        self.n = n
        self.times = np.linspace(0, seconds, round(seconds / EVERY) + 1)
        self.stiffness = STIFFNESS * (1 + 0.3 * rng.uniform(-1, 1, n))
        self.damping = DAMPING * (1 + 0.3 * rng.uniform(-1, 1, n))
        self.truth = np.concatenate([self.stiffness, self.damping])
        self.start = np.concatenate([np.full(n, 0.9 * STIFFNESS), np.full(n, 0.8 * DAMPING)])
        # At rest with springs of the usual stiffness, then struck.
        stretch = MASS * GRAVITY * np.arange(n, 0, -1) / STIFFNESS
        self.position = np.stack([np.zeros(n), -np.cumsum(LENGTH + stretch)], axis=1)
        self.velocity = rng.normal(size=(n, 2))


def ours(chain: Chain) -> Any:
    import difmbs as mbs

    n = chain.n
    model = mbs.Model(gravity=(0, -GRAVITY, 0))
    masses = model.add("mass", mbs.MassPoint2D(np.full(n, MASS)), position=chain.position, velocity=chain.velocity)
    springs = mbs.SpringDamper(np.full(n, LENGTH), chain.stiffness, chain.damping)
    model.add("spring", springs, between=([model.ground, masses[:-1]], masses))
    model.sense("place", lambda t, outputs: outputs["mass.position"][:, :2])
    return model.assemble()


def our_fit(chain: Chain, system: Any, data: np.ndarray) -> Any:
    import difmbs as mbs

    experiment = mbs.Experiment(
        chain.times, {"place": data.reshape(-1, chain.n, 2)}, {"place": mbs.Channel(noise=NOISE)}
    )
    stiffness, damping = np.split(chain.start, 2)
    unknowns = {"spring.stiffness": mbs.Positive(stiffness), "spring.damping": mbs.Positive(damping)}
    return mbs.identify(system, experiment, unknowns, dt=DT, progress=False)


class Peer:
    """The chain in Exudyn: the same elements, the same steps, without what the problem does not need."""

    def __init__(self, chain: Chain):
        import exudyn
        from exudyn import itemInterface

        self._chain = chain
        self._container = exudyn.SystemContainer()
        system = self._system = self._container.AddSystem()
        ground = system.AddObject(itemInterface.ObjectGround())
        end = system.AddMarker(itemInterface.MarkerBodyPosition(bodyNumber=ground))
        self._springs = []
        for place, speed in zip(chain.position.tolist(), chain.velocity.tolist(), strict=True):
            node = system.AddNode(itemInterface.NodePoint2D(referenceCoordinates=place, initialVelocities=speed))
            system.AddObject(itemInterface.MassPoint2D(nodeNumber=node, physicsMass=MASS))
            marker = system.AddMarker(itemInterface.MarkerNodePosition(nodeNumber=node))
            spring = itemInterface.ObjectConnectorSpringDamper(markerNumbers=[end, marker], referenceLength=LENGTH)
            self._springs.append(system.AddObject(spring))
            system.AddLoad(itemInterface.Force(markerNumber=marker, loadVector=[0, -MASS * GRAVITY, 0]))
            end = marker
        read = lambda mbs, t, numbers, factors, configuration: mbs.systemData.GetODE2Coordinates()
        sensor = itemInterface.SensorUserFunction(sensorUserFunction=read, storeInternal=True)
        self._sensor = system.AddSensor(sensor)
        system.Assemble()
        settings = self._settings = exudyn.SimulationSettings()
        settings.linearSolver.solverType = exudyn.LinearSolverType.EXUdense
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = EVERY
        integration = settings.timeIntegration
        integration.endTime = float(chain.times[-1])
        integration.numberOfSteps = round(chain.times[-1] / DT)
        integration.automaticStepSize = False
        integration.adaptiveStep = False
        integration.verboseMode = 0
        integration.explicit.computeEndOfStepAccelerations = False
        integration.explicit.computeMassMatrixInversePerBody = True
        integration.explicit.useLieGroupIntegration = False
        self._solver = exudyn.DynamicSolverType.RK44

    def places(self, values: np.ndarray) -> np.ndarray:
        n = self._chain.n
        for i, spring in enumerate(self._springs):
            self._system.SetObjectParameter(spring, "stiffness", values[i])
            self._system.SetObjectParameter(spring, "damping", values[n + i])
        self._system.SolveDynamic(self._settings, solverType=self._solver)
        stored = np.asarray(self._system.GetSensorStoredData(self._sensor))[:, 1:]
        return stored.reshape(-1, n, 2) + self._chain.position

    def fit(self, data: np.ndarray) -> Any:
        from scipy.optimize import least_squares

        # Of logarithms, as in difmbs: dampers with negative damping are refused by Exudyn.
        residuals = lambda logarithms: ((self.places(np.exp(logarithms)) - data) / NOISE).ravel()
        found = least_squares(residuals, np.log(self._chain.start), jac="2-point", xtol=1e-8, ftol=1e-8, gtol=1e-8)
        return np.exp(found.x), found.nfev, 2 * found.cost


def measured(chain: Chain) -> np.ndarray:
    """By neither of the two, but by the same classic Runge-Kutta steps."""
    end = lambda x: np.concatenate([np.zeros((1, 2)), x[:-1]])

    def force(x, v):
        between, rate = x - end(x), v - end(v)
        length = np.linalg.norm(between, axis=1, keepdims=True)
        stretch = chain.stiffness[:, None] * (length - LENGTH)
        damped = chain.damping[:, None] * np.sum(between * rate, axis=1, keepdims=True) / length
        pull = (stretch + damped) * between / length
        return (np.concatenate([pull[1:], np.zeros((1, 2))]) - pull) / MASS - [0, GRAVITY]

    x, v, rows, every = chain.position, chain.velocity, [], round(EVERY / DT)
    for k in range(round(chain.times[-1] / DT) + 1):
        if k % every == 0:
            rows.append(x)
        a1 = force(x, v)
        a2 = force(x + DT / 2 * v, v + DT / 2 * a1)
        a3 = force(x + DT / 2 * v + DT**2 / 4 * a1, v + DT / 2 * a2)
        a4 = force(x + DT * v + DT**2 / 2 * a2, v + DT * a3)
        x, v = x + DT * v + DT**2 / 6 * (a1 + a2 + a3), v + DT / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return np.array(rows) + NOISE * np.random.default_rng(1).normal(size=(chain.times.size, chain.n, 2))


def one(program: str, n: int, seconds: int, repeats: int) -> None:
    """In a process of its own: fits, and says what was found and how long the repeated ones took."""
    chain = Chain(n, seconds)
    data = measured(chain)
    if program == "ours":
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)
        system = ours(chain)
        fits = [our_fit(chain, system, data)]
        warm = [_seconds(lambda: fits.append(our_fit(chain, system, data))) for _ in range(repeats)]
        found, evaluations, cost = fits[-1].numbers, fits[-1].evaluations, fits[-1].chi2
        deviations = list(fits[-1].standard_errors.values())
    else:
        peer = Peer(chain)
        fits = []
        warm = [_seconds(lambda: fits.append(peer.fit(data))) for _ in range(repeats or 1)]
        found, evaluations, cost = fits[-1]
        deviations = []
    told = dict(found=found.tolist(), deviations=deviations, evaluations=evaluations, cost=cost, warm=warm)
    print(json.dumps(told))


def _seconds(task: Any) -> float:
    begun = time.perf_counter()
    task()
    return time.perf_counter() - begun


def in_process(program: str, *numbers: int) -> tuple[float, Any]:
    begun = time.perf_counter()
    command = [sys.executable, __file__, "one", program, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - begun, json.loads(done.stdout.splitlines()[-1])


def against_exudyn(row: str, n: int, seconds: int) -> None:
    from _timing import report

    # Taking turns, so that a noisy neighbour hits both.
    cold, _ = in_process("ours", n, seconds, 0)
    peer_cold, peer = in_process("peer", n, seconds, 0)
    _, mine = in_process("ours", n, seconds, 3)
    report(f"{row}, cold", cold, "s", LIMITS[n][0], peer=peer_cold, ratio=peer_cold / cold)
    warm, peer_warm = min(mine["warm"]), min(peer["warm"])
    report(f"{row}, warm", warm, "s", LIMITS[n][1], peer=peer_warm, ratio=peer_warm / warm)
    apart = np.max(np.abs(np.subtract(mine["found"], peer["found"])) / mine["deviations"])
    report(f"{row}, optimum apart", float(apart), "standard errors", "<= 0.01")
    cost, peer_cost = mine["cost"], peer["cost"]
    report(f"{row}, cost", cost, "chi^2", "<= 1.000001", peer=peer_cost, ratio=cost / peer_cost)
    report(f"{row}, evaluations", mine["evaluations"], "with derivatives", peer=peer["evaluations"])


ROWS = {
    "20 unknowns of 10 masses, 2 s": lambda row: against_exudyn(row, 10, 2),
    "20 unknowns of 10 masses, 4 s": lambda row: against_exudyn(row, 10, 4),
    "20 unknowns of 10 masses, 10 s": lambda row: against_exudyn(row, 10, 10),
    "100 unknowns of 50 masses, 4 s": lambda row: against_exudyn(row, 50, 4),
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        for name, measure in ROWS.items():
            if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
                measure(name)
