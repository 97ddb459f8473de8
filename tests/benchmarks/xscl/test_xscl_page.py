"""The benchmark of XML subscriptions: the paper's workloads, and sides that agree."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import PARTS, main
from benchmarks.sides.on_duckdb import DuckdbTemplates
from benchmarks.sides.on_templates import MatchCost, engine_cost, same_results
from benchmarks.template_engines.template_engine import TemplateEngine
from benchmarks.workloads.document_queries import draw_queries
from benchmarks.workloads.document_schemas import DocumentSchema, schema_batch, three_levels, two_levels
from benchmarks.workloads.feed_items import CHANNELS, make_feed
from benchmarks.workloads.feed_subscriptions import FORMS, channels_of, item_texts, subscriptions
from lxml import etree

from benchmarks.xscl import xscl_page
from seine.errors import RunError


@pytest.mark.parametrize("most", [4, 6, 12])
def test_a_flat_schema_has_as_many_templates_as_leaves(most: int) -> None:
    drawn = draw_queries(3, two_levels(most), 1_000, most)
    assert len(drawn.relations(None).compiled()) == most
    assert sum(map(len, drawn.joins)) == 1_000


@pytest.mark.parametrize(("most", "told_apart", "mirrored"), [(2, 2, 2), (3, 7, 6), (4, 31, 22)])
def test_templates_of_three_levels(most: int, told_apart: int, mirrored: int) -> None:
    """6.1 counts 22 for 100,000 queries, and mirror images as one."""
    compiled = draw_queries(3, three_levels(4), 20_000, most).relations(None).compiled()
    templates = {relation.template for relation in compiled}
    assert len(templates) == told_apart
    assert len({min(template, template.mirrored) for template in templates}) == mirrored


def test_queries_are_drawn_as_in_the_paper() -> None:
    """Different leaves on each side, fewer joins more often; 1,545 distinct queries over five leaves."""
    drawn = draw_queries(1, two_levels(5), 100_000, 5)
    sizes = [len(edges) for edges in drawn.joins]
    assert sizes == sorted(sizes, reverse=True)
    for size, edges in enumerate(drawn.joins, 1):
        assert all(len(set(side)) == size for row in edges[:200] for side in (row // 5, row % 5))
    graphs = list(drawn.distinct())
    assert len(graphs) == 1_545
    assert sorted(np.concatenate([numbers for _, numbers in graphs])) == list(range(100_000))


def test_zipf_makes_queries_simpler() -> None:
    even, skewed = (draw_queries(1, two_levels(6), 6_000, 6, zipf).joins for zipf in (0.0, 1.6))
    assert all(900 < len(edges) < 1_100 for edges in even)
    assert len(skewed[0]) > 10 * len(skewed[-1])


def test_feed_items_are_what_they_say() -> None:
    strings = make_feed(1, 20_000).strings
    distinct = [len(np.unique(column)) for column in strings.T]
    assert distinct[0] == 20_000
    assert distinct[1] == CHANNELS
    assert all(18_500 < count < 19_500 for count in (distinct[2], distinct[4]))
    assert len(set.intersection(*(set(column.tolist()) for column in strings.T))) == 0


@pytest.mark.parametrize("schema", [two_levels(4), three_levels(2)])
def test_the_sql_has_the_rows_of_the_templates(schema: DocumentSchema) -> None:
    """Few strings, so that much is joined; windows that cut."""
    drawn = draw_queries(5, schema, 300, 4)
    relations = drawn.relations(4)
    compiled = relations.compiled()
    compiled = [
        replace(relation, windows=relation.windows - (np.arange(len(relation.windows)) % 3))
        for relation in compiled
    ]
    strings = np.random.default_rng(1).integers(0, 3, (12, len(schema.leaves)))
    held = schema_batch(schema, relations.pair_codes, 0, np.arange(8), strings[:8])
    arriving = schema_batch(schema, relations.pair_codes, 8, np.array([8, 9, 10, 30]), strings[8:])
    late = replace(arriving, timestamps=np.array([8, 8, 8, 8]))  # SQL does not let arriving items meet
    database = DuckdbTemplates(compiled)
    database.load(held, late)
    cost = engine_cost(TemplateEngine(compiled), held, [late], 1)
    assert database.match()[0] == cost.rows * 4 > 100


@pytest.mark.parametrize("form", FORMS)
def test_two_records_an_item_leave_however_many_queries(form: str) -> None:
    """Counted by hand: pairs of items with equal titles, and the queries for their channels."""
    for queries in (1_000, 10_000):
        texts = [etree.fromstring(text) for text in item_texts(2_000, channels_of(queries), form)]
        wanted = Counter(tuple(re.findall(r"c(\d+)", text)) for text in subscriptions(queries, form))
        posted: dict[str | None, str] = {}
        records = 0
        for item in texts:
            channel = item.findtext("channel")
            assert channel is not None
            assert item.tag == (channel if form == "paths" else "item")
            assert 500 < len(etree.tostring(item)) < 650
            earlier = posted.get(item.findtext("description"))
            records += wanted[earlier[1:], channel[1:]] if earlier else 0
            posted.setdefault(item.findtext("description"), channel)
        assert 1.7 < records / 2_000 < 2.3


def test_sides_that_disagree_are_refused() -> None:
    same_results(MatchCost(1, 2, 9), MatchCost(5, 2, float("nan")), MatchCost(5, 9, 9, single=True))
    with pytest.raises(RunError, match="disagree"):
        same_results(MatchCost(1, 2, 9), MatchCost(1, 3, 9))
    with pytest.raises(RunError, match="disagree"):
        same_results(MatchCost(1, 2, 9), MatchCost(1, 9, 8, single=True))


@pytest.mark.parametrize("part", [part for part in PARTS["xscl"] if part != "spark"])
def test_the_page_has_every_table(part: str, tmp_path: Path) -> None:
    assert main(["xscl", "--quick", "--only", part, "--out", str(tmp_path / "page.md")]) == 0
    tables = (tmp_path / "page.md").read_text().count("\n| -")
    assert tables == sum(one == part for one, *_ in xscl_page.TABLES) > 0


def test_every_table_has_sizes_and_a_part() -> None:
    assert set(xscl_page.FULL) == set(xscl_page.QUICK) == {name for _, name, _, _ in xscl_page.TABLES}
    assert {part for part, *_ in xscl_page.TABLES} == set(PARTS["xscl"])
