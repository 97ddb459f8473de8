"""Aliases that tell the streams of sub-queries apart: in messages, a scan is named by its alias.

Sub-queries in one FROM may read the same stream under the same name. Such scans are named by the alias of
the sub-query too, so that a verdict or an explanation says which of them it means:

    FROM (SELECT a FROM u) p, (SELECT a FROM u) q      p.u and q.u
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from seine.algebra.plan import Lookup, Plan, Scan, walk


def distinct_aliases(items: Sequence[Plan], owners: Sequence[str | None]) -> list[Plan]:
    """Items of a FROM clause; `owners` has for each the alias of the sub-query that it is from, if any.

    An alias that stands in two places gets the owner's in front, where there is one.
    """
    names = [{scan.alias for scan in walk(item) if isinstance(scan, Scan)} for item in items]
    owned = {(owner or "", alias) for owner, known in zip(owners, names, strict=True) for alias in known}
    repeated = {alias for alias, count in Counter(alias for _, alias in owned).items() if count > 1}
    if not repeated:
        return list(items)

    def named(owner: str) -> Callable[[str], str]:
        return lambda alias: f"{owner}.{alias}" if alias in repeated else alias

    pairs = zip(items, owners, strict=True)
    return [item if owner is None else _with_aliases(item, named(owner)) for item, owner in pairs]


def _with_aliases(plan: Plan, named: Callable[[str], str]) -> Plan:
    if isinstance(plan, Scan | Lookup):
        return replace(plan, alias=named(plan.alias))
    assert is_dataclass(plan)
    changed = {part.name: _part(getattr(plan, part.name), named) for part in fields(plan)}
    return replace(plan, **changed)


def _part(value: Any, named: Callable[[str], str]) -> Any:
    """A field of a plan: a plan, several, or something else, which stays."""
    if isinstance(value, Plan):
        return _with_aliases(value, named)
    if isinstance(value, tuple) and any(isinstance(one, Plan) for one in value):
        return tuple(_part(one, named) for one in value)
    return value
