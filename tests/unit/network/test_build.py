"""Queries that say the same in other words are one computation: no spelling adds a join or an operator.

Cites: ARGUS 5.1 (canonical forms), 5.3 (groups), 5.4 (set operators)
"""

from __future__ import annotations

import pytest

from seine.frontends.script.parser import parse_script
from seine.network.network import Network

STREAMS = """\
CREATE STREAM f (id BIGINT, type BIGINT, bank BIGINT, branch BIGINT, damt DECIMAL(15,2), d DATE, day BIGINT)
  TIMESTAMP BY day WINDOW 20 FROM 'f.jsonl';
CREATE STREAM g (id BIGINT, bank BIGINT, day BIGINT) TIMESTAMP BY day WINDOW 20 FROM 'g.jsonl';
CREATE STREAM h (id BIGINT, bank BIGINT, day BIGINT) TIMESTAMP BY day WINDOW 20 FROM 'h.jsonl';
"""
PAIRS = "SELECT a.id AS x, b.id AS y FROM f a, f b WHERE "
COUNTS = "SELECT bank, COUNT(*) AS n FROM f WHERE "
SPELLINGS: dict[str, tuple[str, ...]] = {
    "a key with a constant": (
        PAIRS + "a.bank = b.branch + 1",
        PAIRS + "a.bank - 1 = b.branch",
        PAIRS + "a.bank - b.branch = 1",
        PAIRS + "a.bank <= b.branch + 1 AND a.bank >= b.branch + 1",
        PAIRS + "NOT (a.bank < b.branch + 1 OR a.bank - 1 > b.branch)",
        "SELECT b.id AS x, a.id AS y FROM f a, f b WHERE b.bank = a.branch + 1",
    ),
    "a key of dates": (PAIRS + "b.d = a.d + 3", PAIRS + "datediff(b.d, a.d) = 3", PAIRS + "b.d - 3 = a.d"),
    "a key of decimals": (PAIRS + "a.damt = 2 * b.damt", PAIRS + "a.damt / 2 = b.damt"),
    "a sum over three tables": tuple(
        f"SELECT a.id AS x FROM f a, f b, f c WHERE a.bank = b.branch AND b.bank = c.branch AND {total}"
        for total in ("a.damt + b.damt = c.damt", "c.damt - a.damt = b.damt", "c.damt - b.damt = a.damt")
    ),
    "implied conditions": (
        COUNTS + "id > 361 GROUP BY bank",
        COUNTS + "id > 361 AND id > 358 GROUP BY bank",
        COUNTS + "NOT id <= 361 GROUP BY bank",
        COUNTS + "id - 361 > 0 GROUP BY bank",
    ),
    "keys are a set": (
        "SELECT bank, branch, COUNT(*) AS n FROM f GROUP BY bank, branch",
        "SELECT bank, branch, COUNT(1) AS n FROM f GROUP BY branch, bank, branch",
        "SELECT branch AS x, bank AS y, COUNT(*) AS n FROM f GROUP BY 1, 2",
    ),
    "groups over a self-join either way round": (
        "SELECT a.bank AS k, COUNT(*) AS n FROM f a, f b WHERE a.bank = b.bank AND a.damt > 3 "
        "AND b.damt > a.damt AND b.damt > 3 GROUP BY a.bank",
        "SELECT b.bank AS k, COUNT(*) AS n FROM f b, f a WHERE b.bank = a.bank AND a.damt < b.damt "
        "AND a.damt > 3 GROUP BY b.bank",
    ),
    "distinct": (
        "SELECT DISTINCT bank, branch FROM f WHERE type = 3",
        "SELECT bank, branch FROM f WHERE type = 3 GROUP BY bank, branch",
        "SELECT bank, branch FROM f WHERE type = 3 UNION SELECT bank, branch FROM f WHERE 3 = type",
        "SELECT DISTINCT branch AS x, bank AS y FROM f WHERE type = 3",
    ),
    "union": (
        "SELECT id FROM f UNION SELECT id FROM g UNION SELECT id FROM h",
        "SELECT id FROM h UNION (SELECT id FROM g UNION SELECT id FROM f)",
        "SELECT id FROM g UNION SELECT id FROM h UNION SELECT id FROM f UNION SELECT id FROM g",
    ),
    "union all": (
        "SELECT id FROM f UNION ALL SELECT id FROM g",
        "SELECT id FROM g UNION ALL SELECT id FROM f",
    ),
    "except": (
        "SELECT id FROM f EXCEPT SELECT id FROM g EXCEPT SELECT id FROM h",
        "SELECT id FROM f EXCEPT SELECT id FROM h EXCEPT SELECT id FROM g",
        "SELECT id FROM f EXCEPT (SELECT id FROM g UNION SELECT id FROM h)",
        "SELECT DISTINCT id FROM f EXCEPT (SELECT id FROM h UNION SELECT id FROM g UNION SELECT id FROM h)",
    ),
}


def built(queries: tuple[str, ...]) -> tuple[int, int]:
    """How many joins and how many operators with state a network of queries has."""
    text = STREAMS + "".join(f"CREATE QUERY q{i} AS {sql};\n" for i, sql in enumerate(queries))
    network = Network()
    for query in parse_script(text, file="script.sql", folder="/data").declarations.queries.values():
        network.add(query)
    network.commit()
    nodes = network.nodes.values()
    return sum(node.is_join for node in nodes), sum(node.stateful for node in nodes)


@pytest.mark.parametrize("spellings", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_are_one_computation(spellings: tuple[str, ...]) -> None:
    assert built(spellings) == built(spellings[:1])
    assert built(spellings[::-1]) == built(spellings[-1:])


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
