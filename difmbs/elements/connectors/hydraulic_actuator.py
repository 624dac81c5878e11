"""A hydraulic cylinder."""

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from ...core.parameters import Spec, parameter
from ...core.types import Numbers, Scalar, Vector
from ..ports import AbstractPort
from ..rotations import length_and_direction
from ..symbols import Symbol, between
from .connector import AbstractForce, two_points, value_at


class HydraulicActuator(AbstractForce):
    r"""Double-acting cylinder between two points, with the pressures of its chambers as first-order states.

    $f = -p_0 A_0 + p_1 A_1 + d\,\dot L$, positive in tension, with the length $L = L_0 + s$ and the stroke s. Chamber 0
    is at the piston's head, chamber 1 at its rod:

    $\dot p_0 = \frac{K_0}{V_0}(-A_0\dot s + q_0)$, $\dot p_1 = \frac{K_1}{V_1}(A_1\dot s + q_1)$, and the valves let
    $q_k = u_k Q_n \sqrt{p_s - p_k}$ in where $u_k \ge 0$, $q_k = u_k Q_n\sqrt{p_k - p_t}$ out where $u_k < 0$ (roots
    with the sign of their argument, made smooth within `smoothing` of 0). With `volume_changes` $V_0 = V_{h0} + A_0 s$,
    $V_1 = V_{h1} + A_1 (s_{max} - s)$ and $1/K_k = 1/K_{oil} + (1 - w)/K_{cyl} + w/K_{hose}$ with $w = V_{hk}/V_k$;
    without, the volumes are those of the hoses and $K_k = K_{oil}$.

    **Arguments:** `areas` A0, A1 [m^2]; `hose_volumes` V_h0, V_h1 [m^3]; `nominal_flow` Q_n [m^3/s/Pa^0.5];
    `system_pressure` p_s and `tank_pressure` p_t [Pa]; `oil_bulk_modulus`, `cylinder_bulk_modulus`,
    `hose_bulk_modulus` [Pa], of the latter two 0: rigid; `valve_openings` u0, u1, from -1 to 1, or a function of time;
    `offset_length` L0 and `stroke_length` s_max [m]; `damping` d [N s/m]; `smoothing` [Pa]; `volume_changes`.

    **Initial values:** `pressures` [Pa] p0 and p1.

    **Outputs:** `distance` L, `displacement` p1 - p0 of the points, `velocity`, the rate of L; `force` on marker 0,
    `force_local` f; `pressures` [Pa], `pressure_rates` [Pa/s], `flows` into the chambers [m^3/s].
    """

    areas: Numbers = parameter(shape=(2,), unit="m^2", range="positive")
    hose_volumes: Numbers = parameter(shape=(2,), unit="m^3", range="positive")
    nominal_flow: Numbers = parameter(unit="m^3/s/Pa^0.5", range="positive")
    system_pressure: Numbers = parameter(unit="Pa")
    oil_bulk_modulus: Numbers = parameter(unit="Pa", range="positive")
    valve_openings: Numbers = parameter((0.0, 0.0), shape=(2,), of_time=True)
    tank_pressure: Numbers = parameter(0.0, unit="Pa")
    cylinder_bulk_modulus: Numbers = parameter(0.0, unit="Pa", range="nonnegative")
    hose_bulk_modulus: Numbers = parameter(0.0, unit="Pa", range="nonnegative")
    offset_length: Numbers = parameter(0.0, unit="m", range="nonnegative")
    stroke_length: Numbers = parameter(0.0, unit="m", range="nonnegative")
    damping: Numbers = parameter(0.0, unit="N s/m", range="expected nonnegative")
    smoothing: Numbers = parameter(0.0, unit="Pa", range="nonnegative")
    volume_changes: bool = eqx.field(default=False, static=True)

    initial: ClassVar[Mapping[str, Spec]] = {"pressures": Spec((2,), "Pa")}
    units: ClassVar[Mapping[str, str]] = {"pressures": "Pa", "pressure_rates": "Pa/s", "flows": "m^3/s"}
    exerted: ClassVar[tuple[str, ...]] = ("force", "force_local", "pressure_rates", "flows")

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return two_points()

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        found = self.outputs(t, config, flow)
        return found["force"], -found["force"], found["pressure_rates"]

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        displacement, pressures = config[1] - config[0], flow[2]
        length, direction = length_and_direction(displacement)
        rate = jnp.sum(direction * (flow[1] - flow[0]))
        f = -pressures[0] * self.areas[0] + pressures[1] * self.areas[1] + self.damping * rate
        flows = self._flows(t, pressures)
        volumes, moduli = self._chambers(length)
        swept = rate * self.areas * jnp.asarray([-1, 1], rate.dtype)
        return dict(
            distance=length,
            displacement=displacement,
            velocity=rate,
            force=f * direction,
            force_local=f,
            pressures=pressures,
            pressure_rates=moduli / volumes * (swept + flows),
            flows=flows,
        )

    def _flows(self, t: Scalar, pressures: Vector) -> Vector:
        openings = value_at(t, self.valve_openings, "valve_openings", (2,))
        drop = jnp.where(openings >= 0, self.system_pressure - pressures, pressures - self.tank_pressure)
        return openings * self.nominal_flow * jnp.stack([_signed_root(x, self.smoothing) for x in drop])

    def _chambers(self, length: Scalar) -> tuple[Vector, Vector]:
        """Their volumes and effective bulk moduli."""
        if not self.volume_changes:
            return self.hose_volumes, jnp.stack([self.oil_bulk_modulus] * 2)
        stroke = length - self.offset_length
        volumes = self.hose_volumes + self.areas * jnp.stack([stroke, self.stroke_length - stroke])
        share = self.hose_volumes / volumes
        give = 1 / self.oil_bulk_modulus
        for part, modulus in ((1 - share, self.cylinder_bulk_modulus), (share, self.hose_bulk_modulus)):
            give = give + jnp.where(modulus > 0, part / jnp.where(modulus > 0, modulus, 1), 0)
        return volumes, 1 / give

    def symbols(self) -> tuple[Symbol, ...]:
        return (between("strut"),)


def _signed_root(x: Scalar, smoothing: Scalar) -> Scalar:
    """sign(x) |x|^0.5, of infinite slope at 0; with smoothing x / (x^2 + smoothing^2)^0.25, which is smooth."""
    size, _ = length_and_direction(jnp.stack([x, smoothing]))
    nonzero = size > 0
    return jnp.where(nonzero, x / jnp.where(nonzero, size, 1) ** 0.5, 0)
