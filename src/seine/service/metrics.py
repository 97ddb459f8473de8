"""What a service is doing as metrics, in the text format that Prometheus reads.

Labels are streams, sinks, states, stages and routes, never queries: a hundred thousand queries are as many
series as ten. Of more than `_MOST_LABELLED` streams or sinks the first by name have series of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from seine.intake.stream_status import StreamStatus
from seine.service.answers import SinkAnswer, StatusAnswer
from seine.service.costs import NodeCost
from seine.service.recent_batches import BATCH_SECONDS, BatchTimes

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_MOST_LABELLED = 500

Samples = Iterable[tuple[Sequence[str], float]]  # values of the labels, and the value


@dataclass(frozen=True)
class MetricSources:
    """What metrics are made of: a service at one moment. `streams` are in the order of their names."""

    status: StatusAnswer
    streams: Sequence[StreamStatus]
    ready: bool
    costs: Mapping[str, NodeCost]  # of the nodes of each kind
    times: BatchTimes
    requests: Mapping[tuple[str, str, str], int]  # by method, route and class of status
    request_seconds: Mapping[str, float]  # by route


def metrics_text(sources: MetricSources) -> bytes:
    """All metrics of a service."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gathered(sources))
    return generate_latest(registry)


class _Gathered(Collector):
    """The metrics of one answer."""

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        sources = self._sources
        yield from _whole_service(sources.status, sources.ready)
        yield from _of_batches(sources.times)
        yield from _of_kinds(sources.costs)
        yield from _of_streams(sources.streams[:_MOST_LABELLED])
        yield from _of_sinks(list(islice(sources.status["sinks"], _MOST_LABELLED)))
        yield from _of_requests(sources.requests, sources.request_seconds)


def _whole_service(status: StatusAnswer, ready: bool) -> Iterator[Metric]:
    yield _gauge("ready", "1 while Spark runs the pipeline", [((), ready)])
    yield _counter("batches", "micro-batches delivered", [((), status["batches"])])
    yield _counter("input_rows", "lines read", [((), status["input_rows"])])
    yield _counter("output_rows", "records delivered", [((), status["output_rows"])])
    yield _counter("dead_letters", "lines that were not let in", [((), status["dead_letters"])])
    yield _counter("shed_tuples", "tuples that memory limits pushed or kept out", [((), status["shed"])])
    waiting = status["waiting"]
    yield _gauge("waiting_entries", "journal entries admitted and not delivered", [((), waiting)])
    yield _gauge("network_version", "version of the shared network", [((), status["version"])])
    yield _gauge("nodes", "nodes of the shared network", [((), status["nodes"])])
    queries = [([state], float(status["queries"][state])) for state in ("running", "paused", "failed")]
    yield _gauge("queries", "registered queries", queries, ["state"])
    yield _gauge("streams", "declared streams", [((), status["streams"])])
    held = [("joins", status["state_rows"]), ("groups", status["group_rows"])]
    kinds = [*held, ("punctuations", status["punctuations"])]
    yield _gauge("state_rows", "rows held in state", [([kind], rows) for kind, rows in kinds], ["held_for"])


def _of_batches(times: BatchTimes) -> Iterator[Metric]:
    bounds = [*map(str, BATCH_SECONDS), "+Inf"]
    family = HistogramMetricFamily(
        "seine_batch_seconds", "from when a micro-batch could begin to its delivery"
    )
    family.add_metric([], [*zip(bounds, map(float, times.counts), strict=True)], times.seconds)
    yield family
    stages = [([str(stage)], seconds) for stage, seconds in times.stages.items()]
    yield _counter("stage_seconds", "of the longest task of a stage; stage 0 reads", stages, ["stage"])


def _of_requests(
    requests: Mapping[tuple[str, str, str], int], seconds: Mapping[str, float]
) -> Iterator[Metric]:
    labels = ["method", "route", "status"]
    yield _counter("http_requests", "requests that were answered", sorted(requests.items()), labels)
    each = [([route], value) for route, value in sorted(seconds.items())]
    yield _counter(
        "http_request_seconds", "until they were answered, with waits for records", each, ["route"]
    )


def _of_kinds(costs: Mapping[str, NodeCost]) -> Iterator[Metric]:
    def each(value: Callable[[NodeCost], float]) -> Samples:
        return [([kind], value(costs[kind])) for kind in sorted(costs)]

    label = ["kind"]
    yield _counter("node_cpu_seconds", "CPU time of nodes", each(lambda cost: cost.cpu), label)
    yield _counter("node_rows_in", "rows that came to nodes", each(lambda cost: cost.rows_in), label)
    yield _counter("node_rows_out", "rows that nodes gave", each(lambda cost: cost.rows_out), label)
    yield _gauge("node_state_bytes", "state of nodes", each(lambda cost: cost.state_bytes), label)


def _of_streams(streams: Sequence[StreamStatus]) -> Iterator[Metric]:
    def each(value: Callable[[StreamStatus], float]) -> Samples:
        return [([one.stream], value(one)) for one in streams]

    label = ["stream"]
    up = each(lambda one: one.condition.state != "failed")
    yield _gauge("stream_up", "0 while the source of a stream fails", up, label)
    yield _counter("stream_tuples", "tuples admitted", each(lambda one: one.arrivals), label)
    yield _counter("stream_late_lines", "lines later than LATENESS allows", each(lambda one: one.late), label)
    yield _counter("stream_dead_lines", "all lines not let in", each(lambda one: one.dead), label)
    lag = each(lambda one: one.lag_bytes)
    yield _gauge("stream_lag_bytes", "input that has not been admitted yet", lag, label)
    passed = [([one.stream], _units(one)) for one in streams if one.watermark is not None]
    help_text = "no later tuple is older: plain units, or seconds of Unix time"
    yield _gauge("stream_watermark", help_text, passed, label)


def _units(status: StreamStatus) -> float:
    """A watermark in the unit that dashboards expect."""
    watermark = status.watermark or 0
    return watermark / 1e6 if status.domain == "timestamp" else float(watermark)


def _of_sinks(sinks: Sequence[SinkAnswer]) -> Iterator[Metric]:
    def each(value: Callable[[SinkAnswer], float]) -> Samples:
        return [([one["sink"]], value(one)) for one in sinks]

    label = ["sink"]
    up = each(lambda one: one["state"] == "running")
    yield _gauge("sink_up", "0 while the target of a sink cannot be written", up, label)
    yield _counter("sink_records", "records delivered", each(lambda one: one["records"]), label)
    yield _gauge(
        "sink_lag_bytes", "results that come after its position", each(lambda one: one["lag"]), label
    )


def _gauge(name: str, text: str, samples: Samples, labels: Sequence[str] = ()) -> Metric:
    return _filled(GaugeMetricFamily(f"seine_{name}", text, labels=labels), samples)


def _counter(name: str, text: str, samples: Samples, labels: Sequence[str] = ()) -> Metric:
    return _filled(CounterMetricFamily(f"seine_{name}", text, labels=labels), samples)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, samples: Samples) -> Metric:
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family
