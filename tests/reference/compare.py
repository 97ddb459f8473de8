"""Equality of answers: multisets of JSON rows, numbers with a tolerance."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tests.reference.tree_form import is_tree, renumbered

RELATIVE, ABSOLUTE = 1e-6, 1e-9
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")


def canonical(value: Any, blur: bool = False) -> str:
    """A text that is equal for equal values; with `blur` all numbers look alike.

    >>> canonical({"b": 1.0, "a": None}) == canonical({"b": 1})
    True
    """
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float | Decimal):
        return "#" if blur else _number(value)
    if isinstance(value, str):
        return _moment(value) if _MOMENT.fullmatch(value) else json.dumps(value)
    if isinstance(value, dict):
        if is_tree(value):
            value = renumbered(value, canonical)
        known = sorted(key for key in value if value[key] is not None)
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key], blur)}" for key in known) + "}"
    return "[" + ",".join(canonical(item, blur) for item in value) + "]"


def _number(value: float | Decimal) -> str:
    if isinstance(value, int):
        return f"#{value}"
    rounded = float(f"{value:.9g}")
    return f"#{int(rounded)}" if rounded.is_integer() and abs(rounded) < 2**53 else f"#{rounded}"


def _moment(text: str) -> str:
    moment = dt.datetime.fromisoformat(text)
    return (moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment).isoformat()


def close(left: Any, right: Any) -> bool:
    """Equal, floating numbers within the tolerance; an absent key equals NULL."""
    if _is_number(left) and _is_number(right):
        left, right = _plain(left), _plain(right)
        if left == right or (isinstance(left, int) and isinstance(right, int)):
            return left == right
        return abs(left - right) <= max(RELATIVE * max(abs(left), abs(right)), ABSOLUTE)
    if isinstance(left, dict) and isinstance(right, dict):
        return all(close(left.get(key), right.get(key)) for key in {*left, *right})
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(close, left, right))
    return canonical(left) == canonical(right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _plain(value: float | Decimal) -> float:
    return float(value) if isinstance(value, Decimal) else value


def difference(expected: Iterable[Any], got: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """What is missing and what is too much, as multisets.

    >>> difference([1, 2, 2], [2, 1.0000000001, 3])
    ([2], [3])
    """
    shelf = defaultdict(list)
    for item in got:
        shelf[canonical(item)].append(item)
    missing = [item for item in expected if not _take(shelf, canonical(item))]
    extra = [item for items in shelf.values() for item in items]
    if missing and extra:
        return _pair_off(missing, extra)
    return missing, extra


def _take(shelf: dict[str, list[Any]], key: str) -> bool:
    taken = bool(shelf.get(key))
    if taken:
        shelf[key].pop()
    return taken


def _pair_off(missing: list[Any], extra: list[Any]) -> tuple[list[Any], list[Any]]:
    alike = defaultdict(list)
    for item in extra:
        alike[canonical(item, blur=True)].append(item)
    unmatched = []
    for item in missing:
        candidates = alike[canonical(item, blur=True)]
        hit = next((i for i, other in enumerate(candidates) if close(item, other)), None)
        if hit is None:
            unmatched.append(item)
        else:
            candidates.pop(hit)
    return unmatched, [item for items in alike.values() for item in items]


def net_of(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that remain when each `-` takes away its `+`; a row that lacks its `+` shows as {"-": row}."""
    count: Counter[str] = Counter()
    rows = {}
    for record in records:
        key = canonical(record["row"])
        rows[key] = record["row"]
        count[key] += 1 if record["op"] == "+" else -1
    plus = [rows[key] for key, n in count.items() for _ in range(n)]
    minus = [rows[key] for key, n in count.items() for _ in range(-n)]
    lonely, rest = difference(minus, plus)
    return rest + [{"-": row} for row in lonely]


def first_early_minus(records: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The first `-` record that comes before its `+`."""
    live: Counter[str] = Counter()
    for record in records:
        key = canonical(record["row"])
        live[key] += 1 if record["op"] == "+" else -1
        if live[key] < 0:
            return record
    return None
