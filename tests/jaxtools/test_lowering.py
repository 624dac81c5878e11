"""Programs run without Python: so they are kept in JAX's cache of compiled ones, and lower for any machine."""

import diffrax
import jax
import pytest

import difmbs as mbs


def oscillator():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(1.0), position=(1.05, 0, 0))
    model.add("spring", mbs.SpringDamper(1.0, 100.0, 1.0), between=(model.ground, bob))
    return model.assemble()


def pendulum():
    model = mbs.Model(gravity=(0, -9.81, 0))
    bob = model.add("bob", mbs.MassPoint(1.0), position=(1.0, 0, 0))
    model.add("rod", mbs.DistanceConstraint(1.0), between=(model.ground, bob))
    return model.assemble()


def end(system, **run):
    return lambda mass: mbs.simulate(system, t1=0.1, saveat=[0.1], params={"bob": {"mass": mass}}, **run).q[-1, 1]


def frequency(mass):
    return mbs.modes(oscillator(), params={"bob": {"mass": mass}}, count=3).frequencies[2]


def rest(mass):
    return mbs.static_equilibrium(oscillator(), params={"bob": {"mass": mass}}).q[1]


EULER = dict(solver=diffrax.ImplicitEuler(), dt=0.01)
STIFF = dict(solver=diffrax.Kvaerno3(), rtol=1e-5, atol=1e-6)
PROGRAMS = {
    "explicit": jax.grad(end(oscillator())),
    "implicit": jax.grad(end(oscillator(), **STIFF)),
    "implicit, constrained, forwards": jax.jacfwd(end(pendulum(), **EULER)),
    "Newmark": jax.grad(end(pendulum(), solver=mbs.GeneralizedAlpha(), dt=0.01)),
    "loop of diffrax": jax.grad(end(oscillator(), adjoint=diffrax.RecursiveCheckpointAdjoint(), **STIFF)),
    "equilibrium": jax.grad(rest),
    "modes": jax.grad(frequency),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_calls_back(program):
    # There are no eigenvalues of general matrices on TPUs.
    machines = ("cuda",) if program == "modes" else ("cuda", "tpu")
    text = jax.jit(PROGRAMS[program]).trace(1.0).lower(lowering_platforms=machines).as_text()
    assert "stablehlo" in text
    assert "callback" not in text
