"""Scopes of searches as texts."""

from __future__ import annotations

import pytest

from seine.operators.search.searches import TableScope


@pytest.mark.parametrize(
    "scope",
    [
        TableScope.everything(),
        TableScope.everything(["news"]),
        TableScope.over(["movie"]),
        TableScope.over(["über", 'a "b"', "+"]),
    ],
)
def test_text_of_a_scope_reads_back(scope: TableScope) -> None:
    assert TableScope.of(scope.text) == scope


def test_scopes_of_the_same_tables_have_one_text() -> None:
    assert TableScope.over(["b", "a"]).text == TableScope.over(["a", "b"]).text
    texts = {TableScope.over(["a"]).text, TableScope.everything(["a"]).text, TableScope.everything().text}
    assert len(texts) == 3


def test_search_that_follows_the_schema_takes_streams_without_a_window_only_by_name() -> None:
    scope = TableScope.everything(["news"])
    assert scope.takes("news", lasting=True) and scope.takes("movie", lasting=False)
    assert not scope.takes("other", lasting=True)


def test_search_over_named_tables_takes_no_others() -> None:
    scope = TableScope.over(["news"])
    assert scope.takes("news", lasting=True) and not scope.takes("movie", lasting=False)
