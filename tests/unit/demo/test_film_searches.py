"""The demonstration of searches: its feeds, and what is found in them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seine.demo.film_searches import write_search_demo
from seine.demo.tree_page import found_tree
from seine.frontends.script.parser import read_script
from seine.run_local import run_local


@cache
def records() -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        return run_local(str(write_search_demo(folder, films=120)), batch_rows=500).records


def test_most_searches_find_something() -> None:
    with TemporaryDirectory() as folder:
        queries = {query.name for query, _ in read_script(str(write_search_demo(folder))).queries}
    assert len(queries) == 30
    assert len({record["query"] for record in records()}) >= 20


def test_every_term_is_found_in_a_tuple_that_is_shown() -> None:
    assert len(records()) > 100
    for record in records():
        tree = found_tree(record["row"])
        shown = [one for _, one in tree.walk()]
        assert len(shown) == len(record["row"]["tuples"])
        assert tree.terms, "it is seen from a tuple with a term"
        assert {term for one in shown for term in one.terms} == {
            term for terms in record["row"]["matches"] for term in terms
        }


def test_feeds_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    def texts(folder: Path, seed: int) -> list[str]:
        write_search_demo(folder, films=30, seed=seed)
        return [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())]

    assert texts(tmp_path / "a", 1) == texts(tmp_path / "b", 1) != texts(tmp_path / "c", 2)
