"""Whatever is wrong with what a user writes is said by name, in one of three errors, before anything is compiled."""

# ruff: noqa: E501 (one line for each case)

import copy
import math
import traceback
import warnings

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..helpers.unhooked import mbs

ERRORS = (mbs.ModelError, mbs.ParameterError, mbs.SimulationError)
LIBRARIES = ("jax.", "jaxlib.", "equinox._jit", "equinox._vmap", "diffrax.")


def refused(write, match, by_user_function=False):
    with pytest.raises(ERRORS, match=match) as caught:
        write()
    error = caught.value
    assert len(str(error)) < 1000
    while error is not None and not by_user_function:
        modules = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert not [m for m in modules if m.startswith(LIBRARIES)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def row(name, match, write, **options):
    return pytest.param(match, write, options, id=name)


def point(mass=1.0, **initial):
    return mbs.Model().add("bob", mbs.MassPoint(mass=mass), **initial)


def points(count=2, **initial):
    """A model with `count` mass points of one name."""
    model = mbs.Model()
    return model, model.add("bobs", mbs.MassPoint(mass=np.ones(count)), **initial)


def rigid(inertia=(0.3, 0.4, 0.5), **initial):
    inertia = np.diag(inertia) if np.ndim(inertia) == 1 else inertia
    return mbs.Model().add("top", mbs.RigidBody(mass=1.0, inertia=inertia), **initial)


def attach(law, between=None, on=None, **options):
    """Adds the law as "link"; `between` and `on` are functions of (model, mass point a, rigid body b)."""
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(mass=1.0), position=(1, 0, 0))
    b = model.add("b", mbs.RigidBody(mass=1.0, inertia=np.eye(3)), position=(0, 2, 0))
    made = {k: f(model, a, b) for k, f in (("between", between), ("on", on)) if f is not None}
    model.add("link", law, **made, **options)
    return model


def spring(between=None, **parameters):
    return attach(mbs.SpringDamper(**parameters), between or (lambda m, a, b: (a, b))).assemble()


def load(law, on=None):
    return attach(law, on=on or (lambda m, a, b: b)).assemble()


def planar(law):
    """The planar law between ground and a planar body."""
    model = mbs.Model()
    disc = model.add("disc", mbs.RigidBody2D(mass=1.0, inertia=1.0), position=(1, 0))
    model.add("link", law, between=(model.ground, disc))
    return model.assemble()


def coordinates(law, between=lambda m, a, b: (m.ground, a.coordinates)):
    return attach(law, between).assemble()


def gravity_field(count=3, on=None, **parameters):
    model, bobs = points(count, position=np.eye(3))
    model.add("field", mbs.AllPairsGravity(**parameters), on=bobs if on is None else on(model, bobs))
    return model.assemble()


def sensed(name, quantity):
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint(mass=1.0), position=(1, 0, 0))
    other = model.add("many", mbs.MassPoint(mass=np.ones(2)))
    model.add("spring", mbs.SpringDamper(stiffness=1.0), between=(model.ground, bob))
    model.sense(name, quantity(bob, other))
    return model.assemble()


def named(name, again=False):
    model = mbs.Model()
    model.add(name, mbs.MassPoint(mass=1.0))
    if again:
        model.add(name, mbs.MassPoint(mass=1.0))


SYSTEM = spring(stiffness=10.0)
MANY = points(2)[0].assemble()
RIGID = attach(mbs.Force((1, 0, 0)), on=lambda m, a, b: b).assemble()


def changed(params, system=SYSTEM):
    return system.with_params(params)


def run(system=SYSTEM, **arguments):
    return mbs.simulate(system, **({"t1": 1.0} | arguments))


def traced(write):
    """Writes with a traced number; what is raised does not pass through JAX."""
    raised = []

    def inside(x):
        try:
            write(x)
        except Exception as error:
            raised.append(error)
        return x

    jax.make_jaxpr(inside)(1.0)
    for error in raised:
        raise error


def user(function, **parameters):
    return spring(spring_force_user_function=function, stiffness=1.0, **parameters)


def raising(*_):
    raise ZeroDivisionError("division by zero in the user's code")


def without_warnings(write):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write()


def nested_in_itself():
    inner = []
    inner.append(inner)
    return inner


class Opaque:
    """An object that answers nothing."""

    def __array__(self, *_, **__):
        raise RuntimeError("no array")

    def __repr__(self):
        raise RuntimeError("no text")


class Undeclared(mbs.AbstractForce):
    strength: jax.Array

    @property
    def ports(self):
        return (mbs.Point(),)

    def effort(self, t, config, flow):
        return (self.strength * config[0],)

    def outputs(self, t, config, flow):
        return {}


HUGE = 10**400
HUGER = 10**5000
ROD = mbs.DistanceConstraint(distance=1.0)
EYE = np.eye(3)
IDENTITY = mbs.CoordinateVectorConstraint(scaling_marker1=EYE)
CVC = mbs.CoordinateVectorConstraint
TIE = mbs.CoordinateConstraint
LSD = mbs.LinearSpringDamper

