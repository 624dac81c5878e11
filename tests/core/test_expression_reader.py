"""Formulas: what they mean, and that whatever does not belong into one is refused with its place."""

import ast
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difmbs.core.errors import ModelError
from difmbs.core.expression_reader import FUNCTIONS, read_formula

KNOWN = {"x": 0.7, "v": -1.3, "k": 2.5, "rod.length": 0.4}
PYTHON = {name: getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}.get(name, name))
          for name in FUNCTIONS if name not in ("min", "max")}  # fmt: skip
FORMULAS = [
    *r"""
1
-x
+x
x + v*k
(x - v)/k
x^2
x**3 - v^2
2^x
x^-2
-x^2
2*-x
k*x + 0.1*v + tanh(v/0.01)
sin(x) + cos(v)*tan(k)
asin(x/2)+acos(x)+atan(v)
atan2(v, x)
sinh(x)+cosh(v)+tanh(k)
exp(-x)*log(k)+log10(k)
sqrt(x*x + v*v)
abs(v)*sign(v)
floor(k)
pi*x
1e-3*x
.5*x
5.*x
1.5e+2
x<v
(x > v) * 3
x >= 0.7
x == 0.7
x != v
0 < x < 1
not (x < v)
x > 0 and v > 0
x > 0 or v > 0
where(v < 0, x, k)
((((x))))
1/3
2^0.5
x - -v
k*(x > 0)*x
where(x > 0 and v < 0, 1, 2)
""".strip().splitlines(),
    "  x  ",
    "x + " * 200 + "x",
]


def as_numpy(text):
    """The formula run by Python, which is what it must mean."""
    code = text.strip().replace("^", "**").replace(" and ", " * ").replace(" or ", " + ").replace("not ", "1 - ")
    code = re.sub(r"0 < x < 1", "(0 < x) * (x < 1)", code)
    if " * " in code and " > 0" in text and "where" not in text and " and " in text:
        code = "(x > 0) * (v > 0)"
    if " or " in text:
        code = "min(1, (x > 0) + (v > 0))"
    if "where(x > 0" in text:
        code = "where((x > 0) * (v < 0), 1, 2)"
    return float(eval(code, {**PYTHON, "pi": np.pi, "min": min, "x": KNOWN["x"], "v": KNOWN["v"], "k": KNOWN["k"]}))


@pytest.mark.parametrize("text", FORMULAS, ids=lambda text: text[:20])
def test_a_formula_means_what_it_says(text):
    formula = read_formula(text, "force")
    found = jax.jit(lambda known: jnp.asarray(formula(known), float))({n: jnp.asarray(x) for n, x in KNOWN.items()})
    np.testing.assert_allclose(found, as_numpy(text), rtol=1e-14)


def test_extremes_dotted_names_and_entries():
    known = {"x": 3.0, "v": 5.0, "rod.length": 0.4, "rod.position": jnp.asarray([1.0, 2.0])}
    assert read_formula("min(x, v, 4) + max(x, v)", "f")(known) == 8.0
    formula = read_formula("rod.length * rod.position[1]", "f")
    assert formula.names == ("rod.length", "rod.position")
    np.testing.assert_allclose(formula(known), 0.8)


def test_powers_have_derivatives_at_zero():
    formula = read_formula("x^2 + x^3", "f")
    assert jax.grad(lambda x: formula({"x": x}))(0.0) == 0.0
    assert jax.grad(lambda x: formula({"x": x}))(-1.0) == 1.0


def test_a_formula_is_the_program_of_the_law_in_python():
    formula = read_formula("k*x + c*v + F*tanh(v/w)", "force")
    names = ("k", "x", "c", "v", "F", "w")
    written = jax.make_jaxpr(lambda k, x, c, v, F, w: k * x + c * v + F * jnp.tanh(v / w))(*range(1, 7))
    read = jax.make_jaxpr(lambda *values: formula(dict(zip(names, values, strict=True))))(*range(1, 7))
    assert str(read) == str(written)


