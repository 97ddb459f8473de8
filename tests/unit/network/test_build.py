"""Queries that say the same in other words are one computation: no spelling adds a join or an operator.

Cites: ARGUS 5.1 (canonical forms), 5.3 (groups), 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from seine.frontends.script.parser import parse_script
from seine.network.network import Network
from tests.support.query_spellings import read_families, script_of

FAMILIES = read_families()

PAIRS = "SELECT a.id AS x, b.id AS y FROM f a, f b WHERE "
COUNTS = "SELECT bank, COUNT(*) AS n FROM f WHERE "


def built(queries: Sequence[str]) -> tuple[int, int]:
    """How many joins and how many operators with state a network of queries has."""
    network = Network()
    text = script_of([*queries])
    for query in parse_script(text, file="script.sql", folder="/data").declarations.queries.values():
        network.add(query)
    network.commit()
    nodes = network.nodes.values()
    return sum(node.is_join for node in nodes), sum(node.stateful for node in nodes)


@pytest.mark.parametrize("family", FAMILIES)
def test_spellings_are_one_computation(family: str) -> None:
    spellings = FAMILIES[family]
    alone = {built([query]) for query in spellings}
    assert len(spellings) > 1 and len(alone) == 1
    assert {built(spellings), built(spellings[::-1])} == alone


def test_what_differs_stays_apart() -> None:
    assert built((PAIRS + "a.bank = b.branch + 1", PAIRS + "a.bank = b.branch + 2"))[0] == 2
    assert (
        built((COUNTS + "id > 1 GROUP BY bank", "SELECT branch, COUNT(*) AS n FROM f GROUP BY branch"))[1]
        == 2
    )
    assert (
        built(("SELECT id FROM f EXCEPT SELECT id FROM g", "SELECT id FROM g EXCEPT SELECT id FROM f"))[1]
        == 2
    )
