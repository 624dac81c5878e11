"""Commands in this process."""

from click.testing import CliRunner

from difmbs.command import main


def run(*arguments, code=0):
    """Runs a command; whatever it says, it ends as expected, without a traceback and without colors."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert "\x1b" not in result.output
    return result
