"""Micro-batches reach a collector as spans, and a collector that is away keeps nobody waiting."""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.runtime.output.task_report import BatchWork
from seine.service import batch_traces
from seine.service.batch_traces import BatchTraces, export_form
from seine.service.folder import ServiceFolder
from seine.service.recent_batches import RecentBatch
from seine.service.service import Service, ServiceOptions

Requests = queue.Queue[tuple[str, dict[str, str], Any]]


@pytest.fixture
def collector() -> Iterator[tuple[str, Requests]]:
    """A collector that keeps what it is sent."""
    received: Requests = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            received.put((self.path, dict(self.headers), json.loads(body) if body else None))
            self.send_response(200)
            self.end_headers()

        do_GET = do_POST  # who follows a redirect asks so

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing is printed."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    server.server_close()


def _batch(entry: int = 7) -> RecentBatch:
    return RecentBatch(entry, 1_000.0, 2.0, 30, 4, 1, BatchWork({0: 0.5, 2: 0.25}))


def _spans(form: dict[str, Any]) -> list[dict[str, Any]]:
    (resource,) = form["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    spans: list[dict[str, Any]] = scope["spans"]
    return spans


def test_a_micro_batch_is_a_span_over_those_of_its_stages() -> None:
    root, read, stage = _spans(export_form([_batch()], "mine"))
    assert (root["name"], read["name"], stage["name"]) == ("micro-batch", "read", "stage 2")
    assert "parentSpanId" not in root and read["parentSpanId"] == stage["parentSpanId"] == root["spanId"]
    assert {one["traceId"] for one in (root, read, stage)} == {root["traceId"]}
    assert (len(root["traceId"]), len(root["spanId"])) == (32, 16)
    assert len({one["spanId"] for one in (root, read, stage)}) == 3
    times = [(int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])) for one in (root, read, stage)]
    assert times == [(998 * 10**9, 10**12), (998 * 10**9, 9985 * 10**8), (9985 * 10**8, 99875 * 10**7)]
    facts = {one["key"]: one["value"] for one in root["attributes"]}
    assert facts["seine.entry"] == {"intValue": "7"} and facts["seine.input_rows"] == {"intValue": "30"}


def test_a_service_sends_each_micro_batch(
    tmp_path: Path, collector: tuple[str, Requests], monkeypatch: pytest.MonkeyPatch
) -> None:
    from seine.run_local import LocalHost
    from tests.support.everywhere import EVERYWHERE

    address, received = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{address}/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    options = ServiceOptions(depth=1, reach=EVERYWHERE, traces=BatchTraces.of_environment())
    service = Service(ServiceFolder(str(tmp_path / "state")), options)
    try:
        (tmp_path / "s.jsonl").write_text('{"a": 1, "ts": 1}\n{"a": 2, "ts": 2}\n')
        script = (
            "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
            "CREATE QUERY q AS SELECT a FROM s;"
        )
        service.registrar.register(script, file="x", folder=str(tmp_path))
        host = LocalHost(service.deployment)
        while service.driver.run_some(host.run):
            pass
        spans = []
        while len([one for one in spans if one["name"] == "micro-batch"]) < len(service.recent.batches):
            path, headers, form = received.get(timeout=20)
            spans += _spans(form)
            assert path == "/v1/traces" and headers["Api-Key"] == "a b"
            assert {"key": "service.name", "value": {"stringValue": "mine"}} in form["resourceSpans"][0][
                "resource"
            ]["attributes"]
        assert spans
    finally:
        service.close()


def test_without_an_address_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    threads = threading.active_count()
    assert BatchTraces.of_environment() is None and threading.active_count() == threads
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert BatchTraces.of_environment() is None
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "file:///etc/passwd")
    with pytest.raises(SeineError, match="no address of a collector"):
        BatchTraces.of_environment()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:word@127.0.0.1:4318")
    with pytest.raises(SeineError, match="no user and no password") as refusal:
        BatchTraces.of_environment()
    assert "word" not in refusal.value.render().replace("password", "")


@pytest.mark.parametrize("answer", [b"what?\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: %b\r\n\r\n"])
def test_a_strange_answer_ends_nothing_and_leads_nowhere(
    collector: tuple[str, Requests], caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    address, received = collector
    with socket.create_server(("127.0.0.1", 0)) as strange:
        traces = BatchTraces(f"http://127.0.0.1:{strange.getsockname()[1]}/", {"api-key": "a"}, "mine")
        for entry in (1, 2):  # the second comes if the first has ended nothing
            traces.note(_batch(entry))
            strange.settimeout(20)
            connection, _ = strange.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer.replace(b"%b", address.encode()))
    assert received.empty()
    assert [one.message for one in caplog.records] == ["traces cannot be sent"]


def test_a_collector_that_hangs_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hanging, sent = threading.Event(), []

    def hang(request: object, timeout: float) -> None:
        sent.append(request)
        hanging.wait()
        raise OSError("nobody there")

    monkeypatch.setattr(batch_traces._OPENER, "open", hang)
    traces = BatchTraces("http://127.0.0.1:1/v1/traces", {}, "mine")
    for entry in range(5_000):
        traces.note(_batch(entry))
    assert traces._waiting.qsize() == 1000
    hanging.set()
    while traces._waiting.qsize() or len(sent) < 10:
        threading.Event().wait(0.01)
    warnings = [record for record in caplog.records if record.message == "traces cannot be sent"]
    assert len(warnings) == 1
