"""The expanded schema: |SR| * 2^|K| nodes in the order of the paper, or the rarer ones first."""

from __future__ import annotations

import numpy as np
import pytest

from seine.keyword_networks.expanded_schema import ExpandedSchema, StreamingSchema
from tests.support.keyword_schemas import PAPER


@pytest.mark.parametrize("selective", [False, True])
@pytest.mark.parametrize("keywords", [1, 2, 3, 5])
def test_nodes(keywords: int, selective: bool) -> None:
    schema = ExpandedSchema(PAPER, keywords, selective)
    assert schema.nodes == 4 * 2**keywords
    assert int(schema.is_root().sum()) == 4 * 2 ** (keywords - 1)  # as many clusters
    numbers = schema.node_of[schema.stream_of, schema.keywords_of]
    assert numbers.tolist() == list(range(schema.nodes))


def test_order_of_the_paper() -> None:
    """S{k1,k3} before T{k2}, S{k2} before S{k1,k3}."""
    schema = ExpandedSchema(PAPER, 3)
    assert schema.node_of[0, 0b101] < schema.node_of[1, 0b010]
    assert schema.node_of[0, 0b010] < schema.node_of[0, 0b101]


def test_order_by_selectivity() -> None:
    schema = ExpandedSchema(PAPER, 3, selective=True)
    sizes = [bin(held).count("1") for held in schema.keywords_of.tolist()]
    assert sizes == sorted(sizes, reverse=True)


def test_half_edges() -> None:
    schema = ExpandedSchema(StreamingSchema(("a", "b"), ((0, 0), (0, 1), (1, 0))), 1)
    assert np.diff(schema.first_half).tolist() == [3, 2]  # a with itself is one half edge
    assert schema.half_partner[: schema.first_half[1]].tolist() == [0, 1, 1]


def test_a_condition_needs_its_streams() -> None:
    with pytest.raises(ValueError, match=r"the condition \(0, 2\) names a stream that is not there"):
        StreamingSchema(("a", "b"), ((0, 2),))
