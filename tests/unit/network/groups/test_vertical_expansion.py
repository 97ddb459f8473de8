"""Which aggregates are made of finer ones, and which are rerouted when finer ones come."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

from seine.frontends.script.parser import parse_script
from seine.graph.node_kinds import node_to_json
from seine.network.groups.partial_aggregates import finer_of
from seine.network.network import Network
from seine.network.plan.strategy import Strategy
from seine.network.show.explain import story_text
from seine.network.show.labels import Labels
from seine.operators.group.aggregate import AggregateNode
from seine.operators.kinds import KINDS
from seine.optimizer.estimates import Estimates, Sample
from tests.support.network_text import network_text

STREAMS = """\
CREATE STREAM pay (branch STRING, kind BIGINT, day BIGINT, amount DOUBLE, ts BIGINT)
  TIMESTAMP BY ts WINDOW 20 FROM 'pay.jsonl';
CREATE STREAM fast (branch STRING, kind BIGINT, at TIMESTAMP)
  TIMESTAMP BY at WINDOW INTERVAL '1' HOUR FROM 'fast.jsonl';
"""
CUBE = {
    "both": "SELECT branch, day, SUM(amount) AS s FROM pay GROUP BY branch, day",
    "branches": "SELECT branch, AVG(amount) AS a FROM pay GROUP BY branch",
    "days": "SELECT day, MIN(amount) AS lo, COUNT(DISTINCT branch) AS n FROM pay GROUP BY day",
    "everything": "SELECT COUNT(*) AS n, STDDEV(amount) AS spread FROM pay",
}


class Built:
    """A network of some queries, and what its aggregates are made of."""

    def __init__(self, queries: dict[str, str], network: Network | None = None, born: int = 0) -> None:
        text = STREAMS + "".join(f"CREATE QUERY {name} AS {sql};\n" for name, sql in queries.items())
        self.declared = parse_script(text, file="script.sql", folder="/data").declarations
        self.network = network or Network()
        for query in self.declared.queries.values():
            self.network.add(query, born)
        self.network.commit()

    def made_of(self) -> dict[str, str]:
        """What each aggregate computes, and what feeds it."""
        labels = Labels(self.network, self.declared.streams)
        descriptions = {
            node.id: labels.describe(node) for node in self.network if isinstance(node, AggregateNode)
        }
        return {
            text: descriptions[finer_of(self.network._site, node).id] if node.regroups else "rows"
            for i, text in descriptions.items()
            if isinstance(node := self.network.nodes[i], AggregateNode)
        }


@pytest.mark.parametrize("order", [*permutations(CUBE)], ids=str)
def test_all_groups_are_made_of_the_finest_whatever_the_order(order: tuple[str, ...]) -> None:
    assert Built({name: CUBE[name] for name in order}).made_of() == {
        "SUM(amount) by branch, day": "rows",
        "AVG(amount) by branch": "SUM(amount) by branch, day",
        "MIN(amount), COUNT(DISTINCT branch) by day": "SUM(amount) by branch, day",
        "COUNT(*), STDDEV(amount)": "SUM(amount) by branch, day",
    }


def test_one_fan_serves_all_of_them() -> None:
    network = Built(CUBE).network
    kinds = [node.kind for node in network]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "source": 1,
        "fan": 1,
        "aggregate": 4,
        "regroup": 3,
        "deliver": 4,
    }
    assert network.depth == 2


def test_where_a_stage_is_there_the_smallest_groups_are_taken() -> None:
    deep = "SELECT SUM(n) AS m FROM (SELECT n, COUNT(*) AS c FROM (SELECT kind, COUNT(*) AS n FROM fast"
    deep += " GROUP BY kind) x GROUP BY n) y"
    made = Built({"deep": deep, **CUBE}).made_of()
    assert made["COUNT(*), STDDEV(amount)"] == "AVG(amount) by branch"
    assert made["AVG(amount) by branch"] == "SUM(amount) by branch, day"


def test_functions_of_keys_are_coarser_keys() -> None:
    made = Built(
        {
            "days": "SELECT day, kind, COUNT(*) AS n FROM pay GROUP BY day, kind",
            "weeks": "SELECT day % 7 AS d, SUM(kind) AS n FROM pay GROUP BY day % 7",
        }
    ).made_of()
    assert made["SUM(kind) by day % 7"] == "COUNT(*) by kind, day"


def test_a_double_may_stand_for_two_zeros_so_only_itself_is_a_key() -> None:
    fine = "SELECT amount, kind, COUNT(*) AS n FROM pay GROUP BY amount, kind"
    text = "CAST(amount AS STRING)"
    made = Built(
        {
            "fine": fine,
            "same": "SELECT amount, COUNT(*) AS m FROM pay GROUP BY amount",
            "text": f"SELECT {text} AS t, COUNT(*) AS n FROM pay GROUP BY {text}",
        }
    ).made_of()
    assert made["COUNT(*) by amount"] == "COUNT(*) by kind, amount"
    assert made[f"COUNT(*) by {text}"] == "rows"


NOT_REGROUPED = {
    "another condition": "SELECT branch, COUNT(*) AS n FROM pay WHERE kind = 1 GROUP BY branch",
    "another key": "SELECT kind, COUNT(*) AS n FROM pay GROUP BY kind",
    "distinct values": "SELECT branch, COUNT(DISTINCT kind) AS n FROM pay GROUP BY branch",
}


@pytest.mark.parametrize("sql", NOT_REGROUPED.values(), ids=NOT_REGROUPED)
def test_what_finer_groups_cannot_tell_is_made_of_rows(sql: str) -> None:
    made = Built({"both": CUBE["both"], "other": sql}).made_of()
    assert set(made.values()) == {"rows"} and len(made) == 2


def test_the_same_keys_in_another_order_are_the_same_groups() -> None:
    sql = "SELECT day, branch, COUNT(*) AS n FROM pay GROUP BY day, branch, day"
    assert Built({"both": CUBE["both"], "other": sql}).made_of() == {
        "SUM(amount), COUNT(*) by branch, day": "rows"
    }


def test_constants_have_finer_groups_of_their_own() -> None:
    """Of two tags one has finer groups; the other is made of rows."""
    queries = {
        "fine": "SELECT branch, day, COUNT(*) AS n FROM pay WHERE kind = 1 GROUP BY branch, day",
        "one": "SELECT branch, MAX(day) AS n FROM pay WHERE kind = 1 GROUP BY branch",
        "two": "SELECT branch, MAX(day) AS n FROM pay WHERE kind = 2 GROUP BY branch",
    }
    network = Built(queries).network
    coarse = [node for node in network if isinstance(node, AggregateNode) and node.types[1:2] != ()]
    assert sorted((node.regroups, *network.users(node.id)) for node in coarse) == [
        (False, "fine", "one"),
        (False, "two"),
        (True, "one"),
    ]


def test_queries_of_another_birth_are_made_of_finer_groups_of_their_own() -> None:
    network = Network(live=True)
    network.stages = 4
    Built({"both": CUBE["both"]}, network, born=1)
    young = Built({"branches": CUBE["branches"]}, network, born=2)
    made = {"SUM(amount) by branch, day": "rows", "AVG(amount) by branch": "SUM(amount) by branch, day"}
    assert young.made_of() == made
    assert len(network._site.tags) == 2, "of each birth"
    both = {"f": CUBE["both"], "c": CUBE["branches"]}
    assert Built(both, network, born=3).made_of() == made
    assert len(network._site.tags) == 3


def test_a_pipeline_that_runs_opens_no_stage_for_it() -> None:
    network = Network(live=True)
    assert set(Built(CUBE, network, born=1).made_of().values()) == {"rows"}
    assert network.depth == 1


def test_groups_that_run_tell_what_they_need_not_keep() -> None:
    """Sums add up from now on; an extreme they would have had to keep, or keep already."""
    network = Network(live=True)
    network.stages = 4
    Built({"old": "SELECT branch, day, MAX(amount) AS m FROM pay GROUP BY branch, day"}, network, born=1)
    made = Built(
        {
            "fine": "SELECT branch, day, MAX(amount) AS m FROM pay GROUP BY branch, day",
            "sum": "SELECT branch, SUM(amount) AS s FROM pay GROUP BY branch",
            "max": "SELECT day, MAX(amount) AS m FROM pay GROUP BY day",
            "min": "SELECT MIN(amount) AS m FROM pay",
        },
        network,
        born=2,
    ).made_of()
    finest = "MAX(amount) by branch, day"
    assert made["SUM(amount) by branch"] == made["MAX(amount) by day"] == finest
    assert made["MIN(amount)"] == made[finest] == "rows"


def test_timestamps_are_of_one_row_unless_a_sample_says_otherwise() -> None:
    queries = {
        "fine": "SELECT branch, kind, COUNT(*) AS n FROM fast GROUP BY branch, kind",
        "coarse": "SELECT branch, COUNT(*) AS n FROM fast GROUP BY branch",
    }
    assert set(Built(queries).made_of().values()) == {"rows"}
    minutes = pa.array([60_000_000 * i for i in range(8)], pa.timestamp("us", tz="UTC"))
    rows = pa.record_batch({"c0": ["a", "b"] * 4, "c1": [1] * 8, "c2": minutes})
    for a_minute, regrouped in ((100.0, 1), (1.0, 0)):
        network = Network()
        network.estimates = Estimates({"fast": Sample(rows, 1e6, a_minute / 60_000_000)})
        Built(queries, network)
        assert sum(node.kind == "regroup" for node in network) == regrouped


def test_the_switch() -> None:
    assert set(Built(CUBE, Network(Strategy(regroup=0))).made_of().values()) == {"rows"}
    assert set(Built(CUBE, Network(Strategy(share=False))).made_of().values()) == {"rows"}


@pytest.mark.parametrize("last", CUBE)
def test_dropping_leaves_what_others_are_made_of_and_then_nothing(last: str) -> None:
    network = Built(CUBE).network
    for name in CUBE:
        if name != last:
            network.remove(name)
    assert any(isinstance(node, AggregateNode) for node in network)
    assert all(i in network.nodes for node in network for i in node.inputs)
    network.remove(last)
    assert not network.nodes and not network.tables


def test_networks_with_regrouping_are_read_back() -> None:
    network = Built(CUBE).network
    for node in network:
        assert KINDS.read(node_to_json(node)) == node
    again = Network.of(network.record())
    assert network_text(again) == network_text(network)
    Built({"more": CUBE["branches"]}, again)
    assert sum(node.kind == "regroup" for node in again) == 3


def test_the_story_names_whose_groups_they_are() -> None:
    built = Built(CUBE)
    story = story_text(built.network, built.declared.streams, "days")
    assert "grouped from the finer groups of both\n" in story
    assert "aggregate" in story and "MIN(amount), COUNT(DISTINCT branch) by day" in story
    built.network.remove("both")
    story = story_text(built.network, built.declared.streams, "days")
    assert "grouped from finer groups that nobody reads for themselves\n" in story
