"""The view cache: slices, their upkeep, and what is forgotten first."""

from __future__ import annotations

import numpy as np
from benchmarks.template_engines.join_state import JoinState
from benchmarks.template_engines.materialised_views import with_witnesses
from benchmarks.template_engines.view_cache import ViewCache
from benchmarks.template_engines.witness_index import WitnessIndex
from benchmarks.template_engines.witness_relations import DocumentBatch, NodeStrings, PairWitnesses


def _hold(state: JoinState, number: int, timestamp: int, *strings: int) -> WitnessIndex:
    """A document whose nodes 1, 2, ... have these strings, each below node 0 by pair 0."""
    nodes = np.arange(1, len(strings) + 1)
    document = np.full(len(strings), number)
    zeros = np.zeros(len(strings), dtype=np.int64)
    return state.hold(
        DocumentBatch(
            number,
            np.array([timestamp]),
            PairWitnesses(document, zeros, zeros, nodes),
            NodeStrings(document, nodes, np.array(strings)),
        )
    )


def _read(cache: ViewCache, state: JoinState, *strings: int) -> list[tuple[int, int, int]]:
    """(string, document, node) of R_L."""
    assert state.index is not None
    view = cache.read(state.index, np.array(strings))
    return list(
        zip(view.string.tolist(), view.witnesses.document.tolist(), view.witnesses.node.tolist(), strict=True)
    )


def test_slices_are_computed_once_and_extended() -> None:
    state, cache = JoinState(100), ViewCache(50)
    _hold(state, 0, 0, 8, 9)
    assert _read(cache, state, 8) == [(8, 0, 1)]
    arriving = _hold(state, 1, 1, 9, 8)
    cache.extend(with_witnesses(arriving, arriving.by_string))
    assert _read(cache, state, 8, 9) == [(8, 0, 1), (8, 1, 2), (9, 0, 2), (9, 1, 1)]
    assert (cache.hits, cache.misses, cache.rows) == (1, 2, 4)


def test_the_least_recently_used_slice_is_forgotten() -> None:
    state, cache = JoinState(100), ViewCache(2)
    _hold(state, 0, 0, 7, 8, 9)
    for strings, misses in (((7, 8), 2), ((7,), 2), ((9,), 3), ((7,), 3), ((8,), 4), ((9,), 5)):
        _read(cache, state, *strings)
        assert (cache.misses, cache.rows) == (misses, 2)


def test_purged_documents_leave_their_slices() -> None:
    state, cache = JoinState(10), ViewCache(50)
    _hold(state, 0, 0, 8)
    _read(cache, state, 8)
    arriving = _hold(state, 1, 5, 8)
    cache.extend(with_witnesses(arriving, arriving.by_string))
    _hold(state, 2, 12, 9)
    assert _read(cache, state, 8) == [(8, 1, 1)]
    assert cache.rows == 1


def test_a_string_that_had_left_the_state_comes_back() -> None:
    """Its slice is still cached, though no held document has it: the newcomer must enter the slice."""
    state, cache = JoinState(10), ViewCache(50)
    _hold(state, 0, 0, 8)
    _read(cache, state, 8)
    _hold(state, 1, 50, 9)
    for number in (2, 3):
        arriving = _hold(state, number, 50 + number, 8)
        cache.extend(with_witnesses(arriving, arriving.by_string))
    assert _read(cache, state, 8) == [(8, 2, 1), (8, 3, 1)]
    assert cache.hits == 1


def test_nothing_is_asked_of_an_empty_cache() -> None:
    state, cache = JoinState(10), ViewCache(0)
    _hold(state, 0, 0, 8)
    assert _read(cache, state) == []
    assert _read(cache, state, 8) == [(8, 0, 1)]
    assert cache.rows == 0
