"""`seine try`: run a script at once, in this process and without Spark, to see what its queries say.

A script and the files that it reads, watched for changes.
"""

from __future__ import annotations

import argparse
import glob
import os
import sys
import time
from collections.abc import Iterable, Iterator

from seine.cli.hosting import (
    add_function_limits,
    add_options_file,
    add_sample,
    chosen_sharing,
    function_limits,
    positive,
)
from seine.cli.logging_setup import add_logging
from seine.cli.udf_option import add_udf
from seine.errors import RunError, SeineError
from seine.frontends.script.parser import read_script
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options
from seine.run_local import carried_here
from seine.runtime.output.overwriting import refuse_overwriting
from seine.user_code.limits import FunctionLimits

_ABOUT = "Run a script at once, in one process: the same answers as seine run, but no pipeline."
_EXAMPLE = """\
example:
    seine try alerts.sql              a second after Enter, its records
    seine try alerts.sql --watch      again whenever the script or a file that it reads is saved

It does what seine run does, by the same tasks, without Spark: nothing is kept, nothing runs in parallel,
sinks get nothing, and what only Spark reads (USING ...) is refused. For large files, for sinks, or to go on
after a crash: seine run.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "try",
        help="run a script at once, without Spark, to try it out",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument(
        "--watch", action="store_true", help="run it again whenever it, or its input, changes"
    )
    parser.add_argument("--out", metavar="FILE", help="results, JSON Lines (default: standard output)")
    parser.add_argument("--dead-letter", metavar="FILE", help="lines that were refused, with the reason")
    parser.add_argument(
        "--batch-rows", metavar="N", type=positive, help="most lines of a stream in a micro-batch"
    )
    add_udf(parser)
    add_function_limits(parser)
    add_options_file(parser)
    add_sample(parser)
    add_logging(parser)
    parser.set_defaults(command=command, hosts=True)


def command(arguments: argparse.Namespace) -> int:
    files = WatchedFiles(arguments.script)
    if not arguments.watch:
        return _tried(arguments, files)
    while True:
        try:
            _tried(arguments, files)
        except SeineError as error:  # the next version of the script may be right
            _tell(error.render())
        _tell("waiting for a change (Ctrl-C ends)")
        files.wait()


def _tried(arguments: argparse.Namespace, files: WatchedFiles) -> int:
    """Run the script once, and say on standard error what that was."""
    started = time.monotonic()
    files.look()
    script = read_script(arguments.script)
    files.follow(script.declarations.paths)
    written = [arguments.out, arguments.dead_letter]
    refuse_overwriting(written, [arguments.script, *script.declarations.paths])
    options = Options(
        out=arguments.out,
        dead_letter=arguments.dead_letter,
        batch_rows=arguments.batch_rows,
        options_file=arguments.options_file,
        sharing=chosen_sharing(),
        sample=arguments.sample,
        notice=_tell,
        budget=WorkBudget(functions=function_limits(arguments) or FunctionLimits()),
    )
    for sink in script.declarations.sinks.values():
        _tell(f"sink {sink.name} gets nothing from seine try")
    with carried_here(script, options) as run:
        totals, failures = run.sink.totals, dict(run.failures)
    for query, failure in failures.items():
        _tell(f"query {query} failed: {failure.reason}")
    _tell(
        f"tried without Spark, which is no pipeline: {totals.input_rows:,} rows, "
        f"{totals.output_rows:,} results in {time.monotonic() - started:.1f} s"
    )
    return RunError.exit_status if failures else 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


_PAUSE = 0.2  # seconds between two looks
_Stamp = tuple[int, int] | None


class WatchedFiles:
    """Tells when a script, or anything that it reads, is saved again.

    What counts is what the files were like *before* they were read: what is saved meanwhile is a change.
    """

    def __init__(self, script: str) -> None:
        self._script = script
        self._inputs: tuple[str, ...] = ()
        self._seen: dict[str, _Stamp] = {}

    def look(self) -> None:
        """Take everything as it is now for known; to be called before it is read."""
        self._seen = self._state()

    def follow(self, inputs: Iterable[str]) -> None:
        """Watch these files, folders and globs from now on: the sources that the script has."""
        self._inputs = tuple(inputs)
        self._seen = {**self._state(), **self._seen}

    def wait(self) -> None:
        """Come back once something has changed."""
        while all(self._seen.get(path) == stamp for path, stamp in self._state().items()):
            time.sleep(_PAUSE)

    def _state(self) -> dict[str, _Stamp]:
        return {path: _stamp(path) for path in self._files()}

    def _files(self) -> Iterator[str]:
        yield self._script
        for path in self._inputs:
            if os.path.isdir(path):
                yield from sorted(os.path.join(path, name) for name in os.listdir(path))
            else:
                yield from sorted(glob.glob(path)) or [path]


def _stamp(path: str) -> _Stamp:
    """When a file was last written, and its size; None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
