"""The command line. What is slow to import is imported by the command that needs it."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="difmbs")
def main() -> None:
    """Differentiable multibody simulation."""
