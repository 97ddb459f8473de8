"""Queries that say the same in other words are one computation: no spelling adds a join or an operator.

Cites: ARGUS 5.1 (canonical forms), 5.3 (groups), 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from seine.frontends.script.parser import parse_script
from seine.network.network import Network
from seine.optimizer.estimates import Estimates
from seine.runtime.source_samples import source_estimates
from tests.support.query_spellings import read_families, script_of, write_streams

FAMILIES = read_families()

PAIRS = "SELECT a.id AS x, b.id AS y FROM f a, f b WHERE "
COUNTS = "SELECT bank, COUNT(*) AS n FROM f WHERE "


def built(queries: Sequence[str], estimates: Estimates | None = None) -> tuple[int, int]:
    """How many joins and how many operators with state a network of queries has."""
    network = Network()
    network.estimates = estimates
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


@pytest.fixture(scope="module")
def estimates(tmp_path_factory: pytest.TempPathFactory) -> Estimates:
    """What the files of the streams show."""
    folder = tmp_path_factory.mktemp("streams")
    write_streams(folder, seed=1, rows=80)
    declared = parse_script(script_of([]), file="script.sql", folder=str(folder)).declarations
    known = source_estimates(declared.tables, 1_000)
    assert known is not None and all(name in known.samples for name in "fghr")
    return known


@pytest.mark.parametrize("family", [name for name, queries in FAMILIES.items() if " a, " in "".join(queries)])
def test_spellings_are_one_computation_where_the_data_is_known(family: str, estimates: Estimates) -> None:
    spellings = FAMILIES[family]
    alone = {built([query], estimates) for query in spellings}
    assert len(alone) == 1 and {built(order, estimates) for order in (spellings, spellings[::-1])} == alone


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
