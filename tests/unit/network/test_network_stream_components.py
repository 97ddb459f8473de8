"""Which streams queries combine: what a network has beneath its nodes."""

from __future__ import annotations

from seine.network.network import build_network, stream_components
from tests.support.front_end import parse

STREAMS = "".join(
    f"CREATE STREAM {name} (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM '{name}.jsonl';\n"
    for name in ("s1", "s2", "s3", "s4", "s5", "s6", "s7")
)
QUERIES = """
CREATE QUERY alone AS SELECT a FROM s1 WHERE a > 1;
CREATE QUERY itself AS SELECT x.a FROM s2 x, s2 y WHERE x.a = y.a;
CREATE QUERY joined AS SELECT x.a FROM s3 x, s4 y WHERE x.a = y.a;
CREATE QUERY further AS SELECT x.a FROM s4 x, s5 y WHERE x.a = y.a;
CREATE QUERY united AS SELECT a FROM s6 UNION ALL SELECT a FROM s7;
"""


def test_streams_that_queries_combine() -> None:
    network = build_network(parse(STREAMS + QUERIES).declarations.queries.values())
    assert network.nodes
    components = stream_components(network.nodes.values())
    assert components == (frozenset({"s3", "s4", "s5"}), frozenset({"s6", "s7"}))
    network.remove("further")
    assert stream_components(network.nodes.values())[0] == {"s3", "s4"}
