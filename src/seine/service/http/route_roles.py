"""Which role each request needs: a row for every route. One that has none is for admins alone.

Whose query a change is about, and what a script declares, is judged when the change has its turn
(`access/principal.py`); here the least role is told that may ask at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request

from seine.errors import SeineError
from seine.service.access.principal import Principal, Role
from seine.service.console.console_files import CONSOLE_PATHS
from seine.service.http.refusals import Refusal

PRINCIPAL = "principal"  # in the state of a request: who asks; None where that need not be known

ROUTE_ROLES: Mapping[tuple[str, str], Role | None] = {
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    **{("GET", path): None for path in CONSOLE_PATHS},
    ("GET", "/metrics"): "read",
    ("GET", "/v1/openapi.json"): "read",
    ("GET", "/v1/status"): "read",
    ("GET", "/v1/costs"): "read",
    ("GET", "/v1/streams"): "read",
    ("GET", "/v1/dead-letters"): "read",
    ("GET", "/v1/queries"): "read",
    ("GET", "/v1/queries/{name}"): "read",
    ("GET", "/v1/queries/{name}/related"): "read",
    ("GET", "/v1/queries/{name}/results"): "read",
    ("GET", "/v1/queries/{name}/events"): "read",
    ("GET", "/v1/queries/{name}/story"): "read",
    ("GET", "/v1/queries/{name}/documents"): "read",
    ("GET", "/v1/query-page"): "read",
    ("GET", "/v1/latest-dead-letters"): "read",
    ("GET", "/v1/schema"): "read",
    ("GET", "/v1/network"): "read",
    ("GET", "/v1/network/{node}"): "read",
    ("GET", "/v1/batches"): "read",
    ("POST", "/v1/snapshots"): "admin",
    ("POST", "/v1/check"): "write",
    ("POST", "/v1/try"): "write",
    ("POST", "/v1/scripts"): "write",
    ("DELETE", "/v1/queries/{name}"): "write",
    ("POST", "/v1/queries/{name}/pause"): "write",
    ("POST", "/v1/queries/{name}/resume"): "write",
    ("POST", "/v1/streams/{name}/records"): "write",
}


def asker(request: Request) -> Principal:
    """Who asks; every request but a probe has somebody."""
    who = getattr(request.state, PRINCIPAL, None)
    if not isinstance(who, Principal):
        raise Refusal(HTTPStatus.UNAUTHORIZED, SeineError("the token is missing or wrong"))
    return who


def role_refusal(request: Request, path: str) -> SeineError | None:
    """Why a request for a route, named by its path, needs another role; None if it does not."""
    needed = ROUTE_ROLES.get((request.method, path), "admin")
    if needed is None or (who := asker(request)).may(needed):
        return None
    return SeineError(f"{who.name} has the role {who.role}", hint=f"this needs the role {needed}")
