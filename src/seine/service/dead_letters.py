"""The dead letters of a service, page by page."""

from __future__ import annotations

import json
from typing import cast

from seine.errors import SeineError
from seine.service.answers import DeadLetterAnswer, DeadLetterPage

_MOST_READ = 1 << 20  # bytes of one page, of letters of all streams


def read_dead_letters(path: str, after: int, end: int, stream: str | None, most: int) -> DeadLetterPage:
    """The first letters between two places of a file of them, at most so many, perhaps of one stream alone.

    A page may be empty and there be more: so much is read at a time, whosoever letters it has.
    """
    if after > end:
        raise SeineError(
            f"there is no place {after} among the dead letters", hint="after is 0, or the `next` of a page"
        )
    letters: list[DeadLetterAnswer] = []
    place, stop = after, min(end, after + _MOST_READ)
    if place < stop:
        with open(path, "rb") as file:
            if place:
                file.seek(place - 1)
                place += len(file.readline()) - 1  # a place amid a line is after it
            while place < stop and len(letters) < most and (line := file.readline()):
                letter = json.loads(line)
                if stream is None or str(letter.get("stream", "")).lower() == stream.lower():
                    letters.append(cast(DeadLetterAnswer, {"position": place, **letter}))
                place += len(line)
    return {"letters": letters, "next": place, "more": place < end}