NUMBERS = [
    row("2-vector", r"'bob': position must have shape \(3\).*got shape \(2,\)", lambda: point(position=(1, 2))),
    row("4-vector", r"'bob': position .*got shape \(4,\)", lambda: point(position=(1, 2, 3, 4))),
    row("scalar for vector", r"'bob': velocity .*got shape \(\)", lambda: point(velocity=1.0)),
    row("vector of wrong kind of nesting", r"'bob': position .*got shape \(1, 1, 3\)", lambda: point(position=[[[1, 2, 3]]])),
    row("ragged", r"'bob': position must be numbers", lambda: point(position=[[1, 2, 3], [1, 2]])),
    row("nested mass", r"'bob': mass .*got shape \(1, 1\)", lambda: point([[1.0]])),
    row("ragged mass", r"'bob': mass must be numbers", lambda: point([[1.0], [1.0, 2.0]])),
    row("in itself", r"'bob': position must be numbers", lambda: point(position=nested_in_itself())),
    row("string", r"'bob': mass must be numbers of shape \(\), got 'heavy'", lambda: point("heavy")),
    row("string of digits", r"'bob': mass must be numbers .*got '5.0'", lambda: point("5.0")),
    row("strings in a list", r"'bob': position must be numbers", lambda: point(position=["1", "2", "3"])),
    row("bytes", r"'bob': mass must be numbers", lambda: point(b"1")),
    row("bool", r"'bob': mass must be numbers .*got True", lambda: point(True)),
    row("bools", r"'bob': position must be numbers", lambda: point(position=np.ones(3, bool))),
    row("complex", r"'bob': mass must be numbers .*got \(1\+2j\)", lambda: point(1 + 2j)),
    row("complex of JAX", r"'bob': position must be numbers", lambda: point(position=jnp.ones(3, complex))),
    row("bool of JAX", r"'bob': mass must be numbers", lambda: point(jnp.asarray(True))),
    row("none", r"'bob': mass must be numbers .*got None", lambda: point(None)),
    row("none for position", r"'bob': position must be numbers .*got None", lambda: point(position=None)),
    row("none in a list", r"'bob': position must be numbers", lambda: point(position=[None, 1, 2])),
    row("dictionary", r"'bob': mass must be numbers", lambda: point({"value": 1.0})),
    row("object", r"'bob': mass must be numbers .*got a Opaque", lambda: point(Opaque())),
    row("date", r"'bob': mass must be numbers", lambda: point(np.datetime64("2020-01-01"))),
    row("int overflow", r"'bob': mass must be numbers .*got 1000", lambda: point(HUGE)),
    row("int too long to print", r"'bob': mass must be numbers .*got a int", lambda: point(HUGER)),
    row("int overflow in a list", r"'bob': position must be numbers", lambda: point(position=[HUGE, 0, 0])),
    row("NaN", r"'bob': mass = nan is not finite", lambda: point(math.nan)),
    row("inf", r"'bob': position\[1\] = -inf is not finite", lambda: point(position=(0, -math.inf, 0))),
    row("NaN of one instance", r"'bob': mass\[2\] = nan is not finite", lambda: point([1.0, 1.0, math.nan])),
    row("negative mass", r"'bob': mass = -1.0 must be > 0", lambda: point(-1.0)),
    row("zero mass", r"'bob': mass = 0.0 must be > 0", lambda: point(0)),
    row("minus zero mass", r"'bob': mass = -0.0 must be > 0", lambda: point(-0.0)),
    row("mass without inverse", r"'bob': mass = 1e-320 is so small", lambda: point(1e-320)),
    row("one negative mass", r"'bob': mass\[1\] = -2.0 must be > 0", lambda: point([1.0, -2.0])),
    row("mass as a function", r"'bob': mass must be numbers", lambda: point(lambda t: 1.0)),
    row("mass as a class", r"'bob': mass must be numbers", lambda: point(float)),
    row("stiffness as a function", r"'link': stiffness must be numbers", lambda: spring(stiffness=lambda t: 1.0)),
    row("no instances", r"'bob' has no instances: mass is empty", lambda: point([])),
    row("no instances of position", r"'bob' has no instances", lambda: point(position=np.zeros((0, 3)))),
    row("axis zero", r"'m': axis = \[0.0, 0.0, 0.0\] is too short", lambda: mbs.Model().add("m", mbs.Mass1D(1.0, (0, 0, 0)))),
    row("axis tiny", r"'m': axis .*is too short", lambda: mbs.Model().add("m", mbs.Mass1D(1.0, (0, 1e-200, 0)))),
    row("axis of 2", r"'m': axis .*got shape \(2,\)", lambda: mbs.Model().add("m", mbs.Mass1D(1.0, (0, 1)))),
    row("inertia scalar", r"'top': inertia .*got shape \(\)", lambda: rigid(0.5)),
    row("inertia ragged", r"'top': inertia must be numbers", lambda: mbs.Model().add("top", mbs.RigidBody(1.0, [[1], [1, 2]]))),
    row("inertia moments", r"'top': inertia .*got shape \(3,\)", lambda: mbs.Model().add("top", mbs.RigidBody(1.0, [1, 1, 1]))),
    row("inertia skew", r"'top': inertia = .* must be symmetric", lambda: rigid(EYE + 0.1 * np.eye(3, k=1))),
    row("inertia indefinite", r"'top': inertia .*positive definite", lambda: rigid((1, 1, -0.1))),
    row("inertia zero", r"'top': inertia .*positive definite", lambda: rigid((0, 0, 0))),
    row("inertia triangle", r"'top': inertia .*sum of the other two", lambda: rigid((1, 1, 2.1))),
    row("inertia NaN", r"'top': inertia\[0, 0\] = nan is not finite", lambda: rigid((math.nan, 1, 1))),
    row("inertia tiny", r"'top': inertia .*too small or too large", lambda: rigid(1e-110 * EYE)),
    row("inertia huge", r"'top': inertia .*too small or too large", lambda: rigid(1e300 * EYE)),
    row("inertia of one instance", r"'top': inertia\[1\] = .*symmetric", lambda: rigid([EYE, 1e-9 * np.eye(3, k=1) + 1e-9 * EYE])),
    row("quaternion", r"'top': the quaternion must have length 1", lambda: rigid(rotation=(1, 0, 0, 1))),
    row("matrix", r"'top': the rotation matrix is not orthogonal", lambda: rigid(rotation=2 * EYE)),
    row("mirror", r"'top': the rotation matrix is not orthogonal", lambda: rigid(rotation=-EYE)),
    row("rotation shape", r"'top': rotation must be a rotation vector", lambda: rigid(rotation=(1, 0))),
    row("rotation scalar", r"'top': rotation must be a rotation vector", lambda: rigid(rotation=1.0)),
    row("rotation NaN", r"'top': rotation must be .* of finite numbers", lambda: rigid(rotation=(math.nan, 0, 0))),
    row("rotation text", r"'top': rotation must be numbers", lambda: rigid(rotation="xyz")),
    row("rotation ragged", r"'top': rotation must be numbers", lambda: rigid(rotation=[[1, 0], [1]])),
    row("position ragged", r"'top': position must be numbers", lambda: rigid(position=[[1, 0], [1]])),
    row("quaternion of 3 digits", r"'top': the quaternion must have length 1", lambda: rigid(rotation=(0.92, 0.389, 0, 0.1))),
    row("matrix sheared", r"'top': the rotation matrix is not orthogonal", lambda: rigid(rotation=EYE + 2e-3 * np.eye(3, k=1))),
    row("vectors without a number", r"'top': the rotation matrix is not .* Then give 3 positions", lambda: rigid(rotation=0.1 * EYE)),
    row("traced quaternion", r"'top': inside of grad, jit and vmap rotation must be", lambda: jax.eval_shape(lambda x: rigid(rotation=x), np.ones(4))),
    row("traced matrix", r"'top': inside of grad, .* got shape \(3, 3\)", lambda: jax.eval_shape(lambda x: rigid(rotation=x), EYE)),
    row("rotation in the plane", r"'bar': RigidBody2D has no initial value 'rotation'. Did you mean 'angle'", lambda: mbs.Model().add("bar", mbs.RigidBody2D(1.0, 1.0), rotation=0.3)),
    row("angle in space", r"'top': RigidBody has no initial value 'angle'. Did you mean 'rotation'", lambda: rigid(angle=0.3)),
    row("ambiguous rotation", r"'top': the rotation of 3 instances may be", lambda: rigid(position=EYE, rotation=EYE)),
    row("gravity of 2", r"'gravity': acceleration must have shape \(3,\), got shape \(2,\)", lambda: mbs.Model((0, -9.81))),
    row("gravity of 4", r"'gravity': .*got shape \(4,\)", lambda: mbs.Model((0, 0, 0, 0))),
    row("gravity scalar", r"'gravity': .*got shape \(\)", lambda: mbs.Model(-9.81)),
    row("gravity rows", r"'gravity': .*got shape \(2, 3\)", lambda: mbs.Model(np.zeros((2, 3)))),
    row("gravity text", r"'gravity': acceleration must be numbers", lambda: mbs.Model("down")),
    row("gravity ragged", r"'gravity': acceleration must be numbers", lambda: mbs.Model([[0], [1, 2]])),
    row("gravity NaN", r"'gravity': acceleration\[2\] = nan", lambda: mbs.Model((0, 0, math.nan))),
    row("NaN damping", r"'link': damping = nan is not finite", lambda: spring(damping=math.nan)),
    row("negative length", r"'link': reference_length = -1.0 must be >= 0", lambda: spring(reference_length=-1)),
    row("load of 2", r"'link': load_vector .*got shape \(2,\)", lambda: load(mbs.Force((1, 2)))),
    row("load text", r"'link': load_vector must be numbers", lambda: load(mbs.Torque("up"))),
    row("distance zero", r"'link': distance = 0.0 must be > 0", lambda: attach(mbs.DistanceConstraint(0.0), lambda m, a, b: (a, b))),
    row("distance negative", r"'link': distance = -1.0", lambda: attach(mbs.DistanceConstraint(-1.0), lambda m, a, b: (a, b))),
    row("array not declared", r"'link': declare the array Undeclared.strength", lambda: load(Undeclared(jnp.ones(3)))),
]  # fmt: skip

NAMES = [
    row("twice", r"there is already an element 'bob'", lambda: named("bob", again=True)),
    row("slash", r"'a/b' is not a valid name", lambda: named("a/b")),
    row("dot", r"'a.b' is not a valid name", lambda: named("a.b")),
    row("empty", r"'' is not a valid name", lambda: named("")),
    row("space", r"' ' is not a valid name", lambda: named(" ")),
    row("space last", r"'bob ' is not a valid name", lambda: named("bob ")),
    row("line feed", r"is not a valid name", lambda: named("bob\n")),
    row("long", r"'aaaa.*\.\.\. is not a valid name: use 1 to 100", lambda: named("a" * 10_000)),
    row("look-alike", r"is not a valid name", lambda: named("b\u043eb")),
    row("accent", r"is not a valid name", lambda: named("b\u00f6b")),
    row("zero width", r"is not a valid name", lambda: named("bo\u200bb")),
    row("markup", r"is not a valid name", lambda: named("<script>")),
    row("number", r"3 is not a valid name", lambda: named(3)),
    row("none", r"None is not a valid name", lambda: named(None)),
    row("list", r"is not a valid name", lambda: named(["bob"])),
    row("object", r"a Opaque is not a valid name", lambda: named(Opaque())),
    row("huge number", r"a int is not a valid name", lambda: named(HUGER)),
    row("ground", r"'ground' is reserved", lambda: named("ground")),
    row("gravity", r"'gravity' is reserved", lambda: named("gravity")),
    row("sensor like an output", r"sensor 'spring.force' would hide", lambda: sensed("spring.force", lambda b, m: abs)),
    row("sensor twice", r"there is already an element 'bob'", lambda: sensed("bob", lambda b, m: mbs.Position(b))),
    row("sensor slash", r"'a/b' is not a valid name", lambda: sensed("a/b", lambda b, m: mbs.Position(b))),
]  # fmt: skip


def element_after_sensor():
    model = mbs.Model()
    model.sense("spring.force", lambda t, outputs: t)
    model.add("spring", mbs.MassPoint(mass=1.0))


def other_model(port=lambda body: body):
    return lambda m, a, b: (m.ground, port(point()))


def on_a_copy():
    model = mbs.Model()
    other = copy.deepcopy(model)
    bob = model.add("bob", mbs.MassPoint(mass=1.0))
    other.add("spring", mbs.SpringDamper(), between=(other.ground, bob))


def switched(name, active=True):
    attach(mbs.SpringDamper(), lambda m, a, b: (a, b)).switch(name, active)


def mixed_coordinates():
    model = mbs.Model()
    a = model.add("a", mbs.MassPoint(mass=1.0))
    b = model.add("b", mbs.Mass1D(mass=1.0))
    model.add("link", IDENTITY, between=([model.ground, model.ground], [a.coordinates, b.coordinates]))


