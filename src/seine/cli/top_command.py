"""`seine top`: the dearest queries and nodes of a running service."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any, get_args

from seine.cli.hosting import positive
from seine.cli.service_client import add_asking, client_of
from seine.errors import printable
from seine.service.costs import CostPart

_ABOUT = "Show which queries and nodes of a running service cost most, since it was started."
_MOST_SHOWN = 1000
_PARTS: tuple[str, ...] = get_args(CostPart)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("top", help="the dearest queries and nodes", description=_ABOUT)
    parser.add_argument(
        "--by", metavar="WHAT", choices=_PARTS, default="cpu", help=f"one of {', '.join(_PARTS)} (cpu)"
    )
    parser.add_argument("--limit", metavar="N", type=positive, default=10, help="how many of each (10)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_asking(parser)
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    costs = client_of(arguments).costs(arguments.by, min(arguments.limit, _MOST_SHOWN))
    if arguments.json:
        print(json.dumps(costs, indent=1, ensure_ascii=False))
        return 0
    print(_line("", "all nodes together", costs["total"]))
    print()
    print(_head("query"))
    for one in costs["queries"]:
        print(_line(printable(one["query"]), printable(one["owner"] or "-"), one["cost"]))
    print()
    print(_head("node"))
    for one in costs["nodes"]:
        print(_line(f"{one['kind']} #{one['node']}", _users(one), one["cost"]))
    return 0


def _head(first: str) -> str:
    return f"{'cpu s':>10} {'rows in':>14} {'rows out':>14} {'state bytes':>14}  {first}"


def _line(name: str, more: str, cost: Mapping[str, Any]) -> str:
    """
    >>> _line("q", "ann", {"cpu_seconds": 1.25, "rows_in": 1000, "rows_out": 3, "state_bytes": 0})
    '     1.250          1,000              3              0  q (ann)'
    """
    numbers = f"{cost['cpu_seconds']:>10,.3f} {cost['rows_in']:>14,} {cost['rows_out']:>14,}"
    return f"{numbers} {cost['state_bytes']:>14,}  {f'{name} ({more})' if name else more}"


def _users(node: Mapping[str, Any]) -> str:
    """
    >>> _users({"users": 12, "used_by": ["a", "b"]}), _users({"users": 0, "used_by": []})
    ('a, b and 10 more', 'nobody')
    """
    more = node["users"] - len(node["used_by"])
    names = ", ".join(map(printable, node["used_by"]))
    return f"{names}{f' and {more:,} more' if more > 0 else ''}" or "nobody"
