"""Witnesses: exactly the values at the wanted paths, by lxml's XPath; bounded by what documents can do."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from lxml import etree

from seine.algebra.tree_pattern import PatternNode
from seine.documents import path_witnesses
from seine.documents.path_witnesses import (
    LONGEST_HASHED,
    PathAutomaton,
    PathPattern,
    WitnessFinder,
    path_pattern,
)
from seine.rows.hashing import hash_columns
from tests.support.random_documents import URI, random_document, random_pattern, xpath_step
from tests.support.seeds import seed_range


def hashed(text: str) -> int:
    return int(hash_columns([pa.array([text[:LONGEST_HASHED]])], 1)[0])


def by_xpath(patterns: dict[int, PathPattern], text: str, any_namespace: bool) -> list[tuple[int, int]]:
    above = etree.Element("above")
    above.append(etree.fromstring(text.encode()))
    pairs = set()
    for number, path in patterns.items():
        steps = [PatternNode(*step) for step in path]
        xpath = "/".join(xpath_step(step, any_namespace) for step in steps)
        for node in above.xpath(xpath, namespaces={"n": URI}):
            pairs.add((number, hashed(str(node) if isinstance(node, str) else node.xpath("string()"))))
    return sorted(pairs)


def found_in(finder: WitnessFinder, texts: list[str | None]) -> list[list[tuple[int, int]]]:
    witnesses = finder.find(texts)
    pairs = list(zip(witnesses.patterns.tolist(), witnesses.values.tolist(), strict=True))
    return [sorted(pairs[a:b]) for a, b in zip(witnesses.offsets[:-1], witnesses.offsets[1:], strict=True)]


@pytest.mark.parametrize("any_namespace", [False, True])
def test_witnesses_are_the_values_at_the_paths(any_namespace):
    met = 0
    for seed in seed_range(150):
        random = Random(seed)
        patterns: dict[int, PathPattern] = {}
        while len(patterns) < 8:
            tree = random_pattern(random, any_namespace)
            for variable in tree.variables:
                path = path_pattern(tree, variable)
                patterns[random.randrange(1000)] = tuple(
                    (axis, name.rpartition("}")[2] if any_namespace else name, is_attribute)
                    for axis, name, is_attribute in path
                )
        finder = WitnessFinder(patterns, any_namespace)
        for _ in range(2):  # the second time, label paths are known
            texts = [random_document(random) for _ in range(5)]
            expected = [by_xpath(patterns, text, any_namespace) for text in texts]
            assert found_in(finder, [*texts, None]) == [*expected, []], (seed, texts)
            met += sum(map(len, expected))
    assert met > 1_000


def test_nothing_wanted_and_nothing_there():
    assert found_in(WitnessFinder({}), ["<a/>", None]) == [[], []]
    assert found_in(WitnessFinder({1: (("/", "b", False),)}), ["<a><b/></a>"]) == [[]]
    assert WitnessFinder({}).find([]).offsets.tolist() == [0]


def test_long_values_are_hashed_by_their_beginning():
    finder = WitnessFinder({1: (("//", "a", False),)})
    start = "x" * LONGEST_HASHED
    one, other = found_in(finder, [f"<a>{start}y</a>", f"<a>{start[:-9]}<b>{start}</b></a>"])
    assert one == other == [(1, hashed(start))]


def test_where_nothing_can_match_nothing_is_looked_at():
    automaton = PathAutomaton({1: (("/", "a", False), ("/", "b", False), ("/", "k", True))})
    a = automaton.child(automaton.document, "a")
    b = automaton.child(a, "b")
    assert [state.is_dead_end for state in (a, b, automaton.child(a, "c"))] == [False, True, True]
    assert b.attributes == {} and a.attributes is None
    assert automaton.pattern_sets[automaton.attribute(b, "k")] == (1,) and automaton.attribute(b, "m") == -1


def test_invented_names_are_forgotten(monkeypatch):
    monkeypatch.setattr(path_witnesses, "MOST_LABEL_PATHS", 50)
    finder = WitnessFinder({1: (("//", "a", False), ("//", "b", False))})
    document = finder._automaton.document
    for number in range(200):
        text = f"<x{number}><a><y{number}><b>v</b></y{number}></a></x{number}>"
        assert found_in(finder, [text]) == [[(1, hashed("v"))]]
        assert len(document.below) <= 51


def test_invented_attributes_are_forgotten(monkeypatch):
    monkeypatch.setattr(path_witnesses, "MOST_LABEL_PATHS", 50)
    finder = WitnessFinder({1: (("//", "k", True),)})
    for number in range(200):
        text = f'<a><b i{number}="1" k="v"/><c j{number}="1"/></a>'
        assert found_in(finder, [text]) == [[(1, hashed("v"))]]
    a = finder._automaton.document.below["a"]
    assert sum(len(state.attributes or ()) for state in a.below.values()) <= 51


def test_of_long_values_only_the_beginning_is_held():
    sets, strings = [], []
    finder = WitnessFinder({1: (("//", "a", False),), 2: (("//", "k", True),)})
    long = "x" * (LONGEST_HASHED + 5)
    root = etree.fromstring(f'<a k="{long}"><a>{long}</a></a>')
    finder._walk(root, sets, strings)
    assert [len(one) for one in strings] == [LONGEST_HASHED] * 3


def test_hashes_are_the_same_in_every_process():
    values = WitnessFinder({1: (("/", "a", False),)}).find(["<a>Ann</a>"]).values
    assert values.dtype == np.int64 and values.tolist() == [hashed("Ann")]
