"""Rows of a batch on several devices, of this process or of several."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = "rows"


def mesh_of(devices: Sequence[jax.Device]) -> Mesh:
    return Mesh(np.array(devices), (ROWS,))


def over_devices(mesh: Mesh, function: Callable[[Any, Any], Any], common: Any, rows: Any) -> Any:
    """function(common, rows), where each device has a part of the rows, and then all of the results.

    Each device runs until its own rows have arrived. With `jit` and shardings alone there would be a message between
    the devices in each step of a loop, to ask whether any of them goes on.
    """
    count = len(jax.tree.leaves(rows)[0])
    # The last row fills up what is missing to a whole number for each.
    filled = np.minimum(np.arange(-(-count // mesh.size) * mesh.size), count - 1)
    specs: Any = dict(in_specs=(PartitionSpec(), PartitionSpec(ROWS)), out_specs=PartitionSpec(ROWS))
    spread = jax.shard_map(function, mesh=mesh, check_vma=False, **specs)
    parts = spread(common, jax.tree.map(lambda x: x[filled], rows))
    gathered = jax.lax.with_sharding_constraint(parts, NamedSharding(mesh, PartitionSpec()))
    return jax.tree.map(lambda x: x[:count], gathered)


def is_first_process() -> bool:
    """Whether this is the one of several that writes."""
    return jax.process_index() == 0
