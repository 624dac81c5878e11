"""The command line. What is slow to import is imported by the command that needs it."""

import click

from .check_command import check
from .doctor_command import doctor
from .examples_command import examples
from .identify_command import identify
from .optimize_command import optimize
from .plot_command import plot
from .report_command import report
from .shell import Commands
from .simulate_command import simulate
from .sweep_command import merge, sweep
from .view_command import view


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="difmbs")
def main() -> None:
    """Differentiable multibody simulation."""


for part in (check, simulate, identify, optimize, sweep, merge, plot, view, report, examples, doctor):
    main.add_command(part)
