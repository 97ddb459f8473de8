"""`seine list` and `seine status`: what a service has, and does; also of one that is stopped."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from seine.cli.service_client import add_asking, client_of, related_lines, stopped_folder
from seine.errors import printable

_LIST = "List the queries of a running service, in the order of their registration."
_MOST_WAITING = 5  # queries that are named with a stream that they wait for
_LEAST_SHOWN_SECONDS = 0.1  # of CPU time
_STATUS = "Show what a running service is doing."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, text, about, command in (
        ("list", "the queries of a running service", _LIST, list_command),
        ("status", "what a running service is doing", _STATUS, status_command),
    ):
        parser = commands.add_parser(name, help=text, description=about)
        if command is list_command:
            parser.add_argument(
                "--related", metavar="QUERY", help="what this query has in common with the others"
            )
        parser.add_argument("--json", action="store_true", help="as JSON")
        add_asking(parser)
        parser.set_defaults(command=command)


def list_command(arguments: argparse.Namespace) -> int:
    if arguments.related is not None:
        return _list_related(arguments)
    with stopped_folder(arguments) as folder:
        queries: Sequence[Mapping[str, Any]] = (folder or client_of(arguments)).queries()
    if arguments.json:
        print(json.dumps(queries, indent=1, ensure_ascii=False))
    else:
        rows = [
            [
                printable(q["query"]),
                q["state"],
                q["owner"] or "-",
                str(q["since"]["entry"]),
                f"{q['outputs']:,}",
                f"{sum(q['state_rows'].values()) + q['group_rows']:,}",
                _line(q["text"]),
            ]
            for q in queries
        ]
        print("\n".join(_table(["query", "state", "owner", "since", "outputs", "held", "text"], rows)))
        for q in queries:
            if q["failure"] is not None:
                print(f"{printable(q['query'])} {q['state']}: {printable(q['failure']['reason'])}")
        for line in _waiting_lines(queries):
            print(line)
    return 0


def _waiting_lines(queries: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each stream that keeps queries waiting, in words.

    >>> _waiting_lines([{"query": f"q{i}", "waits_for": {"s": "failed since noon"}} for i in range(9)])
    ['stream s failed since noon; waiting: q0, q1, q2, q3, q4 and 4 more']
    """
    waiting: dict[tuple[str, str], list[str]] = {}
    for query in queries:
        for trouble in query["waits_for"].items():
            waiting.setdefault(trouble, []).append(printable(query["query"]))
    lines = []
    for (stream, words), names in waiting.items():
        more = len(names) - _MOST_WAITING
        others = f" and {more:,} more" if more > 0 else ""
        text = f"stream {printable(stream)} {printable(words)}; waiting: "
        lines.append(text + ", ".join(names[:_MOST_WAITING]) + others)
    return lines


def _list_related(arguments: argparse.Namespace) -> int:
    answer = client_of(arguments).related(arguments.related)
    if arguments.json:
        print(json.dumps(answer, indent=1, ensure_ascii=False))
    elif answer["related"]:
        print("\n".join(related_lines({answer["query"]: answer["related"]})))
    else:
        print(f"{printable(answer['query'])}: nothing in common with the others")
    return 0


def status_command(arguments: argparse.Namespace) -> int:
    with stopped_folder(arguments) as folder:
        service = folder or client_of(arguments)
        status: Mapping[str, Any] = service.status()
        streams: Sequence[Mapping[str, Any]] = service.streams()
    if arguments.json:
        print(json.dumps({**status, "by_stream": streams}, indent=1, ensure_ascii=False))
        return 0
    queries, depth, joined = status["queries"], status["depth"], status["joined_births"]
    lines = {
        "folder": status["folder"],
        "process": str(status["process"] or "none: the service is stopped"),
        "network": f"version {status['version']}, {status['nodes']:,} nodes,"
        f" {depth['used']} of {depth['stages']} stages used",
        "queries": ", ".join(f"{count:,} {state}" for state, count in queries.items())
        + (f"; {joined:,} share groups of queries of another age" if joined else ""),
        "sources": f"{status['streams']:,} streams, {status['relations']:,} relations",
        "entry": f"{status['entry']} delivered, {status['written']} admitted",
        "input": f"{status['input_rows']:,} rows, {status['rows_per_second']:,.0f} rows/s",
        "memory": _given_up(status),
        "output": f"{status['output_rows']:,} records, {status['dead_letters']:,} dead letters",
        "state": f"{status['state_rows']:,} rows for joins, {status['group_rows']:,} groups, "
        f"{status['punctuations']:,} punctuations",
        "retained": _retained(status["retained"]),
        "kept": _kept(status["kept"]),
    }
    if status["pipeline_trouble"]:
        lines["waits for"] = status["pipeline_trouble"]
    for name, text in lines.items():
        print(f"{name:8} {text}")
    for query, cost in status["dearest"].items():
        if cost["cpu_seconds"] >= _LEAST_SHOWN_SECONDS:
            print(f"{'':8} {printable(query)}: {cost['cpu_seconds']:,.1f} s of CPU time")
    for query, reason in status["over_quota"].items():
        print(f"{'':8} {printable(query)} is paused: {printable(reason)}")
    for query, held in status["state_by_query"].items():
        held_of = ", ".join(f"{printable(stream)} {rows:,}" for stream, rows in held.items())
        print(f"{'':8} {printable(query)}: {held_of}")
    if status["sinks"]:
        print("\n".join(["", *_sink_lines(status["sinks"])]))
    if streams:
        print("\n".join(["", *_stream_lines(streams, status["stream_troubles"])]))
    return 0


