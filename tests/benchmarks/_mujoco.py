"""The chain of `identify` in MuJoCo, and its fit with MuJoCo's toolbox for identification."""

from typing import Any

import mujoco
import numpy as np
from identify import DT, EVERY, GRAVITY, LENGTH, MASS, NOISE, Chain
from mujoco import sysid

BOUNDS = 0.2, 5.0
"""Of the unknowns, as multiples of their starts: the toolbox wants some."""
ENOUGH = 1e-4
"""The length of the last step in these units: an order of magnitude below that takes three times as many iterations."""


class Peer:
    """The same masses, springs and steps, without contacts and whatever else the problem does not need.

    In the style of its own tests, but for what makes it faster here: unknowns are in units of their starts, numbers
    are changed in the compiled model instead of compiling it again, and positions are taken from the states instead of
    from sensors.
    """

    def __init__(self, chain: Chain):
        self._chain = chain
        self._spec = mujoco.MjSpec.from_string(_described(chain))
        self._model = self._spec.compile()

    def fit(self, data: np.ndarray) -> tuple[np.ndarray, float]:
        """What was found, and chi^2."""
        chain, model = self._chain, self._model
        unknowns = sysid.ParameterDict()
        one = np.ones(chain.start.size)
        unknowns.add(sysid.Parameter("factors", one, BOUNDS[0] * one, BOUNDS[1] * one))
        start = sysid.create_initial_state(model, np.zeros(model.nq), chain.velocity.ravel(), np.zeros(0))
        ticks = np.arange(round(chain.times[-1] / DT) + 1) * DT
        nothing = sysid.TimeSeries(ticks, np.zeros((ticks.size, model.nu)))
        self._measured = (data - chain.position).reshape(chain.times.size, -1)
        record = sysid.TimeSeries.from_custom_map(
            chain.times, self._measured, [("place", 2 * chain.n, sysid.SignalType.CustomObs)]
        )
        runs = sysid.ModelSequences("chain", self._spec, "swing", start, nothing, record, allow_missing_sensors=True)
        residual = sysid.build_residual_fn(
            models_sequences=[runs], build_model=self._changed, modify_residual=self._residual, n_threads=1
        )
        found, _ = sysid.optimize(unknowns, residual, optimizer="mujoco", verbose=False, xtol=ENOUGH)
        left = np.concatenate(residual(found.as_vector(), found)[0])
        return chain.start * found.as_vector(), float(np.sum(left**2))

    def _changed(self, unknowns: Any, spec: Any) -> Any:
        model = self._model.__copy__()
        values = self._chain.start * unknowns.as_vector()
        model.tendon_stiffness[:], model.tendon_damping[:] = np.split(values, 2)
        return model

    def _residual(self, params: Any, predicted: Any, measured: Any, model: Any, everything: Any, *, state: Any) -> Any:
        # States begin after the first step.
        every = round(EVERY / DT)
        places = state[every - 1 :: every, 1 : 1 + model.nq]
        return ((places - self._measured[1:]) / NOISE).ravel(), measured, measured


def _described(chain: Chain) -> str:
    """The model as MuJoCo reads it."""
    bodies, springs, above = [], [], "ground"
    for i, (x, y) in enumerate(chain.position.tolist()):
        bodies.append(f"""
    <body pos="{x} {y} 0">
      <inertial pos="0 0 0" mass="{MASS}" diaginertia="1 1 1"/>
      <joint name="x{i}" type="slide" axis="1 0 0"/>
      <joint name="y{i}" type="slide" axis="0 1 0"/>
      <site name="place{i}"/>
    </body>""")
        springs.append(f"""
    <spatial springlength="{LENGTH}" stiffness="1" damping="1">
      <site site="{above}"/>
      <site site="place{i}"/>
    </spatial>""")
        above = f"place{i}"
    return f"""<mujoco>
  <option timestep="{DT}" integrator="RK4" gravity="0 {-GRAVITY} 0">
    <flag contact="disable" constraint="disable"/>
  </option>
  <worldbody>
    <site name="ground"/>{"".join(bodies)}
  </worldbody>
  <tendon>{"".join(springs)}
  </tendon>
</mujoco>"""
