"""Planar spring and damper with one-sided, tabular and coupled laws."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from ...core.errors import ModelError
from ...core.parameters import parameter
from ...core.types import MaybeNumbers, Numbers, Scalar
from ..ports import AbstractPort, Planar, PlanarWrench
from ..rotations import length_and_direction
from ..symbols import Symbol, between
from .connector import AbstractForce, check_choice, check_dof_constraint
from .curve import interpolate

TYPES = ("linear", "tensile", "compressive", "tabular")
_CHOICES = {
    "type": TYPES,
    "interpolation": ("linear", "smooth"),
    "extrapolate": ("clamp", "linear"),
    "damper": ("axial", "isotropic"),
    "mask": ("force", "kinematic"),
}


class LinearSpringDamper(AbstractForce):
    r"""Spring and damper in the x-y plane along the line from marker 0 (child) to marker 1 (parent).

    With the stretch $e = L - l_0 + p$ the force is $f = f_k(e) + c\,g\,\dot L$, positive in tension. $f_k = k\,e$, for
    `type="tensile"` only while e >= 0, for `"compressive"` only while e <= 0, for `"tabular"` from a curve of force
    over stretch; g is 1, or 0 while a one-sided spring does not act. Both markers' bodies may turn: then the torque
    $\mp|f|(\mu_k\Delta\theta + \mu_c\Delta\omega)$ couples their rotation. Where the markers coincide the direction is
    undefined and the force is 0.

    **Arguments:** `stiffness` k [N/m]; `damping` c [N s/m]; `preload` p [m], positive in tension; `reference_length` l0
    [m], None: the length of `reference_displacement` (l0x, l0y) [m], None: $p_1 - p_0$ in the initial state; `type`;
    `curve`, rows (stretch [m], force [N]) for "tabular", between whose points `interpolation` is "linear" or "smooth"
    (monotone cubic) and outside of which `extrapolate` is "clamp" or "linear"; `spring_coupling` mu_k [m/rad] and
    `damper_coupling` mu_c [m s/rad]; `dof_constraint`, for x, y and theta: True takes the action in that direction
    away, by `mask="force"` from the generalized forces (not conservative), by `mask="kinematic"` from the relative
    motion; `damper`, "axial" or "isotropic" ($c\,\Delta v$, not objective: rotating both bodies together makes it act);
    `gate_damper`: a one-sided spring switches its damper too; `gate_width` [m]: softens the switch over this stretch,
    None: sharp.

    **Outputs:** `distance`, `displacement`, `relative_displacement` (less `reference_displacement`), `velocity`,
    `stretch` e, `force` (on marker 0), `force_local` f, `torque0` and `torque1`, about the bodies' centres of mass, on
    ground about the marker.
    """

    stiffness: Numbers = parameter(0.0, unit="N/m", range="expected nonnegative")
    damping: Numbers = parameter(0.0, unit="N s/m", range="expected nonnegative")
    preload: Numbers = parameter(0.0, unit="m")
    reference_length: MaybeNumbers = parameter(None, unit="m", range="nonnegative")
    spring_coupling: Numbers = parameter(0.0, unit="m/rad")
    damper_coupling: Numbers = parameter(0.0, unit="m s/rad")
    curve: MaybeNumbers = parameter(None, shape=(None, 2), unit="m, N", range="curve")
    gate_width: MaybeNumbers = parameter(None, unit="m", range="positive")
    reference_displacement: MaybeNumbers = parameter(None, shape=(2,), unit="m")
    type: str = eqx.field(default="linear", static=True)
    interpolation: str = eqx.field(default="linear", static=True)
    extrapolate: str = eqx.field(default="clamp", static=True)
    damper: str = eqx.field(default="axial", static=True)
    gate_damper: bool = eqx.field(default=True, static=True)
    dof_constraint: tuple[bool, bool, bool] = eqx.field(default=(False, False, False), static=True)
    mask: str = eqx.field(default="force", static=True)

    exerted: ClassVar[tuple[str, ...]] = ("force", "force_local", "torque0", "torque1")
    measured: ClassVar[tuple[str, ...]] = ("reference_length", "reference_displacement")
    along_line: ClassVar[bool] = True

    @property
    def ports(self) -> tuple[AbstractPort, ...]:
        return (Planar(), Planar())

    def check(self, name: str, sizes: tuple[int, ...]) -> None:
        for field, choices in _CHOICES.items():
            check_choice(name, field, getattr(self, field), choices)
        check_dof_constraint(name, self.dof_constraint)
        if (self.type == "tabular") != (self.curve is not None):
            raise ModelError(f"'{name}': a curve is needed for type='tabular' and only there.")

    def measure(self, config: Any) -> dict[str, Any]:
        displacement, _ = self._masked(config[1].p - config[0].p)
        reference = displacement if self.reference_displacement is None else self.reference_displacement
        return {"reference_length": length_and_direction(reference)[0], "reference_displacement": displacement}

    def effort(self, t: Scalar, config: Any, flow: Any) -> tuple[Any, ...]:
        laws = self._laws(config, flow)
        arms = config[0].arm, config[1].arm
        return tuple(
            # Torques are given about the end of the arm; the port wants the moment at the marker.
            PlanarWrench(f, laws[f"torque{i}"] - _turn(arms[i], f))
            for i, f in enumerate((laws["force"], -laws["force"]))
        )

    def outputs(self, t: Scalar, config: Any, flow: Any) -> dict[str, Any]:
        laws = self._laws(config, flow)
        return laws | {"relative_displacement": laws["displacement"] - self.reference_displacement}

    def energy(self, t: Scalar, config: Any) -> Scalar | None:
        if self.type != "linear" or (self.mask == "force" and any(self.dof_constraint)):
            return None
        displacement, _ = self._masked(config[1].p - config[0].p)
        stretch = length_and_direction(displacement)[0] - self.reference_length + self.preload
        return 0.5 * self.stiffness * stretch**2

    def _laws(self, config, flow):
        displacement, keep_torque = self._masked(config[1].p - config[0].p)
        velocity, _ = self._masked(flow[1].v - flow[0].v)
        length, direction = length_and_direction(displacement)
        rate = jnp.sum(direction * velocity)
        stretch = length - self.reference_length + self.preload
        gate = self._gate(stretch)
        spring = self._spring(stretch, gate)
        damping = self.damping * (gate if self.gate_damper else 1)
        f = spring + damping * rate

        # k dp instead of k L u: the same away from L = 0, and differentiable there.
        steepness = 0 * gate if self.type == "tabular" else self.stiffness * gate
        beside = f if self.damper == "axial" else spring
        force = steepness * displacement + (beside - steepness * length) * direction
        if self.damper == "isotropic":
            force = force + damping * velocity

        angle, spin = config[1].angle - config[0].angle, flow[1].w - flow[0].w
        coupling = jnp.abs(f) * (self.spring_coupling * angle + self.damper_coupling * spin)
        if self.mask == "force":
            force, keep_torque = self._mask(force)
        torque0 = keep_torque * (_turn(config[0].arm, force) + coupling)
        torque1 = keep_torque * (-_turn(config[1].arm, force) - coupling)
        return dict(
            distance=length,
            displacement=displacement,
            velocity=velocity,
            stretch=stretch,
            force=force,
            force_local=f,
            torque0=torque0,
            torque1=torque1,
        )

    def _spring(self, stretch, gate):
        if self.type == "tabular":
            return interpolate(stretch, self.curve, self.interpolation, self.extrapolate)
        if self.gate_width is None or self.type == "linear":
            return self.stiffness * gate * stretch
        sign = 1 if self.type == "tensile" else -1
        return self.stiffness * sign * self.gate_width * jax.nn.softplus(sign * stretch / self.gate_width)

    def _gate(self, stretch):
        """How much of a one-sided spring acts: 0 or 1, or in between with a `gate_width`."""
        if self.type in ("linear", "tabular"):
            return jnp.ones_like(stretch)
        sign = 1 if self.type == "tensile" else -1
        if self.gate_width is None:
            return (sign * stretch >= 0).astype(stretch.dtype)
        return jax.nn.sigmoid(sign * stretch / self.gate_width)

    def _masked(self, vector):
        return self._mask(vector) if self.mask == "kinematic" else (vector, 1)

    def _mask(self, vector):
        x, y, theta = (0 if masked else 1 for masked in self.dof_constraint)
        return vector * jnp.array([x, y], vector.dtype), theta

    def symbols(self) -> tuple[Symbol, ...]:
        return (between("coil"), between("damper"))


def _turn(arm, force):
    return arm[0] * force[1] - arm[1] * force[0]
