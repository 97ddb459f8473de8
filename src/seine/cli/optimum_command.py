"""`seine optimum`: the best that a memory-limited query could have reported, over archived streams."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.archive import ArchiveOptimum, BestWindow, optimum_of
from seine.cli.explain_command import known_query
from seine.errors import printable
from seine.frontends.script.parser import read_script
from seine.runtime.output.json_records import json_instants

_ABOUT = """\
The offline optimum of a memory-limited query: what it reports at best when all that comes is known
beforehand, and what its windows hold at each instant then. No shedding policy reports more.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("optimum", help="the best that a memory limit allows", description=_ABOUT)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--by",
        metavar="WHAT",
        choices=("importance", "outputs"),
        default="importance",
        help="what is to be largest: importance (the default) or outputs",
    )
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    query = known_query(arguments.query, read_script(arguments.script).declarations)
    best = optimum_of(query, by_outputs=arguments.by == "outputs")
    if arguments.json:
        print(json.dumps(_form(best)))
    else:
        for line in _lines(best):
            print(printable(line))
    return 0


def _form(best: ArchiveOptimum) -> dict[str, object]:
    return {
        "query": best.query,
        "importance": _number(best.importance),
        "outputs": best.outputs,
        "share": _share(best),
        "exact": {"importance": _number(best.exact_importance), "outputs": best.exact_outputs},
        "bound": _number(best.bound),
        "capacity": best.capacity,
        "states": [
            {"t": instant, **dict(zip(_names(best), held, strict=True))} for instant, held in _states(best)
        ],
    }


def _lines(best: ArchiveOptimum) -> Iterator[str]:
    """The totals, then what each window holds at every instant at which that changes."""
    share = f"{100 * _share(best):.1f} %" if best.exact_importance else "all"
    yield f"importance {_number(best.importance)} of {_number(best.exact_importance)} ({share})"
    yield f"outputs {best.outputs} of {best.exact_outputs}"
    if not best.is_proved:
        yield f"not proved to be the best; nothing exceeds {_number(best.bound)}"
    yield f"memory: {best.capacity} tuples for each stream; the best to hold, by arrival number:"
    before = None
    for instant, held in _states(best):
        if held != before:
            windows = zip(_names(best), held, strict=True)
            yield f"  {instant}  " + "  ".join(
                f"{name} {{{', '.join(map(str, numbers))}}}" for name, numbers in windows
            )
        before = held


def _states(best: ArchiveOptimum) -> Iterator[tuple[object, tuple[list[int], ...]]]:
    """At every instant with an arrival, the arrival numbers that each window holds."""
    instants = np.unique(np.concatenate([window.ts for window in best.windows]))
    shown = json.loads(f"[{','.join(json_instants(pa.array(instants), best.domain).to_pylist())}]")
    held = zip(*(_held(window, instants) for window in best.windows), strict=True)
    yield from zip(shown, held, strict=True)


def _held(window: BestWindow, instants: AnyArray) -> Iterator[list[int]]:
    """What is held at each instant, ascending; every tuple is looked at when it comes and while it stays."""
    kept = np.flatnonzero(window.until > window.ts)
    kept = kept[np.argsort(window.ts[kept], kind="stable")]
    starts, ends, numbers = (column[kept].tolist() for column in (window.ts, window.until, window.number))
    here: list[tuple[int, int]] = []
    coming = 0
    for instant in instants.tolist():
        here = [(number, end) for number, end in here if end > instant]
        while coming < len(starts) and starts[coming] <= instant:
            here.append((numbers[coming], ends[coming]))
            coming += 1
        yield sorted(number for number, _ in here)


def _names(best: ArchiveOptimum) -> list[str]:
    """The alias of each window, made distinct where some are equal or one is `t`, which is the instant."""
    names: list[str] = []
    for window in best.windows:
        name = f"{window.alias} (stream)" if window.alias == "t" else window.alias
        alike = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({alike + 1})" if alike else name)
    return names


def _share(best: ArchiveOptimum) -> float:
    return best.importance / best.exact_importance if best.exact_importance else 1.0


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