HOSTILE = [
    *r"""
__import__('os')
__import__
x.__class__
x.__class__.__mro__
().__class__
[].__class__
{}.x
''.x
exec(x)
eval(x)
open(x)
compile(x)
globals()
locals()
vars()
dir()
getattr(x, k)
print(x)
input()
exit()
quit()
help()
breakpoint()
type(x)
object()
lambda: 1
lambda x: x
(lambda: x)()
x if v else k
[x]
[x, v]
(x, v)
{x}
{x: v}
{**x}
[*x]
*x
**x
[x for x in v]
(x for x in v)
{x for x in v}
x[0:1]
x[v]
x[-1]
x[0.5]
x[True]
x[0][1]
x[0, 1]
x[1000]
x.y[v]
x()
x.y()
x(v)
sin
sin + 1
sin.x
sin()
sin(x, v)
sin(x=1)
sin(*x)
sin(**x)
atan2(x)
atan2(x, v, k)
where(x)
where(x, v)
min(x)
max()
foo(x)
Sin(x)
SIN(x)
ln(x)
np.sin(x)
math.sin(x)
jnp.sin(x)
sin(x)(v)
(sin)(x)(v)
x = 1
x := 1
(x := 1)
x += 1
x; v
x, v
x,
,x
import os
from os import path
del x
pass
return x
yield x
(yield x)
await x
async x
raise x
assert x
class x: pass
def x(): pass
for x in v: x
while x: v
with x: v
if x: v
try: x
global x
nonlocal x
@x
x @ v
x // v
x % v
x << v
x >> v
x & v
x | v
~x
x is v
x is not v
x in v
x not in v
x <> v
x === v
x !== v
x && v
x || v
!x
x ? v : k
x++
--
+
-
*
/
^
x ^
^ x
x * * v
( x
x )
(x
((x)
()
.
..
x.
.x
x..y
x.1
1.x
1x
x 1
1 x
x v
0x
0b2
0o9
1e
1e+
1_
_1x y
1j
2.5j
1e400
-1e999
10^400
9**9**9
1/0
1%0
0^-1
(-1)^0.5
True
False
None
Ellipsis...
...
'x'
f'{x}'
b'x'
r'x'
`x`
x # v
# x
x$
$x
@
x?
%s
{{x}}
${x}
<x>
<script>
x -> v
x => v
x:v
x::v
print x
exec x
""".strip().splitlines(),
    "x + ",
    "",
    "   ",
    '"x"',
    "x\\v",
    "x\nv",
    "x\tv",
    "x\rv",
    "\x00",
    "x\x00",
    "\x1b[31m",
    "x\u200b",
    "\u03bc*x",
    "x\xb2",
    "\u221ax",
    "\uff58",
    "\ud83d",
    "\\",
    "\\n",
    "9" * 400,
    "(" * 1000 + "x" + ")" * 1000,
    "-" * 1900 + "x",
    "sin(" * 400 + "x" + ")" * 400,
    "x" * 2001,
    "x + " * 600 + "x",
    "1" * 1999 + "e9",
]


def test_there_are_two_hundred_hostile_ones():
    assert len(set(HOSTILE)) >= 200


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_formula_is_refused_with_its_place(text):
    with pytest.raises(ModelError) as caught:
        read_formula(text, "force")
    said = str(caught.value)
    assert said.startswith("force")
    if len(text) <= 2000:
        place = re.search(r"at character (\d+)", said)
        assert place
        assert 1 <= int(place[1]) <= len(text) + 1
    assert len(said) < 400


@pytest.mark.parametrize("thing", [None, 1.0, ["x"], b"x", ast.parse("x")])
def test_only_text_is_read(thing):
    with pytest.raises(ModelError, match="force must be a formula in quotes"):
        read_formula(thing, "force")


@pytest.mark.parametrize(
    ("text", "place"), [("k*x + foo(v)", 7), ("k*x^2 + foo(v)", 9), ("  k*x +* v", 8), ("k*x + 1j", 7), ("x^^2", 3)]
)
def test_the_place_is_that_of_the_mistake(text, place):
    with pytest.raises(ModelError, match=rf"at character {place}\b"):
        read_formula(text, "force")