def _retained(retained: Mapping[str, Any] | None) -> str:
    """The input that is kept for queries that begin with history."""
    if retained is None:
        return "nothing"
    if retained["last"] < 0:
        return "nothing yet"
    entries, size = f"entries {retained['first']} to {retained['last']}", retained["bytes"] / 1_000_000
    return f"{entries}, {retained['rows']:,} rows, {size:,.1f} MB"


def _kept(kept: Mapping[str, int]) -> str:
    """From where on results and dead letters are kept.

    >>> _kept({"results": 0, "dead_letters": 0}), _kept({"results": 1200, "dead_letters": 0})
    ('all results and dead letters', 'results from position 1,200, dead letters from position 0')
    """
    if not any(kept.values()):
        return "all results and dead letters"
    return f"results from position {kept['results']:,}, dead letters from position {kept['dead_letters']:,}"


def _sink_lines(sinks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of sinks, and what is wrong with some of them."""
    rows = [
        [printable(one["sink"]), one["state"], f"{one['records']:,}", _waits(one), printable(one["target"])]
        for one in sinks
    ]
    return [
        *_table(["sink", "state", "records", "lag", "target"], rows),
        *(
            f"sink {printable(one['sink'])} cannot deliver since {one['since']}: {_line(one['reason'], 200)}"
            for one in sinks
            if one["reason"] is not None
        ),
        *(
            f"sink {printable(one['sink'])} was too far behind: results from position {gap['start']:,} to "
            f"{gap['end']:,} are no longer kept, since {gap['since']}; {gap['bytes']:,} bytes in all"
            for one in sinks
            if (gap := one["missed"]) is not None
        ),
    ]


def _waits(sink: Mapping[str, Any]) -> str:
    """What a sink has not delivered, and what it has given up."""
    waiting, given_up = sink["waiting"], sink["undelivered"]
    undelivered = f", {given_up:,} undelivered" if given_up else ""
    if waiting is None:
        return f"{sink['lag']:,} bytes{undelivered}"
    records = "many" if waiting["records"] is None else f"{waiting['records']:,}"
    return f"{waiting['batches']:,} batches, {records} records since {waiting['since']}{undelivered}"


def _stream_lines(streams: Sequence[Mapping[str, Any]], troubles: Mapping[str, str]) -> list[str]:
    """A table of streams, and what is wrong with some of them."""
    rows = [
        [
            printable(one["stream"]),
            one["state"],
            _watermark(one["watermark"]),
            f"{one['position']['arrivals']:,}",
            _lag(one["lag"]),
            f"{one['refused']['late']:,}",
            f"{one['refused']['dead']:,}",
            _line(one["refused"]["last_reason"]),
        ]
        for one in streams
    ]
    head = ["stream", "state", "watermark", "tuples", "lag", "late", "dead", "last reason"]
    return [
        *(line.rstrip() for line in _table(head, rows)),
        *(f"stream {printable(name)} {printable(words)}" for name, words in troubles.items()),
    ]


def _watermark(time: int | str | None) -> str:
    return "-" if time is None else str(time)


def _lag(lag: Mapping[str, int | None]) -> str:
    """
    >>> _lag({"bytes": 2048, "rows": None}), _lag({"bytes": 2048, "rows": 1200})
    ('2,048 bytes', '1,200 rows')
    """
    return f"{lag['bytes']:,} bytes" if lag["rows"] is None else f"{lag['rows']:,} rows"


def _given_up(status: Mapping[str, Any]) -> str:
    """What joins within a memory have cost."""
    share = status["exact_share"]
    estimate = "" if share is None else f", about {share:.1%} of the exact importance reported"
    return f"{status['shed']:,} tuples shed{estimate}"


def _line(text: str, most: int = 60) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 3] + "..."


def _table(head: list[str], rows: list[list[Any]]) -> list[str]:
    """Columns side by side; the last one may be of any width."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    return [
        "  ".join([*[cell.ljust(width) for cell, width in zip(row, widths, strict=False)], row[-1]])
        for row in [head, *rows]
    ]
