"""Positions in the results as requests name them, and clients that have hung up."""

from __future__ import annotations

import re

from fastapi import Request

from seine.errors import SeineError
from seine.runtime.output.result_index import ResultIndex
from seine.service.http.connection import INPUT_ENDED

_RECENT_BYTES = 1 << 16  # of the records of a query


def start_position(index: ResultIndex, query: str, first: int, word: str) -> int:
    """The place in the results that a request's `from` stands for."""
    settled = index.settled
    if word == "recent":
        return max(first, index.recent(query, _RECENT_BYTES))
    if word in ("start", "end"):
        return max(first, index.results.first) if word == "start" else settled
    if not re.fullmatch(r"\d{1,18}", word) or int(word) > settled:
        raise SeineError(
            f"there is no place '{word}' in the results",
            hint="from is start, end, recent, or what the answer before this one said in Seine-Next",
        )
    return int(word)


async def has_gone(request: Request) -> None:
    """Return when the client has hung up or ended its side, which looks the same: it is answered at once."""
    while (await request.receive())["type"] != "http.disconnect":
        if getattr(request.state, INPUT_ENDED, False):
            return
