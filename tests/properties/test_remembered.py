"""What caches remember is what would be worked out, whoever asked first (docs/design/bulk.md).

Every `lru_cache` of the planner is asked by networks of queries that the tests know, each beside siblings
with other constants. An answer that is given again is worked out again, above all where what is asked equals
what was asked before and is not the same in every field: 1 and 1.0, or an atom that is not exact.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

import pytest

import seine
from seine.algebra.plan import Plan, Query
from seine.algebra.rank_plan import bound_ranks
from seine.errors import SeineError
from seine.network.network import Network
from tests.generators.constants import with_other_constants, with_strange_constants
from tests.support.known_queries import KnownQuery, known_queries
from tests.support.same_fields import difference
from tests.support.seeds import seeds

_PARTS = ("algebra", "optimizer", "network", "safety")
_NUMBERS = count()
_WHOLE = 12  # seeds that go through all


class _CheckedCache:
    """A cache whose answers are worked out again: once for each question, and for each that is only equal."""

    def __init__(self, cached: Any) -> None:
        self.cached, self.__wrapped__ = cached, cached.__wrapped__
        self.cache_clear, self.cache_info = cached.cache_clear, cached.cache_info
        self.first: dict[Any, Any] = {}
        self.again: set[Any] = set()
        self.counts: Counter[str] = Counter()

    def __call__(self, *question: Any) -> Any:
        answer = self.cached(*question)
        first = self.first.setdefault(question, question)
        if first is question:
            return answer
        is_other = difference(first, question) is not None
        if is_other or question not in self.again:
            self.again.add(question)
            self.counts["others" if is_other else "again"] += 1
            fresh = self.__wrapped__(*question)
            if type(answer).__eq__ is not object.__eq__:  # a search, or a renumbering
                assert difference(answer, fresh) is None, (self.__wrapped__, question)
        return answer


def _is_cache_of_planner(value: Any) -> bool:
    if isinstance(value, type | _CheckedCache) or not hasattr(value, "cache_info"):
        return False
    return str(value.__module__).startswith(tuple(f"seine.{part}." for part in _PARTS))


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> dict[str, _CheckedCache]:
    """Checked caches in place of those of the planner, in all modules that use them."""
    for part in _PARTS:
        package = importlib.import_module(f"seine.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"seine.{part}."):
            importlib.import_module(module.name)
    checked: dict[int, _CheckedCache] = {}
    for name, loaded in [*sys.modules.items()]:
        if name.startswith(f"{seine.__name__}."):
            for key, value in [*vars(loaded).items()]:
                if _is_cache_of_planner(value):
                    monkeypatch.setattr(loaded, key, checked.setdefault(id(value), _CheckedCache(value)))
    return {f"{one.__wrapped__.__module__}.{one.__wrapped__.__name__}": one for one in checked.values()}


def _queries(members: list[KnownQuery]) -> Iterator[Query]:
    """Queries over the same tables, each with siblings."""
    for query in members:
        rng = Random(query.text)
        texts = [query.text, *(with_other_constants(rng, query.text) for _ in range(2))]
        for text in (*texts, with_strange_constants(rng, query.text)):
            plan = query.plan(text)
            if isinstance(plan, Plan):
                yield Query(f"q{next(_NUMBERS)}", bound_ranks(plan), (("unbounded", True),), text)


@seeds(3)
def test_what_is_remembered_is_what_is_worked_out(seed: int, caches: dict[str, _CheckedCache]) -> None:
    by_tables: dict[str, list[KnownQuery]] = defaultdict(list)
    for query in known_queries(range(seed, seed + 1)):
        if query.is_select:
            by_tables[query.declarations].append(query)
    added = 0
    for members in [*by_tables.values()][seed % _WHOLE :: _WHOLE]:
        network = Network()
        for query in _queries(members[:30]):
            try:
                network.add(query)
            except SeineError:
                continue
            network.commit()
            added += 1
    counts = sum((one.counts for one in caches.values()), Counter[str]())
    assert added > 150 and counts["again"] > 1500 and counts["others"], (added, counts)
    repeated = [name for name, one in caches.items() if one.counts["again"]]
    assert len(repeated) > 20, repeated
