"""Differentiable multibody simulation on JAX."""

import lazy_loader as lazy

from .jaxtools import xla_options

# Before anything that may start JAX.
xla_options.set_options()

# The public names are those of the stub; each is imported when it is first used, so that commands start at once.
__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
