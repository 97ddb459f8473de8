"""The join state: documents in order, purged by the widest window."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.template_engines.join_state import JoinState
from benchmarks.template_engines.witness_relations import DocumentBatch, NodeStrings, PairWitnesses

NONE = np.zeros(0, dtype=np.int64)


def _batch(first: int, *times: int) -> DocumentBatch:
    """Documents whose root is a pair with itself, with the string 7."""
    numbers = np.arange(first, first + len(times))
    zeros = np.zeros(len(times), dtype=np.int64)
    return DocumentBatch(
        first,
        np.array(times),
        PairWitnesses(numbers, zeros, zeros, zeros),
        NodeStrings(numbers, zeros, zeros + 7),
    )


def _held(state: JoinState) -> list[int]:
    """The documents that every index has."""
    index = state.index
    assert index is not None
    columns = (index.below, index.above, index.nodes, index.by_string)
    (documents,) = {tuple(sorted(column.document.tolist())) for column in columns}
    assert len(documents) == len(index.timestamps) == len(index.below_keys) == len(index.above_keys)
    return list(documents)


def test_what_no_window_reaches_is_purged() -> None:
    state = JoinState(10)
    for first, times, held in (
        (0, (0, 3), [0, 1]),
        (2, (10,), [0, 1, 2]),
        (3, (13, 40), [1, 2, 3, 4]),
        (5, (100,), [5]),
    ):
        state.hold(_batch(first, *times))
        assert _held(state) == held


def test_an_infinite_window_purges_nothing() -> None:
    state = JoinState(1 << 60)
    for number in range(5):
        state.hold(_batch(number, 10**12 * number))
    assert _held(state) == [0, 1, 2, 3, 4]


def test_documents_come_in_order() -> None:
    state = JoinState(10)
    state.hold(_batch(0, 5))
    with pytest.raises(ValueError, match="order of their timestamps"):
        state.hold(_batch(1, 4))
    with pytest.raises(ValueError, match="document 2 does not follow 0"):
        state.hold(_batch(2, 6))
    with pytest.raises(ValueError, match="order of their timestamps"):
        _batch(0, 5, 4)


def test_witnesses_are_of_the_documents_of_their_batch() -> None:
    with pytest.raises(ValueError, match="none of the documents 3 to 3"):
        DocumentBatch(
            3, np.array([1]), PairWitnesses(NONE, NONE, NONE, NONE), NodeStrings(*np.array([[4], [0], [0]]))
        )
    with pytest.raises(ValueError, match="a node number is not below"):
        DocumentBatch(
            3,
            np.array([1]),
            PairWitnesses(NONE, NONE, NONE, NONE),
            NodeStrings(*np.array([[3], [1 << 17], [0]])),
        )
