"""A model and the Exudyn system that it comes from, run on both sides."""

import dataclasses
from typing import Any

import numpy as np

from ..core.errors import ModelError
from ..core.parameters import show
from ..simulation.simulate import simulate
from ..solvers.newmark import AbstractNewmark, GeneralizedAlpha, TrapezoidalIndex2
from ..solvers.runge_kutta_4 import RungeKutta4
from .exudyn_model import from_exudyn

_LARGE = 200
"""Number of coordinates from which Exudyn's sparse solver is taken."""

_NOTHING = 1e-10
"""Up to this size, values are those of a sensor that shows nothing, and rounding."""


def compare_with_exudyn(mbs: Any, t1: float, dt: float, solver: Any = None) -> dict[str, float]:
    """The largest difference of every sensor between both programs, over the largest value of the sensor.

    Both take the same steps from 0 to t1 with the same method. The Exudyn system is run as it is, its sensors record.

    **Arguments:** `solver`: `GeneralizedAlpha` (default, spectral radius 0.9), `TrapezoidalIndex2` or `RungeKutta4`.
    """
    solver = GeneralizedAlpha(0.9) if solver is None else solver
    if isinstance(solver, AbstractNewmark):
        solver = dataclasses.replace(solver, as_exudyn=True)
    model = from_exudyn(mbs, dt)
    steps = round(t1 / dt)
    if steps < 1 or abs(steps * dt - t1) > 1e-9 * t1:
        raise ModelError(f"t1 = {t1:g} must be a whole number of steps dt = {dt:g}.")
    records = recorded(mbs, t1, steps, solver)
    times = next(iter(records.values()))[:, 0]
    run = simulate(model.assemble(redundant="min_norm"), t1=t1, dt=dt, solver=solver, saveat=times)
    found = {}
    for name, record in records.items():
        ours = np.asarray(run[name]).reshape(len(times), -1)
        theirs = record[:, 1 : 1 + ours.shape[1]]
        size = np.abs(theirs).max()
        found[name] = float(np.abs(ours - theirs).max() / (size if size > _NOTHING else 1))
    return found


def recorded(mbs: Any, t1: float, steps: int, solver: Any) -> dict[str, np.ndarray]:
    """What Exudyn's sensors record, by name, with the time first."""
    import exudyn as exu

    kinds: dict[Any, str] = {
        GeneralizedAlpha: "GeneralizedAlpha",
        TrapezoidalIndex2: "TrapezoidalIndex2",
        RungeKutta4: "RK44",
    }
    if type(solver) not in kinds:
        raise ModelError(f"solver must be GeneralizedAlpha, TrapezoidalIndex2 or RungeKutta4, got {show(solver)}.")
    sensors = range(mbs.systemData.NumberOfSensors())
    if not sensors:
        raise ModelError("the Exudyn system has no sensor that could be compared.")
    for number in sensors:
        mbs.SetSensorParameter(number, "storeInternal", True)
        mbs.SetSensorParameter(number, "writeToFile", False)
    large = mbs.systemData.ODE2Size() > _LARGE
    settings: Any = exu.SimulationSettings()
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps = t1, steps
    # Of many unknowns rounding leaves more.
    tolerance = 1e-8 if large else 1e-10
    integration.newton.relativeTolerance, integration.newton.absoluteTolerance = tolerance, tolerance
    integration.adaptiveStep = False
    integration.newton.useModifiedNewton = False
    if isinstance(solver, GeneralizedAlpha):
        integration.generalizedAlpha.spectralRadius = solver.spectral_radius
    settings.solution.file.write = False
    if large:
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.sensors.writePeriod = t1 / steps
    mbs.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, kinds[type(solver)]))
    return {mbs.GetSensor(i)["name"]: np.asarray(mbs.GetSensorStoredData(i)) for i in sensors}
