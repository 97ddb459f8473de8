"""Folders of files: what is in them, and how a service adds, drops and resumes such sinks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.errors import SeineError
from seine.sinks.sink_progress import progress_of
from tests.support.service_rig import Rig, rig_of_two_streams
from tests.support.sink_rig import folder_lines, wait_for

QUERY = "CREATE QUERY q AS SELECT a, ts FROM s WHERE a > 1; "


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path)


def delivered(rig: Rig, count: int) -> None:
    """Wait until the first sink has delivered so many records, all there are."""

    def all_there() -> bool:
        (sink,) = rig.service.sinks()
        return sink["records"] == count and sink["lag"] == 0

    wait_for(all_there)


def values(folder: Path) -> list[int]:
    return [json.loads(line)["row"]["a"] for line in folder_lines(folder)]


def test_a_sink_delivers_from_its_creation_on_and_goes_on_after_a_kill(rig: Rig) -> None:
    alerts = rig.folder / "alerts"
    rig.register(QUERY)
    rig.feed(2, 3)
    rig.run()
    rig.register("CREATE SINK out FROM Q INTO 'alerts';")
    rig.feed(4, 1)
    rig.run()
    delivered(rig, 1)
    rig.crash()
    rig.feed(5)
    rig.run()
    delivered(rig, 2)

    assert values(alerts) == [4, 5]
    (answer,) = rig.service.status()["sinks"]
    assert (answer["sink"], answer["queries"], answer["state"]) == ("out", ["q"], "running")


def test_a_query_that_a_sink_reads_stays_until_the_sink_is_dropped(rig: Rig) -> None:
    rig.register(QUERY + "CREATE SINK out FROM q INTO 'alerts';")
    with pytest.raises(SeineError, match="sink out reads query q"):
        rig.register("DROP QUERY q;")
    with pytest.raises(SeineError, match="sink out reads query q"):
        rig.service.registrar.drop("q")
    with pytest.raises(SeineError, match="sink out reads query q"):
        rig.register(QUERY, replace=True)
    rig.crash()
    rig.register("DROP SINK out; DROP QUERY q;")

    assert rig.service.sinks() == []
    assert not rig.service.published.view.registered


def test_a_sink_that_is_created_again_begins_anew(rig: Rig) -> None:
    rig.register(QUERY + "CREATE SINK out FROM q INTO 'alerts';")
    rig.feed(2)
    rig.run()
    delivered(rig, 1)
    rig.register("DROP SINK out;")
    rig.feed(3)
    rig.run()
    rig.register("CREATE SINK out FROM q INTO 'others';")
    rig.feed(4)
    rig.run()
    delivered(rig, 1)

    assert values(rig.folder / "alerts") == [2]
    assert values(rig.folder / "others") == [4]


def test_a_sink_that_is_down_lags_and_the_others_go_on(rig: Rig) -> None:
    blocked = rig.folder / "blocked"
    blocked.write_text("a file, and no folder")
    rig.register(QUERY + "CREATE SINK bad FROM q INTO 'blocked'; CREATE SINK good FROM q INTO 'alerts';")
    rig.feed(2, 3)
    rig.run()
    wait_for(lambda: [one["state"] for one in rig.service.sinks()] == ["retrying", "running"])
    wait_for(lambda: values(rig.folder / "alerts") == [2, 3])
    bad, _ = rig.service.sinks()
    assert "File exists" in str(bad["reason"])
    assert bad["lag"] > 0
    blocked.unlink()
    wait_for(lambda: rig.service.sinks()[0]["state"] == "running" and rig.service.sinks()[0]["lag"] == 0)

    assert values(blocked) == [2, 3]


def test_parquet_has_a_folder_a_query_with_typed_columns(rig: Rig) -> None:
    rig.register(
        "CREATE QUERY kinds AS SELECT a, CAST(a AS DOUBLE) / 2 AS half, CAST('2020-01-02' AS DATE) AS day,"
        " CAST(a AS DECIMAL(10, 2)) AS price, CASE WHEN a = 2 THEN 'two' END AS name FROM s;"
        ' CREATE QUERY "a/b" AS SELECT COUNT(*) AS n FROM s;'
        " CREATE SINK out FROM kinds, \"a/b\" INTO 'alerts' FORMAT PARQUET;"
    )
    rig.feed(2, 9_007_199_254_740_993)
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["records"] >= 2)
    (file,) = (rig.folder / "alerts" / "query=kinds").glob("part-*.parquet")
    table = pq.ParquetFile(file).read()

    assert table.schema.field("row").type.field("price").type == pa.decimal128(10, 2)
    assert [row["row"]["a"] for row in table.to_pylist()] == [2, 9_007_199_254_740_993]
    first = table.to_pylist()[0]
    assert (first["op"], first["t_start"], first["t_end"]) == ("+", 1, 11)
    assert str(first["row"]["day"]) == "2020-01-02"
    assert (str(first["row"]["price"]), first["row"]["half"], first["row"]["name"]) == ("2.00", 1.0, "two")
    assert list((rig.folder / "alerts").glob("query=a%2Fb/part-*.parquet"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CREATE SINK s1 FROM nobody INTO 'x';", "no query nobody"),
        ("CREATE SINK s1 FROM q, Q INTO 'x';", "query Q is named twice"),
        ("CREATE SINK s1 FROM q INTO 'amqp://host/alerts';", "there are no sinks of amqp targets"),
        ("CREATE SINK s1 FROM q INTO 'x' FORMAT CSV;", "expected a format of sinks"),
        ("CREATE SINK s1 FROM q INTO 'x' WITH (tabel = 'y');", "has no option tabel"),
        ("CREATE SINK s1 FROM q INTO '';", "the target is no path"),
        ("CREATE SINK s1 FROM q INTO 'x'; CREATE SINK S1 FROM q INTO 'y';", "sink S1 exists already"),
        ("CREATE SINK s1 FROM q INTO 'state/x';", "lies in the folder of the service"),
        ("DROP SINK nobody;", "no sink nobody"),
    ],
)
def test_what_is_not_there_is_refused(rig: Rig, text: str, reason: str) -> None:
    rig.register(QUERY)
    with pytest.raises(SeineError, match=reason):
        rig.register(text)

    assert rig.service.sinks() == []


def test_a_damaged_position_is_the_trouble_of_that_sink_alone(rig: Rig) -> None:
    rig.register(QUERY + "CREATE SINK out FROM q INTO 'alerts'; CREATE SINK other FROM q INTO 'others';")
    rig.feed(2)
    rig.run()
    wait_for(lambda: [one["records"] for one in rig.service.sinks()] == [1, 1])
    identity = rig.service.published.view.sinks["out"].identity
    rig.service.close()
    progress_of(rig.service.deployment.store, identity).change(lambda _: b"no JSON")
    rig.open()
    rig.feed(3)
    rig.run()
    wait_for(lambda: values(rig.folder / "others") == [2, 3])
    wait_for(lambda: rig.service.sinks()[0]["state"] == "retrying")

    assert values(rig.folder / "alerts") == [2]
