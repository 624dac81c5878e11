"""Whoever waits for the compiler is told so, once, and nobody else."""

import io
import time
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import difmbs as mbs
from difmbs.jaxtools import compile_messages as _compiling

SAID = "compiling ...\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """A terminal, and little patience."""
    screen = Terminal()
    monkeypatch.setattr(_compiling, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(_compiling, "_PATIENCE", 0.05)
    monkeypatch.setattr(_compiling, "_PAUSE", 0.1)
    watch = _compiling._CompileWatch()
    monkeypatch.setattr(_compiling, "_WATCH", watch)
    _compiling.watch()
    yield screen
    jax.monitoring.unregister_scalar_listener(watch.begins)
    jax.monitoring.unregister_event_duration_listener(watch.ends)


def slow(x):
    """Takes a while to be traced."""
    time.sleep(0.15)
    return jnp.sin(x)


def slow_program(x):
    _compiling.called()
    return slow(x)


def test_it_is_said_once_while_programs_of_difmbs_are_compiled(screen):
    jax.jit(slow_program)(1.0)
    assert screen.getvalue() == SAID
    time.sleep(0.4)
    jax.jit(lambda x: slow_program(x) + slow(x))(1.0)
    assert screen.getvalue() == SAID * 2


def test_every_simulation_is_such_a_program(screen):
    before = _compiling._WATCH._called
    model = mbs.Model()
    model.add("mass", mbs.Mass1D(1.0))
    system = model.assemble()
    assembled = _compiling._WATCH._called
    mbs.simulate(system, t1=1.0, dt=1.0)
    assert before < assembled < _compiling._WATCH._called


def test_nothing_is_said_of_other_programs_and_of_long_runs(screen):
    jax.jit(slow)(1.0)
    time.sleep(0.4)
    _compiling.called()
    time.sleep(0.2)
    assert screen.getvalue() == ""


def test_nothing_is_said_where_silence_is_wanted_or_nobody_looks(screen, monkeypatch):
    with _compiling.silence():
        jax.jit(slow_program)(1.0)
    assert screen.getvalue() == ""
    time.sleep(0.4)
    monkeypatch.setattr(_compiling, "sys", SimpleNamespace(stderr=io.StringIO()))
    jax.jit(lambda x: slow_program(x) + 1)(1.0)
    assert screen.getvalue() == ""


def test_what_fails_while_it_is_traced_is_over(screen):
    def failing(x):
        raise ValueError(x)

    with pytest.raises(ValueError):
        jax.jit(failing)(1.0)
    assert _compiling._WATCH._depth == 0
