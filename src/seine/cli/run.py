"""`seine run`: register everything in a script and run it on Spark."""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time

from seine.cli.progress import ProgressLine
from seine.engine import Options, Run, read_script
from seine.errors import SeineError

_CLUSTER_BUCKETS = 8
_ABOUT = "Run a script to the end of its sources (or for ever, with --follow)."
_EXAMPLE = """\
example:
    seine run alerts.sql --out alerts.jsonl --dead-letter bad.jsonl --checkpoint state/

A run with --checkpoint that was stopped goes on where it was, and repeats nothing in --out.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="run a script",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("--out", metavar="FILE", help="results, JSON Lines (default: standard output)")
    parser.add_argument("--dead-letter", metavar="FILE", help="lines that were refused, with the reason")
    parser.add_argument("--stats", metavar="FILE", help="a JSON document of counts, written at the end")
    parser.add_argument("--checkpoint", metavar="DIR", help="keep state here and resume from it")
    parser.add_argument("--batch-rows", metavar="N", type=positive, help="most lines of a stream in a micro-batch")
    parser.add_argument("--follow", action="store_true", help="keep waiting for more input at the end of it")
    add_master(parser)
    parser.set_defaults(command=command)


def add_master(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", metavar="URL", help="Spark master (default: $SPARK_MASTER or local[*])")
    parser.add_argument(
        "--buckets", metavar="N", type=positive, help="parts that state is split into (default: the cores)"
    )
    parser.add_argument("--log", metavar="FILE", help="where Spark's log goes (default: a temporary file)")


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def command(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    script = read_script(arguments.script)
    check_writable(arguments.stats)
    with ProgressLine() as progress:
        run = run_script(script, arguments, progress)
    try:
        statistics = run.statistics(time.monotonic() - started)
    finally:
        run.close()
    if arguments.stats:
        with open(arguments.stats, "w", encoding="utf-8") as file:
            json.dump(statistics, file, indent=1)
    return 0


def run_script(script, arguments, progress) -> Run:  # type: ignore[no-untyped-def]
    """Open a run and let Spark carry it to its end."""
    from seine.spark.host import run_on_spark
    from seine.spark.session import open_session

    log = arguments.log or os.path.join(tempfile.mkdtemp(prefix="seine-log-"), "spark.log")
    progress.say("starting Spark")
    options = Options(
        out=arguments.out,
        dead_letter=arguments.dead_letter,
        checkpoint=arguments.checkpoint,
        batch_rows=arguments.batch_rows,
        follow=arguments.follow,
        buckets=arguments.buckets or default_buckets(arguments.master),
        progress=progress,
    )
    run = Run(script, options)
    try:
        if not run.driver.finished:
            run_on_spark(open_session(arguments.master, log), run)
    except BaseException:
        run.close()
        raise
    return run


def default_buckets(master: str | None) -> int:
    """One bucket a core of a local master; of a cluster, which may grow, a few."""
    master = master or os.environ.get("SPARK_MASTER") or "local[*]"
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", master)
    if not found:
        return _CLUSTER_BUCKETS
    cores = found.group(1) or "1"
    return os.cpu_count() or 1 if cores == "*" else int(cores)


def check_writable(path: str | None) -> None:
    if path is None:
        return
    try:
        with open(path, "a", encoding="utf-8"):
            return
    except OSError as error:
        raise SeineError(f"cannot write '{path}': {error.strerror}") from error
