"""Join processing with materialised views: R_L and R_R are computed once for a batch, and read by every
template.

With a cache, R_L is made of slices by string value that earlier batches have left.

Cites: MMQJP 5 (Algorithm 4), 6.2
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.template_engines.materialised_views import (
    StringWitnesses,
    ViewSide,
    common_strings,
    join_views,
    value_joined,
    with_witnesses,
)
from benchmarks.template_engines.result_relation import ResultRelation
from benchmarks.template_engines.template_engine import TemplateEngine, checked
from benchmarks.template_engines.template_relation import TemplateRelation
from benchmarks.template_engines.view_cache import ViewCache
from benchmarks.template_engines.witness_index import WitnessIndex


@dataclass
class ViewTimes:
    """CPU seconds spent so far on each view, and on the conjunctive queries over them."""

    value_joins: float = 0.0
    left: float = 0.0
    right: float = 0.0
    queries: float = 0.0


class ViewEngine(TemplateEngine):
    """Algorithm 4; without a cache R_L is computed anew for each batch, as in 6.2."""

    def __init__(self, relations: Sequence[TemplateRelation], cache: ViewCache | None = None) -> None:
        super().__init__(relations)
        self._cache = cache
        self.times = ViewTimes()

    def match(self, arriving: WitnessIndex) -> list[ResultRelation]:
        """R_outT of each template that has results; with a cache, once for each batch: it is extended."""
        held = self.state.index
        assert held is not None, "a batch is held before it is matched"
        left, right = self._views(held, arriving)
        began = time.process_time()
        sides = ViewSide(held, left), ViewSide(arriving, right)
        results = []
        for query in self.queries:
            joined = join_views(held, left, right, query, query.first_pairs(self.codes))
            results += checked(query, held, query.evaluate(joined, *sides))
        self.times.queries += time.process_time() - began
        return results

    def _views(self, held: WitnessIndex, arriving: WitnessIndex) -> tuple[StringWitnesses, StringWitnesses]:
        """R_L and R_R."""
        began = time.process_time()
        strings = common_strings(held, arriving)
        nodes = value_joined(arriving, strings)
        joined = time.process_time()
        right = with_witnesses(arriving, nodes)
        had_right = time.process_time()
        if self._cache is None:
            left = with_witnesses(held, value_joined(held, strings))
        else:
            self._cache.extend(with_witnesses(arriving, arriving.by_string))
            left = self._cache.read(held, strings)
        self.times.value_joins += joined - began
        self.times.right += had_right - joined
        self.times.left += time.process_time() - had_right
        return left, right
