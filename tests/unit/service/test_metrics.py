"""Metrics say what the answers of the service say, with labels of streams and sinks alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seine.service import metrics
from tests.docs.pages import DOCS, read
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';"
TIMED = "CREATE STREAM t (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM 't.jsonl';"
QUERIES = """
CREATE QUERY g AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;
CREATE QUERY j AS SELECT x.a FROM s x, s y WHERE x.a = y.a;
CREATE SINK f FROM j INTO 'out';
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, depth=2)
    (tmp_path / "t.jsonl").write_text('{"a": 1, "ts": "2024-01-01T00:00:00Z"}\n')
    rig.register(STREAM + TIMED + QUERIES)
    yield rig
    rig.close()


def _samples(text: str) -> dict[str, float]:
    """Values by name and label."""
    return {
        f"{sample.name}{''.join(sample.labels.values())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_figures_are_those_of_the_answers(rig: HttpRig) -> None:
    (rig.folder / "s.jsonl").write_text('{"a": 1, "ts": 5}\nno json\n{"a": 1, "ts": 6}\n{"a": 2, "ts": 1}\n')
    rig.run()
    status, text, headers = rig.ask("GET", "/metrics")
    assert status == 200 and headers["Content-Type"] == metrics.CONTENT_TYPE
    samples, answer = _samples(text), rig.ask("GET", "/v1/status")[1]
    for name in ("batches", "input_rows", "output_rows", "dead_letters"):
        assert samples[f"seine_{name}_total"] == answer[name] > 0
    assert samples["seine_state_rowsjoins"] == answer["state_rows"] > 0
    assert samples["seine_state_rowsgroups"] == answer["group_rows"] > 0
    assert samples["seine_queriesrunning"] == 2 and samples["seine_queriesfailed"] == 0
    assert (samples["seine_stream_tuples_totals"], samples["seine_stream_dead_lines_totals"]) == (2, 2)
    assert (samples["seine_stream_late_lines_totals"], samples["seine_stream_ups"]) == (1, 1)
    assert (samples["seine_stream_watermarks"], samples["seine_stream_watermarkt"]) == (6, 1704067200)
    assert samples["seine_waiting_entries"] == samples["seine_ready"] == 0
    assert samples["seine_sink_upf"] in (0, 1)


def test_an_entry_that_waits_for_rows_of_spark_is_not_counted(rig: HttpRig) -> None:
    service = rig.service
    service._door.lend(lambda stream: None)
    rig.register("CREATE STREAM k (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING json OPTIONS (path 'lines');")
    rig.run()  # up to the last entry of the pipeline without that stream
    service.driver.prepare()
    assert service.waiting_entries == 1
    service.driver.commit(rig.host.run(service.driver.committed + 1), 0)
    status = rig.ask("GET", "/v1/status")[1]
    assert status["written"] == status["entry"] + 1  # should Spark read something, it has an entry
    assert status["waiting"] == 0
    assert _samples(rig.ask("GET", "/metrics")[1])["seine_waiting_entries"] == 0
    assert rig.ask("GET", "/v1/batches")[1]["waiting"] == 0
    service.deployment.journal.offer(status["written"])  # there is news for it
    assert _samples(rig.ask("GET", "/metrics")[1])["seine_waiting_entries"] == 1


def test_micro_batches_and_their_stages_are_timed(rig: HttpRig) -> None:
    for value in (1, 2, 3):
        rig.feed(value)
    samples = _samples(rig.ask("GET", "/metrics")[1])
    batches = rig.service.recent.batches
    counts = samples["seine_batch_seconds_count"], samples["seine_batch_seconds_bucket+Inf"]
    assert counts == (len(batches), len(batches)) and len(batches) >= 3
    assert samples["seine_batch_seconds_sum"] == pytest.approx(sum(batch.seconds for batch in batches))
    for bound in metrics.BATCH_SECONDS:
        within = sum(batch.seconds <= bound for batch in batches)
        assert samples[f"seine_batch_seconds_bucket{bound}"] == within
    for stage in (0, 1):
        expected = sum(batch.work.stages.get(stage, 0.0) for batch in batches)
        assert samples[f"seine_stage_seconds_total{stage}"] == pytest.approx(expected) != 0


def test_requests_are_counted_by_route_and_status(rig: HttpRig) -> None:
    before = _samples(rig.ask("GET", "/metrics")[1])
    for path in ("/v1/queries/g", "/v1/queries/j", "/v1/queries/none", "/no/such", "/v1/queries?x=1"):
        rig.ask("GET", path)
    rig.ask("DELETE", "/healthz")
    rig.ask("GET", "/v1/status", Host="elsewhere.example")
    samples = _samples(rig.ask("GET", "/metrics")[1])

    def more(labels: str) -> float:
        name = f"seine_http_requests_total{labels}"
        return samples.get(name, 0) - before.get(name, 0)

    assert (more("GET/v1/queries/{name}2xx"), more("GET/v1/queries/{name}4xx")) == (2, 1)
    assert (more("GET/v1/queries4xx"), more("GET/metrics2xx")) == (1, 1)
    assert sum(more(labels) for labels in ("otherother4xx", "DELETE/healthz4xx")) == 3
    assert samples["seine_http_request_seconds_total/v1/queries/{name}"] > 0


def test_unknown_paths_and_methods_are_no_more_series(rig: HttpRig) -> None:
    def series() -> int:
        return sum(name.startswith("seine_http") for name in _samples(rig.ask("GET", "/metrics")[1]))

    for path in ("/x", "/v1/queries/x", "/metrics"):
        rig.ask("GET", path)
    before = series()
    for number in range(20):
        rig.ask("GET", f"/x{number}")
        rig.ask("GET", f"/v1/queries/x{number}")
    assert series() == before > 4


def test_each_metric_is_documented(rig: HttpRig) -> None:
    names = {name for name in metrics_of(rig) if not name.endswith("_created")}
    page = read(DOCS / "service.md")
    assert len(names) > 15
    assert [name for name in names if f"`{name}" not in page] == []


def metrics_of(rig: HttpRig) -> set[str]:
    families = text_string_to_metric_families(rig.ask("GET", "/metrics")[1])
    return {sample.name for family in families for sample in family.samples}


def test_more_queries_are_no_more_series(rig: HttpRig) -> None:
    before = metrics_of(rig)
    rig.register("".join(f"CREATE QUERY q{n} AS SELECT a FROM s WHERE a > {n};" for n in range(50)))
    assert metrics_of(rig) == before


def test_very_many_streams_are_bounded(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_MOST_LABELLED", 1)
    samples = _samples(rig.ask("GET", "/metrics")[1])
    assert "seine_stream_ups" in samples and "seine_stream_upt" not in samples


def test_names_are_escaped(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, depth=1)
    try:
        rig.register(STREAM.replace("STREAM s ", 'STREAM "a\\b{}=" '))
        assert 'seine_stream_up{stream="a\\\\b{}="} 1.0' in rig.ask("GET", "/metrics")[1]
    finally:
        rig.close()
