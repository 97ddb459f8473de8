"""Micro-batches as traces of OpenTelemetry, sent to a collector by OTLP over HTTP, in its JSON form.

A trace is a micro-batch: a span from when it could begin to its delivery, and below it a span for each stage,
as long as its longest task, one after the other: when within the micro-batch a stage began is not known here.

Law: whoever notes a micro-batch never waits. One thread sends; what a collector is too slow for is dropped.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from collections.abc import Iterator
from http.client import HTTPException
from queue import Empty, Full, Queue
from typing import Any
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from seine import __version__
from seine.errors import SeineError
from seine.service.recent_batches import RecentBatch

_logger = logging.getLogger(__name__)

_MOST_WAITING = 1000  # micro-batches
_MOST_SENT = 100  # in one request
_TIMEOUT_SECONDS = 5.0
_INTERNAL = 1  # the kind of a span that no request made


class _NoRedirects(HTTPRedirectHandler):
    """An answer that leads elsewhere is an error: the headers may have a secret, for the named host alone."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


class BatchTraces:
    """Sends the micro-batches that it is told of to a collector."""

    def __init__(self, address: str, headers: dict[str, str], service_name: str) -> None:
        _check_address(address)
        self._address, self._headers, self._name = address, headers, service_name
        self._waiting: Queue[RecentBatch] = Queue(_MOST_WAITING)
        self._failing = False
        threading.Thread(target=self._send_all, name="seine-traces", daemon=True).start()

    @staticmethod
    def of_environment() -> BatchTraces | None:
        """Traces as OpenTelemetry's own variables say; None, and nothing is done, without an address."""
        endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
        address = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or (
            f"{endpoint.rstrip('/')}/v1/traces" if endpoint else ""
        )
        if not address or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
            return None
        headers = dict(_headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")))
        return BatchTraces(address, headers, os.environ.get("OTEL_SERVICE_NAME") or "seine")

    def note(self, batch: RecentBatch) -> None:
        """A micro-batch has been delivered."""
        try:
            self._waiting.put_nowait(batch)
        except Full:
            _logger.debug("a trace is dropped", extra={"entry": batch.entry})

    def _send_all(self) -> None:
        while True:
            batches = [self._waiting.get()]
            try:
                while len(batches) < _MOST_SENT:
                    batches.append(self._waiting.get_nowait())
            except Empty:
                pass
            self._send(batches)

    def _send(self, batches: list[RecentBatch]) -> None:
        body = json.dumps(export_form(batches, self._name)).encode()
        headers = {**self._headers, "Content-Type": "application/json"}
        try:
            with _OPENER.open(Request(self._address, body, headers), timeout=_TIMEOUT_SECONDS):
                self._failing = False
        except (URLError, HTTPException, OSError, ValueError) as error:
            if not self._failing:  # said once, until it works again
                reason = getattr(error, "reason", error)
                _logger.warning("traces cannot be sent", extra={"reason": str(reason)})
            self._failing = True


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if "@" in parts.netloc:
        raise SeineError(
            "the address of a collector has no user and no password",
            hint="OTEL_EXPORTER_OTLP_HEADERS=authorization=...",
        )
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SeineError(f"'{address}' is no address of a collector", hint="http://HOST:4318")


def export_form(batches: list[RecentBatch], service_name: str) -> dict[str, Any]:
    """A request for a collector: `ExportTraceServiceRequest` in JSON."""
    resource = {"service.name": service_name, "service.version": __version__}
    spans = [span for batch in batches for span in _spans(batch)]
    scope = {"scope": {"name": "seine", "version": __version__}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}


def _spans(batch: RecentBatch) -> Iterator[dict[str, Any]]:
    trace, root, begin = secrets.token_hex(16), secrets.token_hex(8), batch.at - batch.seconds
    facts = {
        "seine.entry": batch.entry,
        "seine.input_rows": batch.input_rows,
        "seine.output_rows": batch.output_rows,
        "seine.dead_letters": batch.dead_letters,
    }
    yield _span(trace, root, "", "micro-batch", (begin, batch.at), facts)
    for stage, seconds in sorted(batch.work.stages.items()):
        name = "read" if stage == 0 else f"stage {stage}"
        times = (begin, begin + seconds)
        yield _span(trace, secrets.token_hex(8), root, name, times, {"seine.stage": stage})
        begin += seconds


def _span(
    trace: str, span: str, parent: str, name: str, times: tuple[float, float], facts: dict[str, int]
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(int(times[0] * 1e9)),
        "endTimeUnixNano": str(int(times[1] * 1e9)),
        "attributes": _attributes(facts),
    }


def _attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """
    >>> _attributes({"rows": 3, "name": "x"})
    [{'key': 'rows', 'value': {'intValue': '3'}}, {'key': 'name', 'value': {'stringValue': 'x'}}]
    """
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in facts.items()
    ]


def _headers(text: str) -> Iterator[tuple[str, str]]:
    """
    >>> dict(_headers("api-key=a%20b, x=1"))
    {'api-key': 'a b', 'x': '1'}
    """
    for pair in text.split(","):
        name, mark, value = pair.partition("=")
        if mark:
            yield name.strip(), unquote(value.strip())