WIRING = [
    row("class", r"'link': .*got the class SpringDamper itself", lambda: attach(mbs.SpringDamper, lambda m, a, b: (a, b))),
    row("no element", r"'link': expected a body, connector, load or event.*got 3", lambda: attach(3)),
    row("opaque element", r"'link': expected a body.*got a Opaque", lambda: attach(Opaque())),
    row("sensor as element", r"'link': expected a body", lambda: attach(mbs.Position(1))),
    row("no markers", r"'link': SpringDamper needs between=\(marker0, marker1\), got between=None", lambda: attach(mbs.SpringDamper())),
    row("one marker", r"'link': SpringDamper needs between.*got between=1 markers", lambda: spring(lambda m, a, b: (a,))),
    row("three markers", r"got between=3 markers", lambda: spring(lambda m, a, b: (a, b, m.ground))),
    row("bare marker", r"'link': SpringDamper needs between.*got between=a", lambda: spring(lambda m, a, b: a)),
    row("array of markers", r"'link': SpringDamper needs between", lambda: spring(lambda m, a, b: np.array([1, 2]))),
    row("generator", r"'link': SpringDamper needs between", lambda: spring(lambda m, a, b: (x for x in (a, b)))),
    row("spring with on", r"'link': SpringDamper needs between", lambda: attach(mbs.SpringDamper(), on=lambda m, a, b: b)),
    row("load with between", r"'link': Force needs on=marker", lambda: attach(mbs.Force((1, 0, 0)), lambda m, a, b: (a, b))),
    row("load without on", r"'link': Force needs on=marker, got between=None, on=None", lambda: attach(mbs.Force((1, 0, 0)))),
    row("body with between", r"'link' is a body", lambda: attach(mbs.MassPoint(1.0), lambda m, a, b: (a, b))),
    row("body with on", r"'link' is a body", lambda: attach(mbs.MassPoint(1.0), on=lambda m, a, b: a)),
    row("body with active", r"'link' is a body", lambda: attach(mbs.MassPoint(1.0), active=False)),
    row("active", r"'link': active must be True or False, got 'no'", lambda: attach(mbs.SpringDamper(), lambda m, a, b: (a, b), active="no")),
    row("none as marker", r"'link': a marker is .*got None", lambda: spring(lambda m, a, b: (a, None))),
    row("name as marker", r"'link': there is no body 'c'. Known: ground, a, b", lambda: spring(lambda m, a, b: (a, "c"))),
    row("element as marker", r"'link': a marker is what model.add\(name, MassPoint", lambda: spring(lambda m, a, b: (a, mbs.MassPoint(1.0)))),
    row("connector as marker", r"'link': a marker is .*got SpringDamper", lambda: spring(lambda m, a, b: (a, mbs.SpringDamper()))),
    row("class as marker", r"'link': a marker is", lambda: spring(lambda m, a, b: (a, mbs.MassPoint))),
    row("method as marker", r"'link': a marker is", lambda: spring(lambda m, a, b: (a, b.at))),
    row("nested markers", r"'link': a marker is", lambda: spring(lambda m, a, b: (a, [[b]]))),
    row("markers in themselves", r"'link': a marker is", lambda: spring(lambda m, a, b: (a, nested_in_itself()))),
    row("keyword", r"'link' is a connector and takes no 'betwen'. Did you mean 'between'", lambda: attach(mbs.SpringDamper(), betwen=1)),
    row("initial value", r"'bob': MassPoint has no initial value 'postion'. Did you mean 'position'", lambda: point(postion=(1, 0, 0))),
    row("self", r"'link' joins 'a' with itself", lambda: spring(lambda m, a, b: (a, a))),
    row("self at a point", r"'link' joins 'b' with itself", lambda: spring(lambda m, a, b: (b, b.at(1, 0, 0)))),
    row("self in a list", r"'link' joins 'a' with itself", lambda: spring(lambda m, a, b: ([b, a], [m.ground, a]))),
    row("self on a coordinate", r"'link' joins 'a' with itself", lambda: coordinates(IDENTITY, lambda m, a, b: (a.coordinate(0), a.coordinate(0)))),
    row("grounds", r"'link' acts on ground only", lambda: spring(lambda m, a, b: (m.ground, m.ground.at(1, 0, 0)))),
    row("grounds in a list", r"'link' acts on ground only", lambda: spring(lambda m, a, b: ([m.ground, a], m.ground))),
    row("load on ground", r"'link' acts on ground only", lambda: load(mbs.Force((1, 0, 0)), lambda m, a, b: m.ground)),
    row("constraint on ground", r"'link' acts on ground only", lambda: attach(ROD, lambda m, a, b: (m.ground, m.ground.at(1)))),
    row("other model", r"'link': 'bob' belongs to another model", lambda: spring(other_model())),
    row("coordinates of other model", r"'link': 'bob' belongs to another model", lambda: coordinates(IDENTITY, other_model(lambda x: x.coordinates))),
    row("sensor on other model", r"'tip': 'bob' belongs to another model", lambda: sensed("tip", lambda b, m: mbs.Position(point()))),
    row("copy of the model", r"'spring': the model has no such instances of a body 'bob'", on_a_copy),
    row("coordinates for a point", r"'link' needs a point .*on 'a'", lambda: spring(lambda m, a, b: (a.coordinates, b))),
    row("coordinate for a point", r"'link' needs a point .*on 'a'", lambda: spring(lambda m, a, b: (a.coordinate(1), b))),
    row("body for coordinates", r"'link' joins coordinates: pass a.coordinates", lambda: coordinates(IDENTITY, lambda m, a, b: (m.ground, a))),
    row("point for coordinates", r"'link' needs coordinates .*on 'b'", lambda: coordinates(IDENTITY, lambda m, a, b: (m.ground, b.at(1)))),
    row("load on all coordinates", r"'link' acts on one coordinate, its marker has 3", lambda: load(mbs.CoordinateLoad(1.0), lambda m, a, b: a.coordinates)),
    row("load of a coordinate on a body", r"'link' joins coordinates", lambda: load(mbs.CoordinateLoad(1.0), lambda m, a, b: a)),
    row("tie of all coordinates", r"'link': CoordinateConstraint joins single coordinates, marker 1 has 3: pass body.coordinate\(i\)", lambda: coordinates(TIE())),
    row("tie of all coordinates first", r"'link': CoordinateConstraint joins single coordinates, marker 0 has 7", lambda: coordinates(TIE(), lambda m, a, b: (b.coordinates, a.coordinate(0)))),
    row("tie of a body", r"'link' joins coordinates: pass a.coordinates or a.coordinate\(i\)", lambda: coordinates(TIE(), lambda m, a, b: (m.ground, a))),
    row("tie of ground", r"'link' acts on ground only", lambda: coordinates(TIE(), lambda m, a, b: (m.ground, m.ground))),
    row("joint of coordinates", r"'link' needs a point .*on 'a'", lambda: attach(mbs.SphericalJoint(), lambda m, a, b: (m.ground, a.coordinates))),
    row("joint of one body", r"'link' joins 'b' with itself", lambda: attach(mbs.RevoluteJoint2D(), lambda m, a, b: (b, b.at(1)))),
    row("coordinate out of range", r"'bob' has coordinates 0 to 2, got 3", lambda: point().coordinate(3)),
    row("coordinate negative", r"'bob' has coordinates 0 to 2, got -1", lambda: point().coordinate(-1)),
    row("coordinate text", r"'bob' has coordinates 0 to 2, got 'x'", lambda: point().coordinate("x")),
    row("coordinate bool", r"'bob' has coordinates 0 to 2, got True", lambda: point().coordinate(True)),
    row("coordinate float", r"'bob' has coordinates 0 to 2, got 1.0", lambda: point().coordinate(1.0)),
    row("coordinate of ground", r"'ground' has no coordinates", lambda: mbs.Model().ground.coordinate(0)),
    row("at on a particle", r"'bob' is a MassPoint, which has no points but itself", lambda: point().at(1, 0, 0)),
    row("at with a vector", r"'top'.at takes numbers x, y and z.*Write at\(x, y, z\)", lambda: rigid().at((1, 2, 3))),
    row("at with a matrix", r"'top'.at takes numbers .*got shape \(2, 2\)", lambda: rigid().at(np.eye(2), 0, 0)),
    row("at with text", r"'top'.at takes three finite numbers .*\('x', 0.0, 0.0\)", lambda: rigid().at("x")),
    row("at with none", r"'top'.at takes three finite numbers", lambda: rigid().at(None)),
    row("at NaN", r"'top'.at takes three finite numbers .*nan", lambda: rigid().at(0, math.nan)),
    row("at with wrong lengths", r"'top'.at takes numbers .*\(2\); got shape \(3,\)", lambda: rigid(position=np.zeros((2, 3))).at([1, 2, 3])),
    row("at with length 1", r"'top'.at takes numbers .*\(2\); got shape \(1,\)", lambda: rigid(position=np.zeros((2, 3))).at([1], [1, 2])),
    row("at traced", r"'top'.at takes three finite numbers", lambda: traced(lambda x: rigid().at(x))),
    row("instance out of range", r"'bobs' has instances 0 to 1, got \[2\]", lambda: points()[1][2]),
    row("instance text", r"'bobs' has instances 0 to 1, got \['a'\]", lambda: points()[1]["a"]),
    row("instance of a place", r"'bob' has instances 0 to 0, got \[5\]", lambda: point().at()[5]),
    row("instances in rows", r"'bobs': instances are chosen by one index or list", lambda: points()[1][None]),
    row("torque on a particle", r"'link': Torque acts on rotation, but 'a' is a MassPoint", lambda: load(mbs.Torque((0, 0, 1)), lambda m, a, b: a)),
    row("rotational spring on a particle", r"'link': RotationalSpringDamper acts on rotation, but 'a'", lambda: attach(mbs.RotationalSpringDamper(), lambda m, a, b: (a, b))),
    row("body fixed force on a particle", r"'link': Force acts on rotation", lambda: load(mbs.Force((0, 0, 1), body_fixed=True), lambda m, a, b: a)),
    row("flag", r"'link': body_fixed must be True or False, got 'yes'", lambda: load(mbs.Force((0, 0, 1), body_fixed="yes"))),
    row("no body", r"the model has no body", lambda: mbs.Model().assemble()),
    row("no mass for gravity", r"'link': give mass0; 'ground' has no mass", lambda: attach(mbs.ConnectorGravity(), lambda m, a, b: (m.ground, a))),
    row("softening", r"'link': softening must be one of document, plummer, got 'soft'", lambda: attach(mbs.ConnectorGravity(softening="soft"), lambda m, a, b: (a, b))),
    row("softening array", r"'link': softening must be one of", lambda: without_warnings(lambda: attach(mbs.ConnectorGravity(softening=np.array(["document"] * 2)), lambda m, a, b: (a, b)))),
    row("field of wrong mass", r"'field': mass needs a value for each of the 3 markers, got 1", lambda: gravity_field(mass=[1.0])),
    row("field of negative mass", r"'field': mass\[1\] = -1.0 must be >= 0", lambda: gravity_field(mass=[1.0, -1.0, 1.0])),
    row("field of instances", r"'field': one AllPairsGravity acts among all", lambda: gravity_field(gravitational_constant=[1.0, 2.0, 3.0])),
    row("field of twice the same", r"'field': 'bobs' is among the markers twice", lambda: gravity_field(on=lambda m, x: [x, x[0]])),
    row("field of nothing", r"'field': AllPairsGravity needs at least one marker", lambda: gravity_field(on=lambda m, x: [])),
    row("field on ground", r"'field' acts on ground only", lambda: gravity_field(on=lambda m, x: m.ground, mass=[1.0])),
    row("field of ground without mass", r"'field': give mass; 'ground' has no mass", lambda: gravity_field(on=lambda m, x: [m.ground, x])),
    row("tile", r"'field': tile must be a whole number", lambda: gravity_field(tile=0)),
    row("sensor after element", r"sensor 'spring.force' would hide", element_after_sensor),
    row("sensor on many markers", r"'tip': a sensor has one marker, got 2 markers", lambda: sensed("tip", lambda b, m: mbs.Position([b, m]))),
    row("sensor on coordinates", r"'tip' needs a point", lambda: sensed("tip", lambda b, m: mbs.Position(b.coordinates))),
    row("sensor on a wrong name", r"'tip': there is no body 'bbo'. Did you mean 'bob'", lambda: sensed("tip", lambda b, m: mbs.Position("bbo"))),
    row("rotation of a particle", r"'tip': 'bob' is a MassPoint, which does not rotate", lambda: sensed("tip", lambda b, m: mbs.Rotation(b))),
    row("class of sensor", r"'tip': expected a sensor", lambda: sensed("tip", lambda b, m: mbs.Position)),
    row("number as sensor", r"'tip': expected a sensor .*got 3", lambda: sensed("tip", lambda b, m: 3)),
    row("output of no element", r"'tip': there is no sensor or element 'sprng'. Did you mean 'spring'", lambda: sensed("tip", lambda b, m: mbs.Output("sprng", "force"))),
    row("no such output", r"'tip': 'spring' has no output 'forces'. Did you mean 'force'", lambda: sensed("tip", lambda b, m: mbs.Output("spring", "forces"))),
    row("function of an unknown output", r"'tip': there is no sensor or element 'tp'", lambda: sensed("tip", lambda b, m: lambda t, outputs: outputs["tp"])),
    row("switch", r"there is no connector 'lnk'. Did you mean 'link'", lambda: switched("lnk")),
    row("switch a body", r"there is no connector 'a'", lambda: switched("a")),
    row("switch a list", r"there is no connector \[\]", lambda: switched([])),
    row("switch to", r"'link': active must be True or False, got 0", lambda: switched("link", 0)),
]  # fmt: skip


