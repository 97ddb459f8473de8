"""What the commands that start Spark have in common: its options, and carrying a run to its end.

State is for its owner alone: files have mode 0600, whichever process writes them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from seine.cli.logging_setup import add_logging
from seine.cli.stop_signals import StopSignals
from seine.errors import RunError, SeineError
from seine.frontends.script.script import Script
from seine.frontends.text.cursor import MICROSECONDS
from seine.frontends.text.lexer import suggest
from seine.intake.alignment import Lead
from seine.intake.retention_limit import RetentionLimit
from seine.network.plan.strategy import CONFIGURATIONS, Strategy, with_purging
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options, Run
from seine.runtime.folder.sampling import MOST_SAMPLED
from seine.scratch_folder import scratch_folder
from seine.spark.master import chosen_master
from seine.user_code.limits import MOST_ROWS, FunctionLimits

if TYPE_CHECKING:
    from seine.spark.spark_host import Hosted


_CLUSTER_BUCKETS = 8
MOST_RESTARTS = 5  # in a row, without a micro-batch in between: more than a passing trouble
_UNFINISHED = "what was delivered stays"


def add_hosting(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that starts Spark."""
    parser.add_argument("--master", metavar="URL", help="Spark master (default: $SPARK_MASTER or local[*])")
    parser.add_argument(
        "--buckets", metavar="N", type=positive, help="parts that state is split into (default: the cores)"
    )
    parser.add_argument("--log", metavar="FILE", help="where Spark's log goes (default: a temporary file)")
    add_logging(parser)


def add_sample(parser: argparse.ArgumentParser, default: int = MOST_SAMPLED) -> None:
    """Add the option `--sample`: how many rows of the files a plan is chosen by; none changes an answer."""
    usual = f"{default:,}; 0: none" if default else "0: none are opened"
    parser.add_argument(
        "--sample",
        metavar="N",
        type=_count,
        default=default,
        help=f"rows of each source that are looked at to choose a plan ({usual})",
    )


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return value


def add_purging(parser: argparse.ArgumentParser) -> None:
    """Add the options of purging, for queries that do not say it themselves; none changes an answer."""
    parser.add_argument(
        "--objective",
        metavar="AIM",
        choices=["throughput", "memory"],
        help="of safe plans of joins, which to take: fewest combinations met (default), or fewest rows held",
    )
    parser.add_argument(
        "--purge",
        metavar="HOW",
        type=_purge,
        help="when punctuations free state: eager (default), lazy, or a number of them that gathers first",
    )
    parser.add_argument(
        "--schemes",
        metavar="WHICH",
        choices=["all", "fewest"],
        help="punctuation schemes that joins listen to: all (default), or the fewest that keep a plan safe",
    )


