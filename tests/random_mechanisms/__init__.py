"""Mechanisms drawn at random, and what holds for all of them.

`plans` draws what is joined to what, `numbers` the parameters for it, `building` makes a model of both, `oracle`
computes accelerations and forces in plain numpy, `moved` describes the same mechanism at another place, in other units
or in another order, `checks` compares. `python -m tests.random_mechanisms 0 2000` runs a range of seeds.

Compiling is what costs, so several mechanisms stand side by side in one model, without touching, and several sets of
numbers run through one program.
"""
