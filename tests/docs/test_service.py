"""Every request that a service answers is documented, and nothing else is."""

from __future__ import annotations

import re

from seine.service.http.app import description
from tests.docs.pages import DOCS, read


def test_requests_are_those_of_the_service() -> None:
    page = read(DOCS / "service.md")
    documented = set(re.findall(r"`(GET|POST|DELETE) (/v1/[^?`]*)", page))
    paths = description()["paths"]
    answered = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    answered.remove(("POST", "/v1/queries/{name}/resume"))  # it stands in the row of pause
    assert documented == answered | {("GET", "/v1/openapi.json")}
