"""Whatever is sent, a service answers, refuses with a reason, and goes on."""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fuzz.mutations import own_scripts, some_script
from tests.fuzz.requests import some_request
from tests.support.http_rig import HttpRig

pytestmark = pytest.mark.long

SECONDS = float(os.environ.get("SEINE_FUZZ_SECONDS", "20"))  # of each test, at most
SEED = int(os.environ.get("SEINE_FUZZ_SEED", "1"))
MOST_TRIES = int(os.environ.get("SEINE_FUZZ_TRIES", "800"))
_REGISTRATIONS = 100  # before the service begins anew
_MOST_GROWTH = 512 << 10  # KiB of memory


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path)
    yield rig
    rig.close()


def test_scripts_are_judged_whatever_is_in_them(rig: HttpRig) -> None:
    assert len(own_scripts()) > 50
    outcomes: Counter[bool] = Counter()
    before = _memory()
    for rng in _tries():
        script = some_script(rng)
        status, answer, _ = rig.ask(
            "POST", "/v1/check", json.dumps({"script": script}), Content_Type="application/json"
        )
        assert status in (200, 400), (status, answer, script)
        refusals = [*_refusals(answer)]
        for one in refusals:
            _assert_reason(one, script)
            assert one.get("where") or one["hint"], (one, script)
        outcomes[bool(refusals)] += 1
    assert min(outcomes[True], outcomes[False]) > 0, outcomes
    assert _memory() - before < _MOST_GROWTH


def test_requests_are_answered_whatever_they_ask(tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()
    before = _memory()
    rig = HttpRig(_fresh(tmp_path, 0))
    for number, rng in enumerate(_tries()):
        if number % _REGISTRATIONS == _REGISTRATIONS - 1:
            rig.close()
            rig = HttpRig(_fresh(tmp_path, number))
        method, path, body, headers = some_request(rng)
        status, answer, _ = rig.ask(method, path, body, **headers)
        statuses[status] += 1
        assert status < 500 or status in (501, 503), (status, answer, method, path, body)
        if status >= 400 and isinstance(answer, dict) and method != "HEAD":
            _assert_reason(answer["error"], path)
    assert rig.ask("GET", "/healthz")[0] == 200
    rig.close()
    assert statuses[200] > 0 and statuses[400] > 0, statuses
    assert _memory() - before < _MOST_GROWTH


def _tries() -> Iterator[Random]:
    """A source of chance for each try: the n-th is the same in every run of a seed."""
    deadline = time.monotonic() + SECONDS
    for number in range(MOST_TRIES):
        if time.monotonic() > deadline:
            return
        yield Random(f"{SEED} {number}")


def _fresh(folder: Path, number: int) -> Path:
    fresh = folder / str(number)
    fresh.mkdir()
    return fresh


def _refusals(form: Any) -> Iterator[dict[str, Any]]:
    """Every refusal in an answer, wherever it is."""
    if isinstance(form, dict) and {"message", "hint"} <= form.keys():
        yield form
    elif isinstance(form, dict | list):
        for part in form.values() if isinstance(form, dict) else form:
            yield from _refusals(part)


def _assert_reason(error: dict[str, Any], what: str) -> None:
    """A refusal says in a line what is wrong, and of a script where that is, or what to do."""
    assert error["message"] and "\n" not in error["message"], (error, what)
    assert "internal error" not in error["message"] and "Traceback" not in error["message"], (error, what)


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
