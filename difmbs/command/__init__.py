"""The command line. What is slow to import is imported by the command that needs it."""

import click

from ._check import check
from ._doctor import doctor
from ._examples import examples
from ._identify import identify
from ._optimize import optimize
from ._report import report
from ._running import Commands
from ._simulate import simulate


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="difmbs")
def main() -> None:
    """Differentiable multibody simulation."""


for part in (check, simulate, identify, optimize, report, examples, doctor):
    main.add_command(part)
