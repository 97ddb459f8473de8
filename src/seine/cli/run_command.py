"""`seine run`: register everything in a script and run it on Spark."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import TYPE_CHECKING

from seine.cli.hosting import (
    add_budget,
    add_function_limits,
    add_hosting,
    add_keep,
    add_lead,
    add_options_file,
    add_purging,
    add_sample,
    buckets,
    budget,
    carried,
    check_writable,
    chosen_sharing,
    lead,
    positive,
    strategy,
)
from seine.cli.memory_option import add_worker_memory, worker_memory
from seine.cli.progress_line import ProgressLine
from seine.cli.udf_option import add_udf
from seine.errors import RunError
from seine.frontends.script.parser import read_script
from seine.run import Options
from seine.runtime.output.overwriting import refuse_overwriting

if TYPE_CHECKING:
    from seine.sinks.sink_threads import SinkStatus

_ABOUT = "Run a script to the end of its sources (or for ever, with --follow)."
_EXAMPLE = """\
example:
    seine run alerts.sql --out alerts.jsonl --dead-letter bad.jsonl --checkpoint state/

A run with --checkpoint that was stopped goes on where it was, and repeats nothing in --out or in sinks.
A query that raises or goes over a budget fails; the others finish, and the exit status is 3.
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
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="results, JSON Lines (default: standard output); a folder gets a file a query",
    )
    parser.add_argument("--dead-letter", metavar="FILE", help="lines that were refused, with the reason")
    parser.add_argument("--stats", metavar="FILE", help="a JSON document of counts, written at the end")
    parser.add_argument("--checkpoint", metavar="DIR", help="keep state here and resume from it")
    parser.add_argument(
        "--batch-rows",
        metavar="N",
        type=positive,
        help="most lines of a stream, or records of a topic, in a micro-batch",
    )
    parser.add_argument(
        "--memory",
        metavar="N",
        type=positive,
        help="most tuples that queries WITH (memory = ...) hold together",
    )
    add_udf(parser)
    add_function_limits(parser)
    add_options_file(parser)
    parser.add_argument("--follow", action="store_true", help="keep waiting for more input at the end of it")
    add_keep(parser)
    add_budget(parser)
    add_worker_memory(parser)
    add_lead(parser)
    add_purging(parser)
    add_sample(parser)
    add_hosting(parser)
    parser.set_defaults(command=command, hosts=True)


def command(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    script = read_script(arguments.script)
    written = [arguments.out, arguments.dead_letter, arguments.stats]
    refuse_overwriting(written, [arguments.script, *script.declarations.paths])
    check_writable(arguments.stats)
    with ProgressLine() as progress:
        options = Options(
            out=arguments.out,
            dead_letter=arguments.dead_letter,
            checkpoint=arguments.checkpoint,
            batch_rows=arguments.batch_rows,
            follow=arguments.follow,
            buckets=buckets(arguments),
            memory=arguments.memory,
            options_file=arguments.options_file,
            budget=budget(arguments),
            worker_memory=worker_memory(arguments),
            lead=lead(arguments),
            sharing=strategy(arguments, chosen_sharing()),
            sample=arguments.sample,
            keep=arguments.keep,
            notice=progress.tell,
            progress=progress,
        )
        progress.say("starting Spark")
        with carried(script, options, arguments) as run:
            statistics = run.statistics(time.monotonic() - started)
            for query in run.sink.totals.cut:
                progress.tell(f"query {query} was cut off at its limit; WITH (limit = n) sets another")
            failed = dict(run.failures)
            for query, failure in failed.items():
                progress.tell(f"query {query} failed: {failure.reason}")
            undelivered = [one for one in run.sink_states() if one.undelivered]
            for one in undelivered:
                progress.tell(_given_up(one, arguments.checkpoint))
    if arguments.stats:
        with open(arguments.stats, "w", encoding="utf-8") as file:
            json.dump(statistics.document(), file, indent=1)
    return RunError.exit_status if failed or undelivered else 0


def _given_up(status: SinkStatus, checkpoint: str | None) -> str:
    """What is told of a sink whose target did not take some records."""
    kept = "a run with --checkpoint keeps them"
    if checkpoint is not None:
        kept = f"they are in '{os.path.join(checkpoint, 'undelivered', status.sink.identity)}'"
    return f"sink {status.sink.definition.name} gave up {status.undelivered} records; {kept}"