def _purge(text: str) -> int | str:
    if text in ("eager", "lazy"):
        return text
    try:
        return positive(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError("is eager, lazy or a whole number above 0") from None


def strategy(arguments: argparse.Namespace, sharing: Strategy) -> Strategy:
    """A way of sharing, with the purging that the options say."""
    return with_purging(sharing, arguments.purge, arguments.schemes, arguments.objective)


def chosen_sharing() -> Strategy:
    """How much queries share, by the environment, for comparisons; no choice changes an answer."""
    name = os.environ.get("SEINE_SHARING") or "all"
    if name not in CONFIGURATIONS:
        raise SeineError(
            f"SEINE_SHARING: there is no way of sharing '{name}'",
            hint=suggest(name, CONFIGURATIONS, "ways of sharing"),
        )
    return CONFIGURATIONS[name]


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound what a query may spend in a micro-batch."""
    usual = WorkBudget()
    parser.add_argument(
        "--budget-candidates",
        metavar="N",
        type=positive,
        help=f"most pairs that a join looks at in a micro-batch, in each bucket ({usual.candidates:,})",
    )
    parser.add_argument(
        "--budget-bytes",
        metavar="N",
        type=positive,
        help="most bytes that a node emits or a query delivers in a micro-batch, in each bucket (1 GiB)",
    )
    parser.add_argument(
        "--budget-steps",
        metavar="N",
        type=positive,
        help=f"most steps of functions at a node in a micro-batch, in each bucket ({usual.steps:,})",
    )


def add_function_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound what functions and aggregates of users may take where they run."""
    seconds = FunctionLimits().seconds
    parser.add_argument(
        "--function-seconds",
        metavar="S",
        type=_seconds,
        help=f"longest that a function of yours takes for {MOST_ROWS:,} rows or fewer, a batch ({seconds:g})",
    )
    parser.add_argument(
        "--function-bytes",
        metavar="N",
        type=positive,
        help="most memory of the process that runs functions of yours, one for each worker (2 GiB)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("is a number of seconds") from None
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return seconds


def budget(arguments: argparse.Namespace) -> WorkBudget | None:
    """What the options say; None if nothing."""
    spent = _given(
        candidates=arguments.budget_candidates, bytes=arguments.budget_bytes, steps=arguments.budget_steps
    )
    limits = function_limits(arguments)
    return WorkBudget(**spent, functions=limits or FunctionLimits()) if spent or limits else None


def function_limits(arguments: argparse.Namespace) -> FunctionLimits | None:
    """What the options say of functions; None if nothing."""
    given = _given(seconds=arguments.function_seconds, bytes=arguments.function_bytes)
    return FunctionLimits(**given) if given else None


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def add_options_file(parser: argparse.ArgumentParser, otherwise: str = " (else: the environment)") -> None:
    """Add the option `--options-file`: where secrets of sources and sinks are, and where `otherwise`."""
    parser.add_argument(
        "--options-file",
        metavar="FILE",
        help=f"values of ${{NAME}} in options, a line NAME = value each{otherwise}",
    )


def add_lead(parser: argparse.ArgumentParser) -> None:
    """Add the option `--ahead-of-others`; it may be given once for each time domain."""
    parser.add_argument(
        "--ahead-of-others",
        metavar="LENGTH",
        action="append",
        default=[],
        type=_event_time,
        help="how far a stream may run ahead of those it is joined with: 100 or '10 minutes' (default: 0)",
    )


def lead(arguments: argparse.Namespace) -> Lead:
    """What `--ahead-of-others` says; the last one counts."""
    return Lead(**dict(arguments.ahead_of_others))


def _event_time(text: str) -> tuple[str, int]:
    """A length of event time and its domain: a number of plain units, or an interval.

    >>> _event_time("100"), _event_time("10 minutes")
    (('plain', 100), ('timestamp', 600000000))
    """
    amount, _, unit = text.strip().partition(" ")
    scale = MICROSECONDS.get(unit.strip().upper().removesuffix("S")) if unit else 1
    if not amount.isdigit() or scale is None or int(amount) * scale >= 2**62:
        raise argparse.ArgumentTypeError("must be a number, or a number and a unit such as '10 minutes'")
    return ("timestamp" if unit else "plain"), int(amount) * scale


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the option `--keep`: how much stays of what is written."""
    parser.add_argument(
        "--keep",
        metavar="AMOUNT",
        type=retention,
        help="keep results, dead letters and logs, each for 7d or 12h, or up to 10GB (default: all)",
    )


def retention(text: str) -> RetentionLimit:
    """An option's value that is a duration or a size."""
    try:
        return RetentionLimit.parse(text)
    except SeineError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; {error.hint}") from None


@contextmanager
def carried(script: Script, options: Options, arguments: argparse.Namespace) -> Iterator[Run]:
    """A run that Spark has carried to its end, or until it was stopped, open for questions.

    What can be refused is refused before Spark starts, because that takes seconds.
    """
    written = missing([options.out if isinstance(options.out, str) else None, options.dead_letter])
    with private_state(arguments.master) as share:
        run = Run(script, options)
        share(written)
        yield from _carried(run, options, arguments)


def _carried(run: Run, options: Options, arguments: argparse.Namespace) -> Iterator[Run]:
    try:
        with StopSignals(run.driver.stop) as signals, _spark_log(arguments.log) as log:
            if not run.driver.finished:
                host(run, arguments.master, log, signals, MOST_RESTARTS, options.notice, keep=options.keep)
            run.drain()
        if signals.requested and not run.driver.finished and not options.follow:
            more = "it goes on from there with the same --checkpoint" if options.checkpoint else _UNFINISHED
            options.notice(f"stopped before the end of the input; {more}")
        yield run
    finally:
        run.close()


def host(
    hosted: Hosted,
    master: str | None,
    log: str,
    signals: StopSignals,
    most_restarts: int | None,
    notice: Callable[[str], None],
    *,
    keep: RetentionLimit | None = None,
    again: bool = False,
) -> None:
    """Let Spark carry a run or a service, and start Spark again if it dies.

    With `again` there may be something left of a Spark that this process had before. Of Spark's log so much
    is kept as `keep` says.
    """
    from seine.spark.session import open_session, reopen_session
    from seine.spark.spark_host import Restarts, run_on_spark

    reopen = partial(signals.opening, partial(reopen_session, master, log, keep))
    spark = reopen() if again else signals.opening(partial(open_session, master, log, keep))
    run_on_spark(spark, hosted, restarts=Restarts(most_restarts, reopen, notice))


@contextmanager
def _spark_log(path: str | None) -> Iterator[str]:
    """Where Spark's log goes; a temporary one is kept only for a run that fails."""
    log = path or os.path.join(tempfile.mkdtemp(dir=scratch_folder(), prefix="log-"), "spark.log")
    check_writable(log)
    try:
        yield log
    except RunError as error:
        if not error.hint:
            kept = log if path else shutil.copy(log, tempfile.mkdtemp(prefix="seine-log-"))
            error.hint = f"Spark's log is {kept}"
        raise


def buckets(arguments: argparse.Namespace) -> int:
    """One bucket a core of a local master; of a cluster, which may grow, a few."""
    if arguments.buckets:
        return int(arguments.buckets)
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", chosen_master(arguments.master) or "")
    if not local:
        return _CLUSTER_BUCKETS
    cores = local.group(1) or "1"
    return os.cpu_count() or 1 if cores == "*" else int(cores)


def positive(text: str) -> int:
    """An option's value that is a whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def check_writable(path: str | None) -> None:
    """Refuse a file that cannot be written now, not at the end of a long run."""
    if path is None:
        return
    try:
        with open(path, "a", encoding="utf-8"):
            return
    except OSError as error:
        raise SeineError(
            f"cannot write '{path}': {error.strerror}", hint="name a file in a folder you may write to"
        ) from error


_OWNER_ALONE = 0o077


@contextmanager
def private_state(master: str | None) -> Iterator[Callable[[Sequence[str | None]], None]]:
    """What this process and those that it starts create meanwhile is for its owner alone.

    The function that it gives opens files again that the user named, as the user's umask says. On a
    cluster all is as that says: workers may be other users.
    """
    local = (chosen_master(master) or "").startswith("local")
    umask = os.umask(_OWNER_ALONE)
    if not local:
        os.umask(umask)

    def share(paths: Sequence[str | None]) -> None:
        for path in paths:
            if path is not None and os.path.isfile(path):
                os.chmod(path, 0o666 & ~umask)

    try:
        yield share
    finally:
        os.umask(umask)


def missing(paths: Sequence[str | None]) -> list[str]:
    """The files that are still to be made."""
    return [path for path in paths if path is not None and not os.path.exists(path)]
