"""What a service says of its streams, its dead letters and the rows that queries hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from seine.cli.main import main
from seine.service import dead_letters
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 LATENESS 2 FROM 's.jsonl';"
TIMED = (
    "CREATE STREAM t (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts LATENESS INTERVAL '5' SECOND FROM 't.jsonl';"
)
GROUPS = "CREATE QUERY g AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;"
JOIN = "CREATE QUERY j AS SELECT x.a FROM s x, s y WHERE x.a = y.a AND x.ts < y.ts;"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, depth=2)
    yield rig
    rig.close()


def write(rig: HttpRig, stream: str, *lines: Any) -> None:
    with (rig.folder / f"{stream}.jsonl").open("a") as file:
        file.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


def tuples(*times: int) -> list[dict[str, int]]:
    return [{"a": time % 3, "ts": time} for time in times]


def test_streams_are_answered(rig: HttpRig) -> None:
    (rig.folder / "t.jsonl").touch()
    rig.register(STREAM + TIMED)
    write(rig, "s", *tuples(1, 2, 9), "no json", *tuples(3))
    write(rig, "t", {"a": 1, "ts": "2024-01-01T00:01:00Z"}, {"a": 1, "ts": "2024-01-01T00:00:54Z"})
    rig.run()
    with (rig.folder / "s.jsonl").open("a") as file:
        file.write('{"a": 1')  # a line that has not ended yet
    status, (first, second), _ = rig.ask("GET", "/v1/streams")
    assert status == 200
    assert first["stream"] == "s" and first["state"] == "running" and first["since"] is None
    assert first["position"]["arrivals"] == 3 and first["position"]["file"].endswith("s.jsonl")
    assert first["position"]["offset"] > 0 and first["lag"] == {"bytes": 7, "rows": None}
    assert first["watermark"] == 7  # 9 - LATENESS
    assert first["refused"] == {"late": 1, "dead": 2, "last_reason": "later than LATENESS 2 allows"}
    assert first["holds_back"] is None
    assert second["watermark"] == "2024-01-01T00:00:55Z"
    assert second["refused"]["last_reason"] == "later than LATENESS INTERVAL 5 SECOND allows"


def test_a_failed_stream_says_why(rig: HttpRig) -> None:
    (rig.folder / "c.csv").write_text("a,ts\n1,1\n")
    rig.register("CREATE STREAM c (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'c.csv' FORMAT CSV;" + STREAM)
    write(rig, "s", *tuples(1))
    rig.run()
    (rig.folder / "c.csv").unlink()
    (rig.folder / "c.csv").write_text("other,ts\n1,1\n" * 3)
    rig.run()
    _, (one, other), _ = rig.ask("GET", "/v1/streams")
    assert (one["stream"], one["state"], other["state"]) == ("c", "failed", "running")
    assert one["since"].endswith("Z") and "other" in one["reason"] and one["file"].endswith("c.csv")


def test_dead_letters_page_by_page(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    (rig.folder / "u.jsonl").touch()
    rig.register(STREAM + STREAM.replace("STREAM s", "STREAM u").replace("s.jsonl", "u.jsonl"))
    assert rig.ask("GET", "/v1/dead-letters")[1] == {"letters": [], "next": 0, "more": False}
    write(rig, "s", *[f"bad {i}" for i in range(7)])
    write(rig, "u", *[f"worse {i}" for i in range(5)])
    rig.run()

    def pages(query: str) -> list[list[str]]:
        after, result = 0, []
        while True:
            _, page, _ = rig.ask("GET", f"/v1/dead-letters?after={after}{query}")
            result.append([letter["record"] for letter in page["letters"]])
            after = page["next"]
            if not page["more"]:
                return result

    every = [f"bad {i}" for i in range(7)] + [f"worse {i}" for i in range(5)]
    assert pages("") == [every] and pages("&limit=5") == [every[:5], every[5:10], every[10:]]
    assert [*chain(*pages("&stream=U&limit=2"))] == every[7:]
    assert pages("&stream=nobody") == [[]]
    monkeypatch.setattr(dead_letters, "_MOST_READ", 200)
    assert [*chain(*pages("&stream=u"))] == every[7:] and len(pages("&stream=u")) > 3
    _, page, _ = rig.ask("GET", "/v1/dead-letters?limit=2")
    assert page["letters"][1]["position"] > page["letters"][0]["position"] == 0
    assert page["letters"][0]["stream"] == "s" and page["letters"][0]["line"] == 1
    amid = page["letters"][1]["position"] - 3
    assert rig.ask("GET", f"/v1/dead-letters?after={amid}&limit=1")[1]["letters"] == page["letters"][1:]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("after=99999", "there is no place 99999 among the dead letters"),
        ("after=-1", "after: must be at least 0"),
        ("limit=0", "limit: must be at least 1"),
        ("limit=1001", "limit: must be at most 1000"),
        ("after=x", "after: must be a number"),
        ("strem=s", "unknown parameter 'strem'"),
    ],
)
def test_a_wrong_page_is_refused(rig: HttpRig, query: str, message: str) -> None:
    status, answer, _ = rig.ask("GET", f"/v1/dead-letters?{query}")
    assert status == 400 and answer["error"]["message"] == message


def test_groups_are_counted_apart_from_rows_of_joins(rig: HttpRig) -> None:
    rig.register(STREAM + GROUPS + JOIN)
    write(rig, "s", *tuples(1, 2, 3, 4, 5, 14))
    rig.run()
    status = rig.ask("GET", "/v1/status")[1]
    groups, join = rig.ask("GET", "/v1/queries")[1]
    assert groups["query"] == "g" and groups["group_rows"] == status["group_rows"] == 3
    assert groups["state_rows"] == {} and join["group_rows"] == 0
    assert sum(join["state_rows"].values()) == status["state_rows"] > 0


def test_the_commands_print_them_as_tables(rig: HttpRig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.register(STREAM + GROUPS + JOIN)
    write(rig, "s", *tuples(1, 2, 3, 4, 5, 14), "no json", *tuples(1))
    rig.run()
    assert main(["status", "--service", rig.server.url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("state ") and line.endswith(", 3 groups, 0 punctuations") for line in lines)
    start = next(i for i, line in enumerate(lines) if line.startswith("stream "))
    head, stream = (" ".join(line.split()) for line in lines[start:])
    assert head == "stream state watermark tuples lag late dead last reason"
    assert stream == "s running 12 6 0 bytes 1 2 later than LATENESS 2 allows"
    assert main(["list", "--service", rig.server.url]) == 0
    names, groups, join = (line.split() for line in capsys.readouterr().out.splitlines())
    assert names[5] == "held" and groups[5] == "3" and join[5] != "0"
    assert main(["status", "--json", "--service", rig.server.url]) == 0
    assert json.loads(capsys.readouterr().out)["by_stream"][0]["stream"] == "s"


def test_who_keeps_a_query_waiting_is_listed(rig: HttpRig, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("u.jsonl", "c.csv"):
        (rig.folder / name).write_text("a,ts\n" if name == "c.csv" else "")
    other = STREAM.replace("STREAM s", "STREAM u").replace("s.jsonl", "u.jsonl")
    csv = "CREATE STREAM c (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'c.csv' FORMAT CSV;"
    both = "CREATE QUERY both AS SELECT a FROM s EXCEPT SELECT a FROM u;"
    rig.register(STREAM + other + csv + GROUPS + both + "CREATE QUERY lone AS SELECT a FROM c;")
    write(rig, "s", *tuples(1, 5, 9))
    write(rig, "u", *tuples(1))
    rig.run()
    (rig.folder / "c.csv").unlink()
    (rig.folder / "c.csv").write_text("other,ts\n1,1\n" * 3)
    rig.run()
    groups, both_answer, lone = rig.ask("GET", "/v1/queries")[1]
    assert groups["waits_for"] == {}
    assert [*both_answer["waits_for"]] == ["u"] and "holds back s since 20" in both_answer["waits_for"]["u"]
    assert [*lone["waits_for"]] == ["c"] and "failed since 20" in lone["waits_for"]["c"]
    assert rig.ask("GET", "/v1/queries/both")[1]["waits_for"] == both_answer["waits_for"]
    assert main(["list", "--service", rig.server.url]) == 0
    lines = capsys.readouterr().out.splitlines()[-2:]
    assert lines[0].startswith("stream u holds back s since 20") and lines[0].endswith("; waiting: both")
    assert lines[1].startswith("stream c failed since 20") and lines[1].endswith("; waiting: lone")


def test_a_stream_is_answered_from_its_registration_on(rig: HttpRig) -> None:
    """Even if nothing moves, as while Spark starts again; and so is one that takes its place."""
    write(rig, "s", *tuples(1, 2))
    rig.register(STREAM)
    assert [one["stream"] for one in rig.ask("GET", "/v1/streams")[1]] == ["s"]
    rig.run()
    assert rig.ask("GET", "/v1/streams")[1][0]["position"]["arrivals"] == 2
    rig.register("DROP STREAM s;" + STREAM)
    (again,) = rig.ask("GET", "/v1/streams")[1]
    assert (again["position"]["arrivals"], again["watermark"]) == (0, None)
    rig.register("DROP STREAM s;")
    assert rig.ask("GET", "/v1/streams")[1] == []
    rig.run()
    assert rig.ask("GET", "/v1/streams")[1] == []
