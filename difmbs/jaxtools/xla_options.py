"""Four settings of XLA, made when difmbs is imported, that time loops live on.

XLA's compiler for CPUs turns a whole loop into one function if an iteration touches few bytes; else it calls a dozen
small functions per evaluation of the forces, which costs several times the physics of a small system. Its limit is set
for other programs: with ours, 300 MB, derivatives of batches, which touch their record of all steps, are up to 1.8
times as fast; beyond it systems are so large that each operation is shared among cores. It hands sums to a library made
for large arrays, which halves the speed of Jacobians. Its newer code generator, which is not used inside of such
functions anyway, takes a seventh longer to compile all else. And where processors have registers for eight numbers it
uses half of them: with all, batches are 1.2 to 1.5 times as fast.

Options of these names in the environment variable XLA_FLAGS are respected, and after JAX has run something the settings
come too late: results are the same either way.
"""

import os
from importlib.metadata import version

_LOOPS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=300000000"
_OTHERS = [
    "--xla_cpu_experimental_ynn_fusion_type=",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_prefer_vector_width=512",
]


def set_options() -> None:
    # XLA ends the process where it does not know an option: these others may not outlive these versions.
    options = [_LOOPS, *(_OTHERS if version("jaxlib").startswith("0.10.") else [])]
    flags = os.environ.get("XLA_FLAGS", "")
    missing = [option for option in options if option.split("=")[0] not in flags]
    os.environ["XLA_FLAGS"] = " ".join([*missing, flags]).strip()
