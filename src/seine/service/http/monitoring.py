"""What operators' tools ask of a service: is it alive, is it ready, and its metrics."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Response

from seine.service.http.guarded_route import GuardedRoute
from seine.service.http.service_calls import Calls
from seine.service.metrics import CONTENT_TYPE, MetricSources, metrics_text

PROBES = frozenset({"/healthz", "/readyz"})  # answered without a token: they say nothing but yes or no
MONITORING = APIRouter(route_class=GuardedRoute, redirect_slashes=False, include_in_schema=False)


@MONITORING.get("/healthz")
async def _alive() -> Response:
    """The process answers: an orchestrator need not start it again."""
    return Response("alive\n", media_type="text/plain")


@MONITORING.get("/readyz")
async def _ready(calls: Calls) -> Response:
    """Spark runs the pipeline: input flows, and a query that is registered now soon reports."""
    if calls.service.driver.driving:
        return Response("ready\n", media_type="text/plain")
    return Response("Spark is starting\n", HTTPStatus.SERVICE_UNAVAILABLE, media_type="text/plain")


@MONITORING.get("/metrics")
async def _metrics(calls: Calls) -> Response:
    service = calls.service

    def gathered() -> bytes:
        return metrics_text(
            MetricSources(
                service.status(),
                sorted(service.stream_states(), key=lambda one: one.stream),
                service.driver.driving,
                service.kind_costs(),
                service.recent.times,
                dict(calls.requests.requests),
                dict(calls.requests.seconds),
            )
        )

    return Response(await calls.reads.run(gathered), media_type=CONTENT_TYPE)
