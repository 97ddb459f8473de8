"""The running example through every engine: Table 4(f), the window's edges, a document that comes twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from benchmarks.template_engines.sequential_engine import SequentialEngine
from benchmarks.template_engines.template_engine import TemplateEngine
from benchmarks.template_engines.template_relation import TemplateRelation
from benchmarks.template_engines.view_cache import ViewCache
from benchmarks.template_engines.view_engine import ViewEngine

from tests.support.document_graphs import (
    BLOG_PAIRS,
    BLOG_STRINGS,
    BOOK_PAIRS,
    BOOK_STRINGS,
    example_document,
    example_relations,
)

Results = list[tuple[int, int, int, tuple[int, ...]]]
ENGINES: dict[str, Callable[[Sequence[TemplateRelation]], TemplateEngine | SequentialEngine]] = {
    "templates": TemplateEngine,
    "views": ViewEngine,
    "cached views": lambda relations: ViewEngine(relations, ViewCache(100)),
    "sequential": SequentialEngine,
}
BOOK, BLOG = (BOOK_PAIRS, BOOK_STRINGS), (BLOG_PAIRS, BLOG_STRINGS)


def _results(name: str, *documents: tuple[int, tuple]) -> Results:
    """What each document brings, one after the other, at given times."""
    relations = example_relations()
    engine = ENGINES[name](relations.compiled())
    results: Results = []
    for number, (timestamp, (pairs, strings)) in enumerate(documents):
        arriving = engine.hold(example_document(number, timestamp, relations.pair_codes, pairs, strings))
        results += sorted(one for result in engine.match(arriving) for one in result.tuples())
    return results


@pytest.mark.parametrize("name", ENGINES)
def test_a_book_and_a_blog(name: str) -> None:
    """Table 4(f): the blog promotes the book, and follows up on it."""
    assert _results(name, (0, BOOK), (7, BLOG)) == [
        (1, 0, 1, (0, 2, 4, 0, 2, 3)),
        (2, 0, 1, (0, 2, 5, 0, 2, 5)),
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_a_blog_again(name: str) -> None:
    """Q3 meets the cross-posting; the book of long ago is beyond T1, and exactly at T2."""
    assert _results(name, (0, BOOK), (150, BLOG), (200, BLOG)) == [
        (2, 0, 1, (0, 2, 5, 0, 2, 5)),
        (2, 0, 2, (0, 2, 5, 0, 2, 5)),
        (3, 1, 2, (0, 2, 3, 0, 2, 3)),
    ]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("distance", "reported"), [(0, []), (1, [1, 2]), (100, [1, 2]), (101, [2]), (201, [])]
)
def test_windows_include_their_end(name: str, distance: int, reported: list[int]) -> None:
    """0 < t2 - t1 <= T."""
    assert [query for query, *_ in _results(name, (5, BOOK), (5 + distance, BLOG))] == reported


@pytest.mark.parametrize("name", ENGINES)
def test_the_later_block_does_not_come_first(name: str) -> None:
    assert _results(name, (0, BLOG), (1, BOOK)) == []
