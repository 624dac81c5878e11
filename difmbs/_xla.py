"""One setting of XLA, made when difmbs is imported, that time loops live on.

XLA's compiler for CPUs turns a whole loop into one function if an iteration touches few bytes; else it calls a dozen
small functions per evaluation of the forces, which costs several times the physics of a small system. Its limit is set
for other programs. An option of that name in the environment variable XLA_FLAGS is respected, and after JAX has run
something the setting comes too late: results are the same either way.
"""

import os

_OPTION = "xla_cpu_small_while_loop_byte_threshold"


def allow_larger_loops() -> None:
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"--xla_backend_extra_options={_OPTION}=1000000 {flags}".strip()


allow_larger_loops()
