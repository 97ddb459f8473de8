"""Who may ask for what over HTTP: every role at every route, and tokens that are told to nobody."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from seine.service.access.principal import ROLES, Role
from seine.service.access.token_file import TokenFile
from seine.service.http.app import make_app
from seine.service.http.guarded_route import GuardedRoute
from seine.service.http.route_roles import ROUTE_ROLES
from seine.service.http.wakeup import Wakeup
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
QUERY = "CREATE QUERY q AS SELECT a FROM s;"
ONE = "the one token that may do all"
BODIES = {
    "/v1/scripts": '{"script": ""}',
    "/v1/check": '{"script": ""}',
    "/v1/streams/{name}/records": '{"a": 1}',
}


class Guests:
    """A service with a token of each role."""

    def __init__(self, folder: Path) -> None:
        self.tokens = TokenFile(str(folder / "tokens.json"))
        self.of: dict[str, str] = {role: self.tokens.add(f"{role}er", role) for role in ROLES}
        self.rig = HttpRig(folder, token=ONE, tokens=self.tokens)
        self.rig.register(STREAM + QUERY)

    def ask(self, token: str | None, method: str, path: str) -> int:
        body, headers = BODIES.get(path), {} if token is None else {"Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content_Type"] = "application/json"
        return self.rig.ask(method, path.replace("{name}", "none"), body, **headers)[0]

    def noted(self) -> list[dict[str, Any]]:
        """The lines of the audit log."""
        text = (self.rig.folder / "state" / "audit.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    guests = Guests(tmp_path_factory.mktemp("guests"))
    yield guests
    guests.rig.close()


def _within(route: BaseRoute) -> list[BaseRoute]:
    """The routes of a router that is included, or the route itself."""
    router = getattr(route, "original_router", None)
    return [route] if router is None else [one for part in router.routes for one in _within(part)]


def test_every_route_has_a_row(guests: Guests) -> None:
    """A new route fails here until it is decided who may ask for it."""
    parts = make_app(guests.rig.service, Wakeup(), 1).routes
    routes = [route for part in parts for route in _within(part)]
    assert all(isinstance(route, GuardedRoute) for route in routes)
    offered = {
        (method, route.path) for route in routes if isinstance(route, APIRoute) for method in route.methods
    }
    assert offered == set(ROUTE_ROLES)


@pytest.mark.parametrize(("method", "path"), sorted(ROUTE_ROLES))
def test_roles_matrix(guests: Guests, method: str, path: str) -> None:
    needed = ROUTE_ROLES[method, path]
    for role in ROLES:
        status = guests.ask(guests.of[role], method, path)
        if needed is None or ROLES.index(role) >= ROLES.index(needed):
            assert status not in (401, 403), role
        else:
            assert status == HTTPStatus.FORBIDDEN, role
            noted = guests.noted()[-1]
            assert (noted["who"], noted["role"], noted["outcome"]) == (f"{role}er", role, "refused")
            assert noted["reason"] == f"{role}er has the role {role}"
            subject = "stream" if "/streams/" in path else "query"
            assert noted.get(subject) == ("none" if "{name}" in path else None)
    assert guests.ask(ONE, method, path) not in (401, 403)
    for stranger in (None, "", "wrong", guests.of["admin"].upper(), f" {ONE}"):
        assert (guests.ask(stranger, method, path) == HTTPStatus.UNAUTHORIZED) == (needed is not None)


@pytest.mark.parametrize("role", ROLES)
def test_what_each_role_gets(guests: Guests, role: Role) -> None:
    rig, headers = guests.rig, {"Authorization": f"Bearer {guests.of[role]}"}
    body = '{"script": "CREATE QUERY mine AS SELECT a FROM s WHERE a > 1;"}'
    status = rig.ask("POST", "/v1/scripts", body, Content_Type="application/json", **headers)[0]
    assert status == (403 if role == "read" else 200)
    body = '{"script": "CREATE VIEW w AS SELECT a FROM s; DROP VIEW w; CREATE JOIN s.a = s.a;"}'
    status, answer, _ = rig.ask("POST", "/v1/scripts", body, Content_Type="application/json", **headers)
    assert (status == 403) == (role != "admin"), answer
    assert rig.ask("DELETE", "/v1/queries/q", **headers)[0] == (200 if role == "admin" else 403)
    if role == "admin":
        rig.client.register(QUERY, file="x.sql", folder=str(rig.folder))
    if role != "read":
        assert rig.ask("DELETE", "/v1/queries/mine", **headers)[0] == 200


def test_a_refusal_names_what_was_asked_for(tmp_path: Path) -> None:
    guests = Guests(tmp_path)
    for method, path, action in (
        ("POST", "/v1/queries/{name}/pause", "pause"),
        ("DELETE", "/v1/queries/{name}", "drop"),
        ("POST", "/v1/snapshots", "snapshot"),
        ("POST", "/v1/streams/{name}/records", "push"),
        ("POST", "/v1/scripts", "register"),
    ):
        before = len(guests.noted())
        assert guests.ask(guests.of["read"], method, path) == HTTPStatus.FORBIDDEN
        assert [line["action"] for line in guests.noted()[before:]] == [action]
        assert guests.ask(guests.of["read"], method, path) == HTTPStatus.FORBIDDEN
        assert len(guests.noted()) == before + 1, "once a minute"
    before = len(guests.noted())
    assert guests.ask("nobody's", "POST", "/v1/snapshots") == HTTPStatus.UNAUTHORIZED
    assert len(guests.noted()) == before, "who is not known has no line"
    guests.rig.close()


def test_a_token_counts_at_once_and_no_longer_than_it_is_there(tmp_path: Path) -> None:
    tokens = TokenFile(str(tmp_path / "tokens.json"))
    rig = HttpRig(tmp_path, tokens=tokens)
    try:
        assert rig.ask("GET", "/v1/status")[0] == 200, "no token is needed on loopback while there is none"
        headers = {"Authorization": f"Bearer {tokens.add('ann', 'read')}"}
        assert rig.ask("GET", "/v1/status")[0] == 401
        assert rig.ask("GET", "/v1/status", **headers)[0] == 200
        tokens.remove("ann")
        assert rig.ask("GET", "/v1/status", **headers)[0] == rig.ask("GET", "/v1/status")[0] == 401
        Path(tokens.path).write_text("{")
        assert rig.ask("GET", "/v1/status", **headers)[0] == 503
    finally:
        rig.close()


def test_a_token_is_told_to_nobody(guests: Guests, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the log nor an answer, the audit log or a file of the service has a token, right or wrong."""
    wrong = "a-wrong-token-that-somebody-mistyped"
    secrets = [ONE, wrong, *guests.of.values()]
    answers = []
    with caplog.at_level(logging.DEBUG):
        for token in secrets:
            headers = {"Authorization": f"Bearer {token}"}
            for method, path in (("GET", "/v1/status"), ("GET", "/v1/queries"), ("DELETE", "/v1/queries/no")):
                answers.append(str(guests.rig.ask(method, path, **headers)[1:]))
        answers.append(str(guests.rig.ask("GET", f"/v1/status?token={ONE.replace(' ', '+')}")[1]))
    files = [path for path in guests.rig.folder.rglob("*") if path.is_file()]
    assert any(path.name == "audit.jsonl" for path in files) and len(answers) > 10
    for secret in secrets:
        assert secret not in caplog.text and not any(secret in answer for answer in answers)
        assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_no_page_of_another_site_asks_with_a_token_or_a_cookie(guests: Guests) -> None:
    rig, token = guests.rig, guests.of["admin"]
    own_site = rig.server.url
    for origin, status in ((own_site, 200), ("http://evil.example", 403), ("null", 403), ("", 403)):
        answer = rig.ask("GET", "/v1/status", Authorization=f"Bearer {token}", Origin=origin)
        assert answer[0] == status, origin
    assert rig.ask("GET", "/v1/status", Cookie=f"token={token}; Authorization=Bearer {token}")[0] == 401
    assert rig.ask("GET", "/v1/status", Authorization=f"Bearer {token}")[2]["Set-Cookie"] is None
    assert rig.ask("GET", "/v1/status", Authorization=f"Basic {token}")[0] == 401