def joined(first, second, stiffness=1.0, count=5):
    model, bobs = points(count, position=np.arange(3.0 * count).reshape(count, 3))
    others = model.add("others", mbs.MassPoint(mass=np.ones(3)))
    spring = mbs.SpringDamper(stiffness=stiffness)
    model.add("link", spring, between=(first(model, bobs, others), second(model, bobs, others)))


COUNTS = [
    row("masses and positions", r"'bob': the numbers of instances differ: mass 2, position 3", lambda: point([1, 1], position=EYE)),
    row("positions of length 1", r"'bob': the numbers of instances differ: mass 2, position 1", lambda: point([1, 1], position=[[1, 2, 3]])),
    row("positions and velocities", r"differ: position 2, velocity 3", lambda: point(position=np.ones((2, 3)), velocity=EYE)),
    row("inertias", r"'top': the numbers of instances differ: inertia 2, position 3", lambda: rigid(np.array([EYE, EYE]), position=EYE)),
    row("rotations", r"'top': the numbers of instances differ: position 2, rotation 5", lambda: rigid(position=np.ones((2, 3)), rotation=np.zeros((5, 3)))),
    row("stiffnesses", r"'link': the numbers of instances differ: stiffness 2, between\[1\] 5", lambda: joined(lambda m, a, b: m.ground, lambda m, a, b: a, [1, 2])),
    row("stiffness of length 1", r"differ: stiffness 1, between\[1\] 5", lambda: joined(lambda m, a, b: m.ground, lambda m, a, b: a, [1])),
    row("sides", r"'link': the numbers of instances differ: between\[0\] 5, between\[1\] 3", lambda: joined(lambda m, a, b: a, lambda m, a, b: b)),
    row("lists", r"differ: between\[0\] 2, between\[1\] 3", lambda: joined(lambda m, a, b: [m.ground, a[0]], lambda m, a, b: b)),
    row("empty list", r"'link' has no instances: between\[0\] is empty", lambda: joined(lambda m, a, b: [], lambda m, a, b: a[0])),
    row("empty slice", r"'link' has no instances: between\[1\] is empty", lambda: joined(lambda m, a, b: m.ground, lambda m, a, b: a[5:])),
    row("both empty", r"'link' has no instances", lambda: joined(lambda m, a, b: a[5:], lambda m, a, b: [])),
    row("mixed coordinates", r"'link': scaling_marker1 must have shape \(3, 1\)", mixed_coordinates),
]  # fmt: skip


def cvc_user(function=lambda t, q, q_t, velocity_level: q, **options):
    return coordinates(CVC(constraint_user_function=function, **options))


def tie(factor=1.0, **options):
    return coordinates(TIE(factor, **options), lambda m, a, b: (m.ground, a.coordinate(0)))


def rod(distance, **initial):
    model = mbs.Model()
    bob = model.add("bob", mbs.MassPoint(mass=1.0), **initial)
    model.add("rod", mbs.DistanceConstraint(distance=distance), between=(model.ground, bob))
    return model.assemble()


