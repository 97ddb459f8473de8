"""How long, or how much of, something is kept: `--retain 30d`, `--keep 50GB`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seine.errors import SeineError

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_AMOUNT = re.compile(r"([1-9][0-9]{0,11}) ?([A-Za-z]+)")


@dataclass(frozen=True)
class RetentionLimit:
    """The oldest parts go when they are older than `seconds`, or when all exceed `bytes`."""

    seconds: int | None = None
    bytes: int | None = None

    @staticmethod
    def parse(text: str) -> RetentionLimit:
        """A duration in s, m, h, d or w, or a size in B, KB, MB, GB or TB.

        >>> RetentionLimit.parse("30d").seconds, RetentionLimit.parse("50GB").bytes
        (2592000, 50000000000)
        """
        match = _AMOUNT.fullmatch(text.strip())
        if match is not None:
            amount, unit = int(match[1]), match[2]
            if unit.lower() in _SECONDS and unit.upper() not in _BYTES:
                return RetentionLimit(seconds=amount * _SECONDS[unit.lower()])
            if unit.upper() in _BYTES:
                return RetentionLimit(bytes=amount * _BYTES[unit.upper()])
        raise SeineError(f"'{text}' is no duration and no size", hint="30d, 12h or 45m; or 50GB or 800MB")
