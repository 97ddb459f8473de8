"""The dead letters of a service, page by page."""

from __future__ import annotations

import json
from typing import cast

from seine.errors import SeineError
from seine.runtime.output.log_files import FilePiece, LogFiles, TooOldError
from seine.service.answers import DeadLetterAnswer, DeadLetterPage

_MOST_READ = 1 << 20  # bytes of one page, of letters of all streams


def read_dead_letters(
    files: LogFiles, after: int | None, end: int, stream: str | None, most: int
) -> DeadLetterPage:
    """The first letters between two positions, at most so many, perhaps of one stream alone.

    Without a position, from the first that is kept. A page may be empty and there be more: so much is read at
    a time, whosoever letters it has.
    """
    place = files.first if after is None else after
    if place > end:
        raise SeineError(
            f"there is no place {place} among the dead letters",
            hint="after is left out at first, then the `next` of a page",
        )
    files.refuse_too_old(place)
    letters: list[DeadLetterAnswer] = []
    piece = next(files.pieces(place, min(end, place + _MOST_READ)), None)
    if piece is not None:
        try:
            place += _read(piece, place, stream, most, letters)
        except FileNotFoundError:
            raise TooOldError(place, files.next_start(place) or end) from None
    return {"letters": letters, "next": place, "more": place < end}


def _read(
    piece: FilePiece, position: int, stream: str | None, most: int, letters: list[DeadLetterAnswer]
) -> int:
    """Add the letters of a piece of a file that begins at a position; how many bytes were looked at."""
    path, place, stop = piece
    with open(path, "rb") as file:
        if place:
            file.seek(place - 1)
            place += len(file.readline()) - 1  # a place amid a line is after it
        while place < stop and len(letters) < most and (line := file.readline()):
            letter = json.loads(line)
            if stream is None or str(letter.get("stream", "")).lower() == stream.lower():
                at = position + place - piece.begin
                letters.append(cast(DeadLetterAnswer, {"position": at, **letter}))
            place += len(line)
    return place - piece.begin
