"""The paper's examples: which nodes their queries share.

Cites: ARGUS Figure 2, 4 (transitivity, join sharing)
"""

from __future__ import annotations

from collections import Counter

from seine.frontends.script.parser import parse_script
from seine.network.network import Network, build_network
from seine.network.show.explain import explain_text
from seine.network.show.labels import Labels
from seine.network.show.query_story import Story
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.prefilter import PrefilterNode

STREAM = """\
CREATE STREAM f (tran_id BIGINT, type BIGINT, sacct STRING, racct STRING, sbank BIGINT, rbank BIGINT,
  amount DECIMAL(15, 2), d DATE, ts BIGINT) TIMESTAMP BY ts WINDOW 20 FROM 'f.jsonl';
"""


def built(queries: str) -> tuple[Network, Labels]:
    declared = parse_script(STREAM + queries, file="script.sql", folder="/data").declarations
    network = build_network(declared.queries.values())
    return network, Labels(network, declared.streams)


def kinds(network: Network) -> dict[str, int]:
    return dict(Counter(node.kind for node in network))


def hops(days: int, name: str) -> str:
    """Large money that passes two more accounts, each time more than half of it, within some days."""
    return f"""
    CREATE QUERY {name} AS SELECT r1.tran_id AS first, r2.tran_id AS second, r3.tran_id AS third
      FROM f r1, f r2, f r3
      WHERE r1.type = 1000 AND r1.amount > 1000000
        AND r1.racct = r2.sacct AND r1.rbank = r2.sbank AND r2.amount > 0.5 * r1.amount
        AND r1.d <= r2.d AND r2.d <= r1.d + {days}
        AND r2.racct = r3.sacct AND r2.rbank = r3.sbank AND r3.amount = r2.amount
        AND r2.d <= r3.d AND r3.d <= r2.d + {days};"""


def above_average(name: str, more: str = "") -> str:
    """Transfers far above what their bank sends on average."""
    return f"""
    CREATE QUERY {name} AS SELECT t.tran_id AS tran_id, g.mean AS mean
      FROM f t, (SELECT sbank, AVG(amount) AS mean FROM f GROUP BY sbank) g
      WHERE t.sbank = g.sbank AND t.amount > 10 * g.mean{more};"""


def test_figure_2() -> None:
    """Two 3-way self-joins share both joins, two aggregate-then-join queries the aggregate and its join."""
    network, labels = built(
        hops(20, "q1") + hops(10, "q2") + above_average("q3") + above_average("q4", " AND t.amount > 500000")
    )
    assert kinds(network) == {
        "source": 1,
        "prefilter": 6,
        "join": 3,
        "fan": 3,
        "aggregate": 1,
        "changelog": 2,
        "deliver": 3,
    }
    shared = {
        (node.kind, tuple(network.users(node.id)))
        for node in network
        if node.kind in ("join", "aggregate") or len(network.users(node.id)) == 4
    }
    assert shared == {
        ("source", ("q1", "q2", "q3", "q4")),
        ("join", ("q1", "q2")),
        ("join", ("q3", "q4")),
        ("aggregate", ("q3", "q4")),
    }
    # Both windows are rows of one delivery: S3 of the figure, without a node of its own.
    deliver = next(n for n in network if isinstance(n, DeliverNode) and "q1" in network.users(n.id))
    assert network.users(deliver.id) == ["q1", "q2"]
    assert len(network.tables[deliver.filter.table]) == 2
    assert labels.describe(deliver).count(" AS ") == 3


def test_time_windows_of_10_and_20_share_one_join() -> None:
    pair = """
    CREATE QUERY q{0} AS SELECT r1.tran_id AS a, r2.tran_id AS b FROM f r1, f r2
      WHERE r1.racct = r2.sacct AND {1};"""
    network, labels = built(pair.format(10, "r2.d <= r1.d + 10") + pair.format(20, "r2.d <= r1.d + 20"))
    assert kinds(network) == {"source": 1, "prefilter": 2, "join": 1, "deliver": 1}
    assert all(network.users(node.id) == ["q10", "q20"] for node in network)
    text = explain_text(network, labels.streams)
    assert "<= ?, where ? is 10 or 20, for 2 queries" in text
    says = [said for chapter in Story(labels, "q10").chapters() for said in chapter.says]
    assert any("pass already for q20" in said and "<= 20 covers" in said for said in says)
    assert not any("pass already" in s for c in Story(labels, "q20").chapters() for s in c.says)


def test_windows_written_in_other_words_share_the_join_too() -> None:
    network, _ = built("""
    CREATE QUERY q10 AS SELECT r1.tran_id FROM f r1, f r2 WHERE r1.racct = r2.sacct AND r2.d <= r1.d + 10;
    CREATE QUERY q20 AS SELECT y.tran_id FROM f x, f y WHERE y.racct = x.sacct AND NOT y.d < x.d - 20;
    """)
    assert kinds(network)["join"] == 1


def test_amounts_chain_gets_inferred_conditions() -> None:
    """r1.amount > 1000000, r2.amount > r1.amount * 0.5, r3.amount = r2.amount: r2 and r3 are over 500000."""
    network, labels = built("""
    CREATE QUERY q AS SELECT r1.tran_id AS a, r3.tran_id AS c FROM f r1, f r2, f r3
      WHERE r1.racct = r2.sacct AND r2.racct = r3.sacct
        AND r1.amount > 1000000 AND r2.amount > r1.amount * 0.5 AND r3.amount = r2.amount;""")
    over = Counter(
        detail for node in network if isinstance(node, PrefilterNode) for detail in labels.details(node)
    )
    single = {text: n for text, n in over.items() if " AND " not in text}
    assert single == {"rows with amount > 1000000": 1, "rows with amount > 500000": 2}
    inferred = Story(labels, "q").inferred()
    assert len(inferred) == 2 and all("amount > 500000, used at #" in text for text in inferred)
