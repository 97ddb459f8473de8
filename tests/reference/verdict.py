"""Compares what a run reported with the reference's answers."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable
from typing import Any

from tests.reference.answers import Answers
from tests.reference.compare import difference, first_early_minus, net_of
from tests.reference.lines import instant

Records = list[dict[str, Any]]


def disagreements(answers: Answers, records: Records, dead: Records, instants: Iterable[float]) -> list[str]:
    """One line for each query that is wrong; `instants` are where changelogs are looked at."""
    wrong = [f"{query}: {what}" for query, what in _wrong_queries(answers, records, list(instants))]
    missing, extra = difference(answers.dead, [(letter["stream"].lower(), letter["line"]) for letter in dead])
    if missing or extra:
        wrong.append(f"dead letters: {_shown(missing, extra)}")
    return wrong


def _wrong_queries(answers: Answers, records: Records, instants: list[float]) -> Iterable[tuple[str, str]]:
    by_query: dict[str, Records] = {query: [] for query in answers.script.queries}
    for record in records:
        by_query.setdefault(record["query"].lower(), []).append(record)
    for query, records_of in by_query.items():
        if query not in answers.script.queries:
            yield query, "no such query"
            continue
        early = first_early_minus(records_of)
        what = _wrong_changelog(answers, query, records_of, instants) if answers.is_changelog(query) else None
        what = what or (None if answers.is_changelog(query) else _wrong_records(answers, query, records_of))
        if what or early:
            yield query, what or f"a - before its +: {json.dumps(early, ensure_ascii=False)}"


def _wrong_records(answers: Answers, query: str, records: Records) -> str | None:
    missing, extra = difference(answers.records(query), map(short, records))
    return _shown(missing, extra) if missing or extra else None


def _wrong_changelog(answers: Answers, query: str, records: Records, instants: list[float]) -> str | None:
    starts = [start_of(record) for record in records]
    if any(start > answers.final for start in starts):
        return f"a change after the final instant {answers.final}"
    if any(record["t_end"] is not None for record in records):
        return "t_end of a changelog is null"
    for at in (-math.inf, *instants, answers.final):
        until = [record for record, start in zip(records, starts, strict=True) if start <= at]
        missing, extra = difference(answers.net(query, at), net_of(until))
        if missing or extra:
            return f"at {at}: {_shown(missing, extra)}"
    return None


def short(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["op"], record["t_start"], record["t_end"], record["row"]


def start_of(record: dict[str, Any]) -> float:
    """The instant of a record; null is before all time."""
    start = record["t_start"]
    if start is None:
        return -math.inf
    if isinstance(start, str):
        return instant(dt.datetime.fromisoformat(start).astimezone(dt.UTC).replace(tzinfo=None))
    return start


def _shown(missing: list[Any], extra: list[Any]) -> str:
    def shortened(items: list[Any]) -> str:
        return " ".join(json.dumps(item, ensure_ascii=False) for item in items[:3])

    return f"{len(missing)} missing {shortened(missing)} | {len(extra)} too much {shortened(extra)}"