def one_rod_of_three():
    model, bobs = points(3, position=[[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    model.add("rods", ROD, between=(model.ground, bobs))
    model.assemble()


LAWS = [
    row("type", r"'link': type must be one of linear, tensile.*got 'elastic'", lambda: planar(LSD(type="elastic"))),
    row("type list", r"'link': type must be one of", lambda: planar(LSD(type=["linear"]))),
    row("type array", r"'link': type must be one of", lambda: without_warnings(lambda: planar(LSD(type=np.array(["linear"] * 2))))),
    row("interpolation", r"'link': interpolation must be one of linear, smooth, got 3", lambda: planar(LSD(interpolation=3))),
    row("extrapolate", r"'link': extrapolate must be one of", lambda: planar(LSD(extrapolate="no"))),
    row("damper", r"'link': damper must be one of", lambda: planar(LSD(damper=None))),
    row("mask", r"'link': mask must be one of", lambda: planar(LSD(mask="moment"))),
    row("gate_damper", r"'link': gate_damper must be True or False, got 1", lambda: planar(LSD(gate_damper=1))),
    row("two flags", r"'link': dof_constraint must be a tuple of three booleans", lambda: planar(LSD(dof_constraint=(True, False)))),
    row("number of flags", r"'link': dof_constraint must be a tuple", lambda: planar(LSD(dof_constraint=3))),
    row("list of flags", r"'link': dof_constraint must be a tuple", lambda: planar(LSD(dof_constraint=[True, False, False]))),
    row("numbers as flags", r"'link': dof_constraint must be", lambda: planar(mbs.RotationalSpringDamper(dof_constraint=(0, 0, 1)))),
    row("gate width", r"'link': gate_width = 0.0 must be > 0", lambda: planar(LSD(gate_width=0.0))),
    row("no curve", r"'link': a curve is needed for type='tabular'", lambda: planar(LSD(type="tabular"))),
    row("curve for linear", r"'link': a curve is needed .*only there", lambda: planar(LSD(curve=[[0, 0], [1, 1]]))),
    row("short curve", r"'link': curve = .*needs two rows", lambda: planar(LSD(type="tabular", curve=[[0, 0]]))),
    row("empty curve", r"'link': curve .*needs two rows", lambda: planar(LSD(type="tabular", curve=np.zeros((0, 2))))),
    row("curve back", r"'link': curve .*increasing", lambda: planar(LSD(type="tabular", curve=[[0, 0], [1, 1], [1, 2]]))),
    row("curve of three columns", r"'link': curve must have shape \(n, 2\)", lambda: planar(LSD(type="tabular", curve=EYE))),
    row("curve flat", r"'link': curve must have shape \(n, 2\)", lambda: planar(LSD(type="tabular", curve=[0, 1]))),
    row("curve NaN", r"'link': curve\[1, 1\] = nan", lambda: planar(LSD(type="tabular", curve=[[0, 0], [1, math.nan]]))),
    row("curve function", r"'link': curve must be numbers", lambda: planar(LSD(type="tabular", curve=abs))),
    row("coincident start", r"'rod': its markers coincide at the start", lambda: rod(1.0)),
    row("coincident start, function", r"'rod': its markers coincide at the start", lambda: rod(lambda t: 1.0 + t)),
    row("one coincident start", r"'rods': its markers coincide", one_rod_of_three),
    row("distance function negative", r"'rod': distance must be > 0, the function gives -1 at t = 0", lambda: rod(lambda t: t - 1, position=(1, 0, 0))),
    row("distance function vector", r"'rod': distance must return a number, got shape \(3,\)", lambda: rod(lambda t: jnp.ones(3), position=(1, 0, 0))),
    row("no equations", r"'link': no equations", lambda: coordinates(CVC())),
    row("offset only", r"'link': no equations", lambda: coordinates(CVC(offset=[1.0]))),
    row("flat matrix", r"'link': scaling_marker1 must have shape \(n, n\)", lambda: coordinates(CVC(scaling_marker1=[1, 0, 0]))),
    row("columns", r"'link': scaling_marker1 must have shape \(1, 3\) .*got \(1, 2\)", lambda: coordinates(CVC(scaling_marker1=[[1, 0]]))),
    row("matrix of ground", r"'link': scaling_marker0 must have shape \(1, 0\)", lambda: coordinates(CVC(scaling_marker0=[[1, 0, 0]]))),
    row("rows", r"'link': quadratic_term_marker1 must have shape \(3, 3\)", lambda: coordinates(CVC(scaling_marker1=EYE, quadratic_term_marker1=EYE[:1]))),
    row("matrix text", r"'link': scaling_marker1 must be numbers", lambda: coordinates(CVC(scaling_marker1="eye"))),
    row("matrix function", r"'link': scaling_marker1 must be numbers", lambda: coordinates(CVC(scaling_marker1=abs))),
    row("offset length", r"'link': offset must have length 3, got 1", lambda: coordinates(CVC(scaling_marker1=EYE, offset=[1.0]))),
    row("offset scalar", r"'link': offset must have shape \(n\).*got shape \(\)", lambda: coordinates(CVC(scaling_marker1=EYE, offset=1.0))),
    row("offset function", r"'link': offset must return an array of shape \(3,\), got shape \(1,\)", lambda: coordinates(CVC(scaling_marker1=EYE, offset=lambda t: [t]))),
    row("velocity_level", r"'link': velocity_level must be True or False, got 'yes'", lambda: coordinates(CVC(scaling_marker1=EYE, velocity_level="yes"))),
    row("tie factor", r"'link': factor must be numbers of shape \(\), got 'twice'", lambda: tie("twice")),
    row("tie factor function", r"'link': factor must be numbers", lambda: tie(lambda t: 2.0)),
    row("tie offset", r"'link': offset .*got shape \(1, 1\)", lambda: tie(offset=[[1.0]])),
    row("tie offset infinite", r"'link': offset = inf is not finite", lambda: tie(offset=math.inf)),
    row("tie offset function", r"'link': offset must return a number, got shape \(1,\)", lambda: tie(offset=lambda t: [t])),
    row("tie offset NaN", r"'link': a user function gives NaN", lambda: tie(offset=lambda t: t * math.nan)),
    row("tie velocity_level", r"'link': velocity_level must be True or False, got 1", lambda: tie(velocity_level=1)),
    row("function and matrix", r"'link': constraint_user_function replaces the matrices", lambda: cvc_user(scaling_marker1=EYE)),
    row("function and offset", r"'link': constraint_user_function replaces", lambda: cvc_user(offset=[1.0])),
    row("Jacobian alone", r"'link': jacobian_user_function needs a constraint_user_function", lambda: coordinates(CVC(scaling_marker1=EYE, jacobian_user_function=abs))),
    row("no function", r"'link': constraint_user_function must be a function, got 3.0", lambda: cvc_user(3.0)),
    row("no Jacobian function", r"'link': jacobian_user_function must be a function", lambda: cvc_user(jacobian_user_function=EYE)),
    row("constraint scalar", r"'link': constraint_user_function must return a vector, got shape \(\)", lambda: cvc_user(lambda t, q, *_: q[0])),
    row("constraint none", r"'link': constraint_user_function must return a vector, got None", lambda: cvc_user(lambda *_: None)),
    row("constraint NaN", r"'link': a user function gives NaN", lambda: cvc_user(lambda t, q, *_: q * math.nan)),
    row("Jacobian shape", r"'link': jacobian_user_function must return an array of shape \(3, 3\), got shape \(3,\)", lambda: cvc_user(jacobian_user_function=lambda t, q, *_: q)),
    row("Jacobian none", r"'link': jacobian_user_function must return .*got None", lambda: cvc_user(jacobian_user_function=lambda *_: None)),
    row("Jacobian wrong", r"'link': jacobian_user_function is not the derivative.*\[0, 0\] is 2, exact 1", lambda: cvc_user(jacobian_user_function=lambda *_: 2 * EYE)),
    row("Jacobian NaN", r"'link': jacobian_user_function is not the derivative", lambda: cvc_user(jacobian_user_function=lambda *_: np.nan * EYE)),
    row("force not a function", r"'link': spring_force_user_function must be a function, got 3", lambda: user(3)),
    row("force vector", r"'link': spring_force_user_function must return a number, got shape \(3,\)", lambda: user(lambda *_: jnp.ones(3))),
    row("force of length 1", r"'link': spring_force_user_function must return a number, got shape \(1,\)", lambda: user(lambda t, x, *_: [x])),
    row("force none", r"'link': spring_force_user_function must return a number, got None", lambda: user(lambda *_: None)),
    row("force text", r"'link': spring_force_user_function must return a number, got '1'", lambda: user(lambda *_: "1")),
    row("force complex", r"'link': spring_force_user_function must return a number, got 1j", lambda: user(lambda *_: 1j)),
    row("force bool", r"'link': spring_force_user_function must return a number, got True", lambda: user(lambda *_: True)),
    row("force dictionary", r"'link': spring_force_user_function must return a number", lambda: user(lambda t, x, *_: {"f": x})),
    row("force function", r"'link': spring_force_user_function must return a number", lambda: user(lambda *_: abs)),
    row("force NaN", r"'link': a user function gives NaN or infinity", lambda: user(lambda *_: math.nan)),
    row("force infinite", r"'link': a user function gives NaN or infinity", lambda: user(lambda t, x, *_: jnp.exp(1e9 + x))),
    row("load scalar", r"'link': load_vector must return an array of shape \(3,\), got shape \(\)", lambda: load(mbs.Force(lambda t: t))),
    row("torque scalar", r"'link': load_vector must return an array of shape \(3,\)", lambda: load(mbs.Torque(lambda t: 1.0))),
    row("load none", r"'link': load_vector must return .*got None", lambda: load(mbs.Force(lambda t: None))),
    row("coordinate load vector", r"'link': load must return a number, got shape \(1,\)", lambda: load(mbs.CoordinateLoad(lambda t: [t]), lambda m, a, b: a.coordinate(0))),
]  # fmt: skip

FAILING = [
    row("raises", r"'link': spring_force_user_function fails: ZeroDivisionError: division", lambda: user(raising)),
    row("few arguments", r"'link': spring_force_user_function fails: TypeError", lambda: user(lambda t: t)),
    row("no Exudyn function", r"'link': spring_force_user_function fails: TypeError", lambda: user(mbs.exudyn_function(3))),
    row("asks for the sign", r"'link': spring_force_user_function cannot be traced.*jnp.where", lambda: user(lambda t, x, *_: x if x > 0 else 0.0)),
    row("asks for the time", r"'link': load cannot be traced.*jnp.where", lambda: load(mbs.CoordinateLoad(lambda t: 1.0 if t < 1 else 0.0), lambda m, a, b: a.coordinate(0))),
    row("float()", r"'link': load_vector cannot be traced", lambda: load(mbs.Force(lambda t: [math.sin(t), 0, 0]))),
    row("numpy", r"'link': load_vector cannot be traced", lambda: load(mbs.Force(lambda t: np.array([np.sin(t), 0, 0])))),
    row("load raises", r"'link': load_vector fails: ZeroDivisionError", lambda: load(mbs.Force(raising))),
    row("closes over a traced value", r"'link': the function load_vector uses a traced value", lambda: traced(lambda x: load(mbs.Force(lambda t: [x, 0, 0])))),
    row("traced value as a default", r"'link': the function load_vector uses a traced value", lambda: traced(lambda x: load(mbs.Force(lambda t, x=x: [x, 0, 0])))),
    row("class as a function", r"'link': load cannot be traced", lambda: load(mbs.CoordinateLoad(float), lambda m, a, b: a.coordinate(0))),
    row("distance raises", r"'rod': distance fails: ZeroDivisionError", lambda: rod(raising, position=(1, 0, 0))),
    row("offset raises", r"'link': offset fails: ZeroDivisionError", lambda: tie(offset=raising)),
    row("offset asks for the time", r"'link': offset cannot be traced.*jnp.where", lambda: tie(offset=lambda t: 1.0 if t < 1 else 0.0)),
    row("constraint raises", r"'link': constraint_user_function fails: ZeroDivisionError", lambda: cvc_user(raising)),
    row("Jacobian raises", r"'link': jacobian_user_function fails: ZeroDivisionError", lambda: cvc_user(jacobian_user_function=raising)),
    row("sensor raises", r"'tip': the function of \(t, outputs\) fails: ZeroDivisionError", lambda: sensed("tip", lambda b, m: raising)),
    row("sensor none", r"'tip': the function of \(t, outputs\) fails", lambda: sensed("tip", lambda b, m: lambda t, outputs: None)),
    row("sensor of no arguments", r"'tip': the function of \(t, outputs\) fails: TypeError", lambda: sensed("tip", lambda b, m: lambda: 1.0)),
]  # fmt: skip

PARAMS = [
    row("no dictionary", r"params must be a dictionary.*got \[1\]", lambda: changed([1])),
    row("none", r"params must be a dictionary.*got None", lambda: changed(None)),
    row("text", r"params must be a dictionary", lambda: changed("spring.stiffness")),
    row("no such element", r"there is no element 'lnik'. Did you mean 'link'", lambda: changed({"lnik": {"stiffness": 1.0}})),
    row("no such element, empty", r"there is no element 'lnik'", lambda: changed({"lnik": {}})),
    row("dotted", r"there is no element 'link.stiffness'. Did you mean 'link'", lambda: changed({"link.stiffness": 1.0})),
    row("no such parameter", r"'link' has no parameter 'stifness'. Did you mean 'stiffness'", lambda: changed({"link": {"stifness": 1.0}})),
    row("deeper", r"'link' has no parameter 'bogus'", lambda: changed({"link": {"bogus": {"a": {"b": 1.0}}}})),
    row("too deep", r"'link.stiffness' is an array, got a dictionary", lambda: changed({"link": {"stiffness": {"value": 1.0}}})),
    row("too shallow", r"'link' must be a dictionary of parameters", lambda: changed({"link": 1.0})),
    row("number as name", r"there is no element '3'", lambda: changed({3: {"stiffness": 1.0}})),
    row("pair as name", r"there is no element '\('link', 'stiffness'\)'", lambda: changed({("link", "stiffness"): 1.0})),
    row("number as parameter", r"'link' has no parameter 'None'", lambda: changed({"link": {None: 1.0}})),
    row("huge number as name", r"there is no element 'a int'", lambda: changed({HUGER: 1.0})),
    row("long name", r"there is no element ''aaa", lambda: changed({"a" * 10_000: 1.0})),
    row("ground", r"there is no element 'ground'", lambda: changed({"ground": {"mass": 1.0}})),
    row("vector for number", r"'link': stiffness must have shape \(\), got shape \(3,\)", lambda: changed({"link": {"stiffness": [1, 2, 3]}})),
    row("row for number", r"'link': stiffness must have shape \(\), got shape \(1,\)", lambda: changed({"link": {"stiffness": [1.0]}})),
    row("number for vector", r"'a': position must have shape \(3,\), got shape \(\)", lambda: changed({"a": {"position": 1.0}})),
    row("row for vector", r"'a': position must have shape \(3,\), got shape \(1, 3\)", lambda: changed({"a": {"position": [[1, 2, 3]]}})),
    row("number for instances", r"'bobs': mass must have shape \(2,\), got shape \(\)", lambda: changed({"bobs": {"mass": 1.0}}, MANY)),
    row("row for instances", r"'bobs': mass must have shape \(2,\), got shape \(1,\)", lambda: changed({"bobs": {"mass": [1.0]}}, MANY)),
    row("gravity", r"'gravity': acceleration must have shape \(3,\)", lambda: changed({"gravity": {"acceleration": -9.81}})),
    row("ragged", r"'a': position must be numbers of shape \(3,\)", lambda: changed({"a": {"position": [[1], [1, 2]]}})),
    row("string", r"'a': mass must be numbers of shape \(\), got 'heavy'", lambda: changed({"a": {"mass": "heavy"}})),
    row("string of digits", r"'a': mass must be numbers", lambda: changed({"a": {"mass": "5.0"}})),
    row("bool", r"'a': mass must be numbers .*got True", lambda: changed({"a": {"mass": True}})),
    row("complex", r"'a': mass must be numbers", lambda: changed({"a": {"mass": 1 + 1j}})),
    row("complex array", r"'a': mass must be numbers", lambda: changed({"a": {"mass": np.array(1 + 1j)}})),
    row("none as value", r"'a': mass must be numbers .*got None", lambda: changed({"a": {"mass": None}})),
    row("function", r"'a': mass must be numbers", lambda: changed({"a": {"mass": abs}})),
    row("int overflow", r"'a': mass must be numbers", lambda: changed({"a": {"mass": HUGE}})),
    row("object", r"'a': mass must be numbers .*a Opaque", lambda: changed({"a": {"mass": Opaque()}})),
    row("NaN", r"'a': mass = nan is not finite", lambda: changed({"a": {"mass": math.nan}})),
    row("inf", r"'a': position\[0\] = inf", lambda: changed({"a": {"position": [math.inf, 0, 0]}})),
    row("negative mass", r"'a': mass = -1.0 must be > 0", lambda: changed({"a": {"mass": -1.0}})),
    row("tiny mass", r"'a': mass = 1e-320 is so small", lambda: changed({"a": {"mass": 1e-320}})),
    row("negative length", r"'link': reference_length = -1.0 must be >= 0", lambda: changed({"link": {"reference_length": -1}})),
    row("inertia", r"'b': inertia = .*positive definite", lambda: changed({"b": {"inertia": -EYE}}, RIGID)),
    row("quaternion", r"'b': rotation must have shape \(3,\), .* Parameters are rotation vectors", lambda: changed({"b": {"rotation": [1, 0, 0, 0]}}, RIGID)),
    row("in simulate", r"'link' has no parameter 'stifness'", lambda: run(params={"link": {"stifness": 1.0}})),
    row("no dictionary in simulate", r"params must be a dictionary", lambda: run(params=3)),
]  # fmt: skip


def single_precision(**arguments):
    with jax.enable_x64(False):
        return run(spring(stiffness=1.0), **arguments)


def mass_in_single_precision(mass):
    with jax.enable_x64(False):
        model = mbs.Model()
        model.add("bob", mbs.MassPoint(mass=mass))
        return model.assemble()


RUNS = [
    row("model", r"simulate takes a System, got Model. Call model.assemble\(\)", lambda: run(mbs.Model())),
    row("nothing", r"simulate takes a System, got NoneType", lambda: run(None)),
    row("t1 before", r"t1 = -1.0 must be after t0 = 0.0", lambda: run(t1=-1.0)),
    row("t1 at t0", r"t1 = 2.0 must be after t0 = 2.0", lambda: run(t0=2, t1=2)),
    row("t1 NaN", r"t1 = nan is not finite", lambda: run(t1=math.nan)),
    row("t0 NaN", r"t0 = nan is not finite", lambda: run(t0=math.nan)),
    row("t1 infinite", r"t1 = inf is not finite", lambda: run(t1=math.inf)),
    row("t1 text", r"t1 must be a number, got '1'", lambda: run(t1="1")),
    row("t1 none", r"t1 must be a number, got None", lambda: run(t1=None)),
    row("t1 bool", r"t1 must be a number, got True", lambda: run(t1=True)),
    row("t1 list", r"t1 must be a number, got \[1.0\]", lambda: run(t1=[1.0])),
    row("t1 array", r"t1 must be a number, got \[1.0\]", lambda: run(t1=np.ones(1))),
    row("t1 complex", r"t1 must be a number", lambda: run(t1=1 + 0j)),
    row("t1 overflow", r"t1 must be a number", lambda: run(t1=HUGE)),
    row("t1 traced", r"t1 must be a plain number, not a traced one", lambda: traced(lambda x: run(t1=x))),
    row("dt traced", r"dt must be a plain number, not a traced one", lambda: traced(lambda x: run(dt=x))),
    row("dt zero", r"dt = 0.0 must be > 0", lambda: run(dt=0)),
    row("dt negative", r"dt = -0.1 must be > 0", lambda: run(dt=-0.1)),
    row("dt NaN", r"dt = nan is not finite", lambda: run(dt=math.nan)),
    row("dt text", r"dt must be a number, got 'small'", lambda: run(dt="small")),
    row("dt tiny", r"dt = 1e-12 makes more than 1e\+08 steps", lambda: run(dt=1e-12)),
    row("dt subnormal", r"dt = 5e-324 makes more than 1e\+08 steps", lambda: run(dt=5e-324)),
    row("saveat after", r"saveat reaches from 0.0 to 2.0, outside of t0 = 0.0 to t1 = 1.0", lambda: run(saveat=[0, 2])),
    row("saveat before", r"saveat reaches from -1.0", lambda: run(saveat=[-1, 0])),
    row("saveat unsorted", r"saveat must be in ascending order", lambda: run(saveat=[0.0, 0.5, 0.2])),
    row("saveat NaN", r"saveat\[1\] is not finite", lambda: run(saveat=[0.0, math.nan])),
    row("saveat empty", r"saveat must be a list of times .*got \[\]", lambda: run(saveat=[])),
    row("saveat number", r"saveat must be a list of times .*got 0.5", lambda: run(saveat=0.5)),
    row("saveat nested", r"saveat must be a list of times", lambda: run(saveat=[[0.0, 1.0]])),
    row("saveat ragged", r"saveat must be a list of times", lambda: run(saveat=[[0.0], [0.5, 1.0]])),
    row("saveat text", r"saveat must be a list of times .*got 'end'", lambda: run(saveat="end")),
    row("saveat texts", r"saveat must be a list of times", lambda: run(saveat=["0.1", "0.2"])),
    row("saveat bools", r"saveat must be a list of times", lambda: run(saveat=[False, True])),
    row("saveat complex", r"saveat must be a list of times", lambda: run(saveat=np.array([0j, 1]))),
    row("saveat dictionary", r"saveat must be a list of times", lambda: run(saveat={"ts": [0.0]})),
    row("saveat traced", r"saveat must be plain numbers, not traced", lambda: traced(lambda x: run(saveat=x[None]))),
    row("saveat traced in a list", r"saveat must be plain numbers, not traced", lambda: traced(lambda x: run(saveat=[0.0, x]))),
    row("saveat traced in SaveAt", r"saveat must be plain numbers, not traced", lambda: traced(lambda x: run(saveat=diffrax.SaveAt(ts=[x])))),
    row("SaveAt outside", r"saveat reaches from 0.0 to 2.0", lambda: run(saveat=diffrax.SaveAt(ts=[0.0, 2.0]))),
    row("SaveAt steps outside", r"saveat reaches from 0.0 to 2.0", lambda: run(saveat=diffrax.SaveAt(ts=[0.0, 2.0], steps=True))),
    row("SaveAt class", r"saveat must be a list of times or a diffrax.SaveAt", lambda: run(saveat=diffrax.SaveAt)),
    row("SaveAt dense", r"dense output.*not offered", lambda: run(saveat=diffrax.SaveAt(dense=True))),
    row("SaveAt of nothing", r"not offered", lambda: run(saveat=diffrax.SaveAt())),
    row("SaveAt function", r"functions.*not offered", lambda: run(saveat=diffrax.SaveAt(t1=True, fn=lambda t, y, args: y[:1]))),
    row("SaveAt states", r"states of the solver.*not offered", lambda: run(saveat=diffrax.SaveAt(t1=True, solver_state=True))),
    row("several SaveAt", r"not offered", lambda: run(saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(t0=True)]))),
    row("solver text", r"solver must be a diffrax solver .*got 'rk4'", lambda: run(solver="rk4")),
    row("solver class", r"solver must be a diffrax solver", lambda: run(solver=diffrax.Tsit5)),
    row("root finder none", r"Kvaerno5: root_finder must be diffrax.VeryChord or", lambda: run(solver=diffrax.Kvaerno5(root_finder=None), dt=0.1)),
    row("root finder by name", r"Kvaerno5: root_finder must be .*, got 'newton'", lambda: run(solver=diffrax.Kvaerno5(root_finder="newton"), dt=0.1)),
    row("rtol zero with dt", r"rtol and atol must be > 0, got 0.0", lambda: run(solver=diffrax.Kvaerno5(), dt=0.1, rtol=0)),
    row("atol zero", r"rtol and atol must be > 0, got 1e-08 and 0.0", lambda: run(atol=0)),
    row("spectral radius too large", r"spectral_radius must be from 0 to 1, a plain number; got 2", lambda: mbs.GeneralizedAlpha(2)),
    row("spectral radius NaN", r"spectral_radius must be from 0 to 1, a plain number; got nan", lambda: mbs.GeneralizedAlpha(math.nan)),
    row("spectral radius text", r"spectral_radius must be from 0 to 1, a plain number; got 'a'", lambda: mbs.GeneralizedAlpha("a")),
    row("spectral radius traced", r"spectral_radius must be from 0 to 1, a plain number", lambda: traced(mbs.GeneralizedAlpha)),
    row("symplectic solver", r"SemiImplicitEuler is not among the solvers", lambda: run(solver=diffrax.SemiImplicitEuler(), dt=0.1)),
    row("stochastic solver", r"EulerHeun is not among the solvers", lambda: run(solver=diffrax.EulerHeun(), dt=0.1)),
    row("no error estimate", r"RungeKutta4 has no error estimate: pass dt", lambda: run(solver=mbs.RungeKutta4())),
    row("rtol zero", r"rtol and atol must be > 0", lambda: run(rtol=0.0)),
    row("rtol negative", r"rtol and atol must be > 0", lambda: run(rtol=-1e-6)),
    row("rtol NaN", r"rtol = nan is not finite", lambda: run(rtol=math.nan)),
    row("rtol text with dt", r"rtol must be a number", lambda: run(dt=0.1, rtol="tight")),
    row("rtol text", r"rtol must be a number", lambda: run(rtol="tight")),
    row("rtol traced", r"rtol must be a plain number", lambda: traced(lambda x: run(rtol=x))),
    row("atol negative", r"rtol and atol must be > 0", lambda: run(atol=-1.0)),
    row("atol vector", r"atol must be a number", lambda: run(atol=[1e-6, 1e-3])),
    row("max_steps", r"max_steps must be a whole number from 1 on, got 0", lambda: run(max_steps=0)),
    row("max_steps float", r"max_steps must be a whole number from 1 on, got 10.5", lambda: run(max_steps=10.5)),
    row("max_steps none", r"max_steps must be a whole number", lambda: run(max_steps=None)),
    row("adjoint", r"adjoint must be a diffrax adjoint or None, got 'reverse'", lambda: run(adjoint="reverse")),
    row("adjoint class", r"adjoint must be a diffrax adjoint", lambda: run(adjoint=diffrax.DirectAdjoint)),
    row("rtol in single precision", r"rtol = 1e-08 cannot be reached in single precision", lambda: single_precision(rtol=1e-8)),
    row("mass too large for single precision", r"'bob': mass = 1e\+300 is too large for float32", lambda: mass_in_single_precision(1e300)),
    row("mass too small for single precision", r"'bob': mass = 1e-39 is so small", lambda: mass_in_single_precision(1e-39)),
]  # fmt: skip


@pytest.mark.parametrize(("match", "write", "options"), NUMBERS + NAMES + WIRING + COUNTS + LAWS + PARAMS + RUNS)
def test_is_refused_by_name(match, write, options):
    refused(write, match, **options)


@pytest.mark.parametrize(("match", "write", "options"), FAILING)
def test_failing_user_function_is_named(match, write, options):
    refused(write, match, by_user_function=True)


@pytest.mark.parametrize(
    ("match", "name"),
    [
        (r"there is no sensor or element 'sprng'. Did you mean 'link'|Known: a, b, link", "sprng.force"),
        (r"'link' has no output 'forces'. Did you mean 'force'", "link.forces"),
        (r"'a' has no output 'posiion'. Did you mean 'position'", "a.posiion"),
        (r"'link' has no output ''", "link"),
        (r"there is no sensor or element 'ground'", "ground.position"),
        (r"there is no sensor or element '3'", 3),
        (r"there is no sensor or element '\['", ["a"]),
    ],
)
def test_unknown_output_is_refused(match, name):
    rows = jnp.zeros((2, 20))
    count = SYSTEM.structure.coordinate_count, SYSTEM.structure.velocity_count
    solution = mbs.Solution(SYSTEM, rows[:, 0], rows[:, : count[0]], rows[:, : count[1]], jnp.asarray(0), {})
    refused(lambda: solution[name], match)


@pytest.mark.parametrize("field", ["stiffness", "damping"])
@pytest.mark.parametrize("value", [-1.0, [1.0, -1.0]])
def test_negative_stiffness_or_damping_warns(field, value):
    model, bobs = points(2, position=np.ones((2, 3)))
    with pytest.warns(UserWarning, match=f"'link': {field} is negative") as caught:
        model.add("link", mbs.SpringDamper(**{field: value}), between=(model.ground, bobs))
    assert caught[0].filename == __file__


def test_negative_parameters_warn_as_in_the_model_where_they_can_be_seen():
    model, bobs = points(2, position=np.ones((2, 3)))
    model.add("link", mbs.SpringDamper(stiffness=1.0), between=(model.ground, bobs))
    system = model.assemble()
    with pytest.warns(UserWarning, match="'link': stiffness is negative") as caught:
        system.with_params({"link": {"stiffness": -4.0}})
    assert caught[0].filename == __file__
    jax.eval_shape(lambda k: system.with_params({"link": {"stiffness": k}}).gravity, -4.0)


ACCEPTED = {
    "integers": lambda: point(1, position=(1, 2, 3)),
    "integer beyond 64 bits": lambda: point(10**25),
    "large mass": lambda: point(1e300),
    "minus zero": lambda: point(position=(-0.0, 0, 0)),
    "minus zero stiffness": lambda: spring(stiffness=-0.0),
    "array of JAX": lambda: point(jnp.asarray(2.0), position=jnp.arange(3)),
    "single precision array": lambda: point(np.float32(2.0), position=np.ones(3, np.float32)),
    "traced": lambda: jax.eval_shape(lambda m: spring_between_masses(m).params(), 1.0),
    "traced in a list": lambda: jax.eval_shape(lambda x: moved(x).params(), 1.0),
    "instances": lambda: point([1.0, 2.0], position=(0, 0, 0), velocity=np.ones((2, 3))),
    "quaternions": lambda: rigid(position=np.zeros((2, 3)), rotation=[[1, 0, 0, 0], [0, 1, 0, 0]]),
    "matrices": lambda: rigid(position=EYE, rotation=[EYE, EYE, EYE]),
    "one matrix": lambda: rigid(position=np.zeros((2, 3)), rotation=EYE),
    "float of a user function": lambda: user(lambda *_: 3.0),
    "integer of a user function": lambda: user(lambda *_: 3),
    "numpy of a user function": lambda: user(lambda *_: np.float32(3)),
    "list of a load": lambda: load(mbs.Force(lambda t: [t, 0, 0])),
    "list of a constraint": lambda: cvc_user(lambda t, q, *_: [q[0] - t]),
    "ground's coordinates": lambda: coordinates(IDENTITY, lambda m, a, b: (m.ground.coordinates, a.coordinates)),
    "coupled coordinates": lambda: coordinates(
        CVC(scaling_marker0=[[1.0]], scaling_marker1=[[1.0]]), lambda m, a, b: (a.coordinate(0), a.coordinate(np.int64(1)))
    ),
    "marker of a copied model": lambda: copied(),
    "ground with a mass": lambda: gravity_field(on=lambda m, x: [m.ground, x], mass=np.ones(4)),
    "name of 100": lambda: named("a" * 100),
    "params in lists": lambda: changed({"a": {"position": [1, 2, 3]}, "link": {}}),
    "params in float32": lambda: changed({"a": {"mass": np.float32(2)}}),
    "traced params": lambda: jax.eval_shape(lambda x: changed({"a": {"mass": -x, "position": [x, 0, 0]}}), 1.0),
}  # fmt: skip


def spring_between_masses(mass):
    model = mbs.Model()
    model.add("a", mbs.MassPoint(mass=mass))
    return model.assemble()


def moved(x):
    model = mbs.Model()
    model.add("a", mbs.MassPoint(mass=1.0), position=[x, 0.0, 0])
    return model.assemble()


def copied():
    model, bobs = points()
    other = copy.deepcopy(model)
    other.add("spring", mbs.SpringDamper(), between=(other.ground, bobs))
    return other.assemble()


@pytest.mark.parametrize("write", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_is_accepted(write):
    write()


def test_module_of_a_user_function_is_a_parameter():
    class Cubic(eqx.Module):
        c: jax.Array

        def __call__(self, t, stretch, *_):
            return self.c * stretch**3

    new = changed({"link": {"spring_force_user_function": {"c": 2.0}}}, user(Cubic(jnp.asarray(1.0))))
    assert new.params()["link"]["spring_force_user_function"]["c"] == 2.0


# Garbage

SOME_NUMBERS = st.one_of(
    st.floats(), st.integers(), st.sampled_from([HUGE, 1e-320, 1e300, -0.0, 10**25, np.float32(1), np.int8(1)])
)
ATOMS = st.one_of(
    SOME_NUMBERS,
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.sampled_from([abs, float, int, object(), raising, mbs.MassPoint, mbs.MassPoint(1.0)]),
)
ARRAYS = st.builds(
    lambda shape, x, kind: np.full(shape, x).astype(kind),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from([0.0, 1.0, -1.0, 0.5]),
    st.sampled_from([np.float64, np.float32, np.int64, bool, complex, str, object]),
)
GARBAGE = st.recursive(
    ATOMS | ARRAYS | ARRAYS.filter(lambda x: x.dtype not in (str, object) and x.dtype.kind in "fi").map(jnp.asarray),
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip

fuzz = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)


def survives(write):
    """One of the three errors, or none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is negative|A JAX array is being set as static")
        try:
            return write()
        except ERRORS:
            return None


@fuzz
@given(GARBAGE, GARBAGE)
def test_garbage_as_body(first, second):
    survives(lambda: point(first, position=second))
    survives(lambda: mbs.Model(first))
    survives(lambda: mbs.Model().add("top", mbs.RigidBody(1.0, EYE), position=first, rotation=second))
    survives(lambda: mbs.Model().add("top", mbs.RigidBody(1.0, first, second)))
    survives(lambda: mbs.Model().add("m", mbs.Mass1D(1.0, first, second)))


@fuzz
@given(GARBAGE, GARBAGE)
def test_garbage_as_parameters_of_connectors(first, second):
    def points_of_two(m, a, b):
        return a, b

    survives(lambda: attach(mbs.SpringDamper(first, second), points_of_two))
    survives(lambda: attach(LSD(stiffness=first, type="tabular", curve=second), points_of_two))
    survives(lambda: attach(LSD(type=first, dof_constraint=second), points_of_two))
    survives(lambda: attach(mbs.ConnectorGravity(mass0=first, softening=second), points_of_two))
    survives(lambda: attach(CVC(scaling_marker1=first, offset=second), lambda m, a, b: (m.ground, a.coordinates)))
    survives(lambda: attach(TIE(first, offset=second), lambda m, a, b: (m.ground, a.coordinate(0))))
    survives(lambda: attach(mbs.Force(first, second), on=lambda m, a, b: b))
    survives(lambda: attach(mbs.DistanceConstraint(first), points_of_two))
    survives(lambda: attach(mbs.AllPairsGravity(mass=first, tile=second), on=lambda m, a, b: [a, b]))


@fuzz
@given(GARBAGE, GARBAGE)
def test_garbage_as_markers(first, second):
    survives(lambda: spring(lambda m, a, b: (first, second)))
    survives(lambda: spring(lambda m, a, b: (a, first)))
    survives(lambda: spring(lambda m, a, b: first))
    survives(lambda: attach(mbs.Force((1, 0, 0)), on=lambda m, a, b: first))
    survives(lambda: rigid().at(first, second))
    survives(lambda: point().coordinate(first))
    survives(lambda: points()[1][first])
    survives(lambda: attach(first, lambda m, a, b: second))
    survives(lambda: sensed("tip", lambda b, m: mbs.Position(first)))


@fuzz
@given(GARBAGE | st.text(max_size=20))
def test_garbage_as_names(name):
    survives(lambda: named(name))
    survives(lambda: sensed(name, lambda b, m: mbs.Position(b)))
    survives(lambda: switched(name))


KEYS = st.sampled_from(["a", "link", "gravity", "mass", "position", "stiffness", "acceleration"]) | ATOMS.filter(
    lambda x: type(x).__hash__ is not None and not isinstance(x, (mbs.MassPoint,))
)


@fuzz
@given(st.recursive(GARBAGE, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8))
def test_garbage_as_parameters(params):
    survives(lambda: changed(params))


@fuzz
@given(st.sampled_from(["a", "b", "link", "gravity"]), st.data())
def test_garbage_as_known_parameter(element, data):
    field = data.draw(st.sampled_from(sorted(SYSTEM.params()[element])))
    value = data.draw(GARBAGE)
    found = survives(lambda: changed({element: {field: value}}))
    assert found is None or jax.tree.map(jnp.shape, found.params()) == jax.tree.map(jnp.shape, SYSTEM.params())


@fuzz
@given(
    st.dictionaries(
        st.sampled_from(["t0", "t1", "dt", "saveat", "rtol", "atol", "solver", "adjoint", "max_steps", "params"]),
        GARBAGE | st.floats(0, 2),
    )
)
def test_garbage_as_arguments_of_a_run(arguments):
    with pytest.MonkeyPatch.context() as patch:
        nothing = mbs.Solution(SYSTEM, None, None, None, np.asarray(0), {})
        patch.setitem(mbs.simulate.__globals__, "_simulate", lambda *_: nothing)
        survives(lambda: run(**arguments))
