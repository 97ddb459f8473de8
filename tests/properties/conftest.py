"""What all random scripts have in common."""

from __future__ import annotations

import pytest

from seine.operators.group import dormant_groups


@pytest.fixture(autouse=True)
def early_sleep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every other seed groups sleep again as soon as they may: few scripts have enough that would."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and callspec.params.get("seed", 0) % 2:
        monkeypatch.setattr(dormant_groups, "LEAST_SLOTS_PUT_TO_SLEEP", 1)
