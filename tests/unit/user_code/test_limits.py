"""Limits of users' code as programs give them."""

from __future__ import annotations

import pytest

from seine.errors import SeineError
from seine.user_code.limits import FunctionLimits, given_limits


def test_what_is_not_given_is_as_usual() -> None:
    usual = FunctionLimits()
    assert given_limits(None, None) == usual
    assert given_limits(0.5, None) == FunctionLimits(0.5, usual.bytes)
    assert given_limits(None, 1 << 20) == FunctionLimits(usual.seconds, 1 << 20)


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan")])
def test_what_nothing_could_keep_is_refused(wrong: float) -> None:
    with pytest.raises(SeineError, match="function_seconds is"):
        given_limits(wrong, None)
    with pytest.raises(SeineError, match="function_bytes is"):
        given_limits(None, wrong)  # type: ignore[arg-type]
