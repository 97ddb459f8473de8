"""`make bench`: the benchmarks, each beside an alternative in the same run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import suite
from seine.cli.hosting import check_writable
from seine.errors import SeineError

NAMES = (
    "join",
    "join-large",
    "stages",
    "selections",
    "window",
    "memory",
    "index",
    "regroup",
    "readers",
    "safety",
    "sharing",
    "star",
    "search",
    "xscl",
    "nexmark",
    "kafka",
)
_OPTIONS = {
    "sharing": ("only", "resume", "pictures"),
    "safety": ("pictures",),
    "star": ("pictures",),
    "search": ("only",),
    "xscl": ("only",),
    "nexmark": ("only", "resume", "queries"),
    "kafka": ("only",),
}
PARTS = {
    "sharing": ("curves", "gains", "scale", "registration", "alternatives", "jobs", "live"),
    "search": (
        *("set-up", "window", "frequency", "streams", "values", "keywords", "tuples", "demand", "lazy"),
        *("order", "spark", "many", "registration", "balance"),
    ),
    "xscl": ("figures", "feed", "stage-1", "spark", "million", "registration"),
    "nexmark": ("seine", "flink", "spark", "together", "variants", "flink-variants"),
    "kafka": ("cost", "driver", "latency"),
}
_ABOUT = """\
Measure Seine on this machine. Each benchmark prints a Markdown table with a ratio, and one
line that says what is compared:

    join        a windowed equi-join, beside Spark's own join of two streams
    join-large  the same, a million rows in each micro-batch
    stages      queries that need 1, 2 and 3 stages: what a stage costs when there is little to do
    selections  100 and 100,000 queries at equally many matches: what a query costs
    window      a window of 1x, 4x and 16x at equally many matches: what holding more costs
    memory      bytes of state beside the bytes of the tuples that are alive
    index       entering and searching the computation index, 1,000 to 100,000 predicate sets in it
    regroup     coarser aggregates from rows and from the parts of finer ones, in one process
    readers     a service while many clients follow a query that hardly ever reports
    safety      the safety check of 10 to 10,000 streams, what punctuations free, and what that costs
    sharing     ways of sharing up to 768 queries, up to 100,000 queries, registering, a job by hand, and live
    star        shedding beside the offline optimum: the figures of STAR, harder streams, and what it costs
    search      keyword search by the operators of SKWS and by ours: its figures, set-up, very many queries
    xscl        XML subscriptions that join documents: the figures of MMQJP, 10 to 1,000,000 queries
    nexmark     Nexmark's queries beside Flink (installed in an environment of its own) and Spark; variants
    kafka       streams from topics: beside files, beside Spark's own join, and how long a result takes
"""
_EXAMPLE = """\
example:
    make bench QUICK=1                     small versions of all of them: does everything work?
    make bench NAME=join                   figures that mean something; takes half an hour
    make bench OUT=figures.md              all of them; leave the machine alone meanwhile
    make bench NAME=sharing ONLY=curves RESUME=figures.json PICTURES=docs/images

Every side that needs Spark runs in a process of its own, one after the other, and is timed only
once it is warm; CPU time is that of all its processes. A quick run keeps one Spark for all
sides and is over before it is warm: its figures show that things work, not how fast they are.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", choices=NAMES, help=f"one of {', '.join(NAMES)} (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="a small version, to see that it works")
    parser.add_argument("--out", metavar="FILE", help="write the tables there too, as Markdown")
    parts = "; ".join(f"of {name}: {', '.join(parts)}" for name, parts in PARTS.items())
    parser.add_argument("--only", metavar="PART", help=f"one part alone; {parts}")
    parser.add_argument(
        "--resume", metavar="FILE", help="of sharing and nexmark: keep partial figures there, and go on"
    )
    parser.add_argument("--queries", metavar="LIST", help="of nexmark: these alone, such as q0,q5")
    parser.add_argument(
        "--pictures", metavar="DIR", help="of sharing, safety and star: write curves there, as SVG"
    )
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run what the words of the command line say; the exit status."""
    try:
        return _run(_parser().parse_args(words))
    except SeineError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_status


def _run(arguments: argparse.Namespace) -> int:
    check_writable(arguments.out)
    more = {name: getattr(arguments, name) for name in ("only", "resume", "pictures", "queries")}
    given = {name for name, value in more.items() if value}
    if given - set(_OPTIONS.get(arguments.name, ())):
        raise SeineError(
            "--only, --resume and --pictures are for the benchmark 'sharing', --pictures for 'safety' and "
            "'star' too, --only for 'search', 'xscl', 'kafka' and 'nexmark', --resume and --queries for "
            "'nexmark'"
        )
    if arguments.only and arguments.only not in PARTS[arguments.name]:
        hint = f"one of {', '.join(PARTS[arguments.name])}"
        raise SeineError(f"'{arguments.name}' has no part '{arguments.only}'", hint=hint)
    chosen = [suite.benchmark(arguments.name)] if arguments.name else suite.SUITE
    pages: list[str] = []
    for one in chosen:
        options = {name: more[name] for name in _OPTIONS.get(one.name, ())}
        pages.append(_measure(one, arguments.quick, options))
        if arguments.out:  # each time: what is measured is not lost if the next one fails
            with open(arguments.out, "w", encoding="utf-8") as file:
                file.write("\n".join(pages))
    return 0


def _measure(one: suite.Benchmark, quick: bool, more: Mapping[str, Any]) -> str:
    print(f"{one.name}:", file=sys.stderr, flush=True)
    page = one.markdown(quick, **more)
    print(page, flush=True)
    return page


if __name__ == "__main__":
    sys.exit(main())
