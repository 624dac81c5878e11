"""What all commands have in common: starting JAX, signals, output, errors as one sentence and an exit code."""

import contextlib
import functools
import json
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ..jaxtools.compile_messages import silence

T = TypeVar("T")

FAULT, USAGE, BAD_INPUT, STOPPED, NOT_CONVERGED, FAILED_CHECK = 1, 2, 3, 4, 5, 6
UNREAD = 128 + 13
"""That of programs that SIGPIPE ends."""

_WORKER = "difmbs work"
_PATIENCE = 2.0
"""After so many seconds of silence it is said what is being done."""


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM, whose `number` it has."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


class Commands(click.Group):
    """Says what is wrong with the arguments in one sentence, and as JSON where that is asked for."""

    def main(self, args: Any = None, *, standalone_mode: bool = True, **options: Any) -> Any:  # type: ignore[override]
        arguments = sys.argv[1:] if args is None else list(args)
        try:
            code = super().main(arguments, standalone_mode=False, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = USAGE
        except click.ClickException as error:
            where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "difmbs"
            said, code = f"{where}: {error.format_message()}", error.exit_code
            click.echo(said, err=True)
            Report("--json" in arguments, False).end(code, error=said)
        if standalone_mode:
            sys.exit(code)
        return code


class Report:
    """Prints for people, or one JSON object at the end for programs."""

    def __init__(self, as_json: bool, quiet: bool):
        self.as_json, self.quiet = as_json, quiet
        self.warnings: list[str] = []
        self.begun = time.perf_counter()

    def say(self, text: str) -> None:
        if not (self.as_json or self.quiet):
            click.echo(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        if not self.quiet:
            click.echo(f"warning: {text}", err=True)

    def note(self, text: str) -> None:
        """What is going on, for those who wait."""
        if not (self.as_json or self.quiet):
            click.echo(text, err=True)

    def end(self, code: int, **result: Any) -> None:
        if self.as_json:
            said = {"exit_code": code, **result, "warnings": self.warnings}
            click.echo(json.dumps(plain(said), indent=2, ensure_ascii=False))


def command(function: Callable[..., int]) -> Callable[..., None]:
    """A command from a function (report, ...) that returns an exit code; adds the options that all commands have."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    @click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
    @click.option("--debug", is_flag=True, help="Show where in the code an error comes from.")
    @functools.wraps(function)
    def wrapped(as_json: bool, quiet: bool, debug: bool, **arguments: Any) -> None:
        report = Report(as_json, quiet)
        try:
            code = _ended(lambda: function(report, **arguments), report, debug)
        except BrokenPipeError:
            code = _unread()
        _leave(code)

    return wrapped


def _ended(work: Callable[[], int], report: Report, debug: bool) -> int:
    """The exit code; what goes wrong is said in one sentence."""
    signals: list[int] = []
    try:
        with _heard(signals), _warnings(report), silence(report.quiet or report.as_json):
            return work()
    except (click.ClickException, BrokenPipeError):
        raise
    except BaseException as error:
        if debug and not signals:
            raise
        code, said = _stopped(signals[0]) if signals else _explained(error)
        click.echo(said, err=True)
        report.end(code, error=said)
        return code


def _unread() -> int:
    """Nobody reads what is printed any more, as in `difmbs check model.toml | head -1`: there is nothing to say."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        # The interpreter writes what is left when it ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    return UNREAD


def start_jax() -> None:
    """Double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)


def in_background(work: Callable[[], T], say: Callable[[], None] | None = None) -> T:
    """The result of work that may be long inside of a compiled program, where no signal is heard.

    It is done in a thread, so that Ctrl-C and SIGTERM end the command at once. `say`: is called if it takes long.
    """
    future: Future[T] = Future()
    end = time.monotonic() + _PATIENCE

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=_WORKER, daemon=True).start()
    while True:
        try:
            return future.result(timeout=0.1)
        except TimeoutError:
            # Also where the work has just been finished, or failed with such an error itself.
            if future.done():
                return future.result()
            if say is not None and time.monotonic() > end:
                say()
                say = None


def stoppable(work: Callable[[Callable[[], bool]], T]) -> tuple[T, int | None]:
    """The result of work that asks a function whether to stop, and the signal that stopped it, if one did. After a
    second signal nobody waits for it."""
    stopping = threading.Event()
    future: Future[T] = Future()
    number = None

    def kept_work() -> None:
        try:
            future.set_result(work(stopping.is_set))
        except BaseException as error:
            future.set_exception(error)

    try:
        in_background(kept_work)
    except Interrupted as interrupted:
        number = interrupted.number
        stopping.set()
        in_background(future.exception)
    return future.result(), number


def installed(*packages: str) -> dict[str, str | None]:
    """Their versions; None for those that are not there."""
    from importlib.metadata import PackageNotFoundError, version

    def version_of(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {package: version_of(package) for package in packages}


def plain(value: Any) -> Any:
    """Numbers, lists and dictionaries as JSON has them; what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _stopped(number: int) -> tuple[int, str]:
    return 128 + number, f"stopped by {signal.Signals(number).name}; nothing is left half written."


def _explained(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and the sentence."""
    from ..core.errors import FileError, MismatchError, ModelError, ParameterError, SimulationError

    if isinstance(error, MismatchError):
        return FAILED_CHECK, _as_options(error)
    if isinstance(error, FileError):
        return (USAGE if error.output else BAD_INPUT), _as_options(error)
    if isinstance(error, SimulationError):
        return (BAD_INPUT if error.status == "refused" else STOPPED), f"{_name()}: {error}"
    if isinstance(error, ModelError | ParameterError):
        return BAD_INPUT, str(error)
    if isinstance(error, MemoryError):
        return FAULT, "there is not enough memory."
    first = (str(error).splitlines() or [""])[0][:200]
    return FAULT, f"unexpected {type(error).__name__}: {first} This is a fault of difmbs; --debug shows where."


def _as_options(error: BaseException) -> str:
    """With arguments of Python as options of the command line."""
    return str(error).replace("with force.", "with --force.").replace("without resume.", "without --resume.")


def _name() -> str:
    context = click.get_current_context(silent=True)
    return (context and context.info_name) or "difmbs"


def _leave(code: int) -> None:
    if any(thread.name == _WORKER for thread in threading.enumerate()):
        # The interpreter would wait for the compiled program.
        from ..files.writing import end_process

        sys.stdout.flush()
        sys.stderr.flush()
        end_process(code)
    sys.exit(code)


@contextmanager
def _heard(signals: list[int]) -> Iterator[None]:
    """Notes Ctrl-C and SIGTERM, because libraries may turn the exception into another one."""

    def stop(number: int, _: Any) -> None:
        signals.append(number)
        raise Interrupted(number)

    # A shell lets commands in the background ignore Ctrl-C.
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _warnings(report: Report) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, category, *_: (
            report.warn(str(message)) if issubclass(category, UserWarning) else None
        )
        yield
