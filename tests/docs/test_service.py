"""Every request that a service answers is documented, and nothing else is."""

from __future__ import annotations

import re

from seine.service.api import ROUTES
from tests.docs.pages import DOCS, read


def test_requests_are_those_of_the_service() -> None:
    page = read(DOCS / "service.md")
    told = set(re.findall(r"`(GET|POST|DELETE) (/v1/[^?`]*)", page))
    answered = {(route.method, route.path) for route in ROUTES}
    answered.remove(("POST", "/v1/queries/{name}/resume"))  # it stands in the row of pause
    assert told == answered | {("GET", "/v1/openapi.json")}
