"""WITH (engine = 'joins'): a keyword search shares a join with a SELECT; what joins cannot do is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.cli.main import main
from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.network.network import Network, build_network
from seine.network.plan.strategy import CONFIGURATIONS
from seine.operators.join.join import JoinNode
from seine.run_local import run_local

FILMS = """\
CREATE STREAM director (did BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 'director.jsonl';
CREATE STREAM movie (mid INT, did INT, title STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 90 FROM 'movie.jsonl';
CREATE STREAM plays (mid BIGINT, aid BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 'plays.jsonl';
CREATE STREAM actor (aid BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 'actor.jsonl';
CREATE JOIN movie.did = director.did;
CREATE JOIN movie.mid = plays.mid;
CREATE JOIN plays.aid = actor.aid;
"""
LINES = {
    "director": [{"did": 1, "name": "Quentin Tarantino", "ts": 1}, {"did": 2, "name": "John Woo", "ts": 2}],
    "movie": [
        {"mid": 5, "did": 1, "title": "Pulp Fiction", "ts": 3},
        {"mid": 6, "did": 2, "title": "Face/Off", "ts": 4},
        {"mid": 7, "did": None, "title": "Tarantino: a life", "ts": 4},
    ],
    "plays": [{"mid": 5, "aid": 8, "ts": 5}, {"mid": 6, "aid": 8, "ts": 5}, {"mid": 7, "aid": 8, "ts": 6}],
    "actor": [
        {"aid": 8, "name": "John Travolta", "ts": 7},
        {"aid": 9, "name": "Tarantino, Travolta", "ts": 99},
    ],
}
OVER = "OVER (director, movie, plays, actor)"


def _script(folder: Path, *queries: str) -> str:
    for name, lines in LINES.items():
        folder.joinpath(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = folder / "films.sql"
    path.write_text(FILMS + "\n".join(queries))
    return str(path)


def _search(name: str, words: str, engine: str, most: int = 4) -> str:
    return f"CREATE QUERY {name} WITH (engine = '{engine}') AS SEARCH '{words}' {OVER} MAX {most} TUPLES;"


def _network(path: str, sharing: str = "all") -> Network:
    return build_network(read_script(path).declarations.queries.values(), CONFIGURATIONS[sharing])


@pytest.mark.parametrize("batch_rows", [1, None])
def test_the_records_of_the_default_engine(tmp_path: Path, batch_rows: int | None) -> None:
    texts = ("tarantino travolta", "john travolta", "pulp|face travolta", "title:taran* john", "fiction woo")
    queries = [
        _search(f"{engine}{number}", words, engine)
        for number, words in enumerate(texts)
        for engine in ("auto", "joins")
    ]
    result = run_local(_script(tmp_path, *queries), batch_rows=batch_rows)
    reported: dict[str, list[str]] = {}
    for record in result.records:
        reported.setdefault(record.pop("query"), []).append(json.dumps(record))
    for number in range(len(texts) - 1):
        assert sorted(reported[f"auto{number}"]) == sorted(reported[f"joins{number}"])
    assert len(reported["joins0"]) == 3 and "joins4" not in reported


def test_a_search_and_a_select_share_a_join(tmp_path: Path) -> None:
    select = "CREATE QUERY s AS SELECT m.title, d.name FROM movie m JOIN director d ON m.did = d.did;"
    path = _script(tmp_path, select, _search("q", "tarantino fiction", "joins", 2))
    network = _network(path)
    joins = [node for node in network if isinstance(node, JoinNode)]
    assert [network.users(node.id) for node in joins] == [["s", "q"]]
    apart = [node for node in _network(path, "off") if isinstance(node, JoinNode)]
    assert len(apart) == 2


def test_explain_says_who_shares_the_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    select = "CREATE QUERY s AS SELECT m.title, d.name FROM movie m JOIN director d ON m.did = d.did;"
    assert (
        main(["explain", _script(tmp_path, select, _search("q", "tarantino fiction", "joins", 2)), "q"]) == 0
    )
    page = capsys.readouterr().out
    join = page[page.index(" join ") :]
    assert "shared with s" in join.partition("\n#")[0]
    assert "contains_term(" in page


def test_networks_share_joins(tmp_path: Path) -> None:
    """Seventeen networks with 32 joins one by one: what begins alike is joined once."""
    network = _network(_script(tmp_path, _search("q", "tarantino travolta", "joins")))
    assert sum(size - 1 for size in (1, 1, 1, 2, 2, *[3] * 6, *[4] * 6)) == 32
    assert sum(isinstance(node, JoinNode) for node in network) < 16


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (_search("q", "a b", "joins", 5), "cannot tell two tuples of one node apart: director"),
        (_search("q", "a b c d e f g", "joins", 2), "takes 6 terms at most, not 7"),
        (_search("q", "a b c d", "joins"), "takes 500 candidate networks at most"),
        (
            "CREATE JOIN movie.mid = movie.did;\n" + _search("q", "a b", "joins", 2),
            "joins no stream with itself",
        ),
    ],
)
def test_refusals(tmp_path: Path, query: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a script is read: the same line, place and hint."""
    path = _script(tmp_path, query)
    with pytest.raises(SeineError, match=reason):
        _network(path)
    said = []
    for command in ("check", "run", "explain"):
        assert main([command, path]) == 1
        said.append(capsys.readouterr().err)
    line = 1 + f"{FILMS}{query}".split("CREATE QUERY")[0].count("\n")
    assert f"films.sql:{line}:" in said[0] and reason in said[0] and "hint" in said[0]
    assert said[1] == said[2] == said[0]


def test_a_service_does_not_search_by_joins(tmp_path: Path) -> None:
    declared = read_script(_script(tmp_path, _search("q", "a b", "joins"))).declarations
    network = Network(live=True)
    with pytest.raises(SeineError, match="a service does not search by the engine 'joins'"):
        network.add(declared.queries["q"])
    assert not network.nodes
