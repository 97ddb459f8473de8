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


def latest_dead_letters(files: LogFiles, before: int, stream: str | None, most: int) -> DeadLetterPage:
    """The last letters that end at a position or before it, newest first, perhaps of one stream alone.

    `next` is the position before which to go on. A page may be empty and there be more, as above.
    """
    letters: list[DeadLetterAnswer] = []
    place = before
    try:
        lines = _last_lines(files, before)
    except FileNotFoundError:  # a segment that is kept no longer
        raise TooOldError(before, files.next_start(files.first) or before) from None
    for line in reversed(lines):
        place -= len(line)
        letter = json.loads(line)
        if stream is None or str(letter.get("stream", "")).lower() == stream.lower():
            letters.append(cast(DeadLetterAnswer, {"position": place, **letter}))
        if len(letters) == most:
            break
    return {"letters": letters, "next": place, "more": place > files.first}


def _last_lines(files: LogFiles, end: int) -> list[bytes]:
    """Whole lines that end at a position, where a line ends: about so much as is read at a time."""
    start, size = end, _MOST_READ
    while start > files.first:
        start, size = max(files.first, end - size), 2 * size
        content = b"".join(_content(piece) for piece in files.pieces(start, end))
        whole = content if start == files.first else content[content.find(b"\n") + 1 :]
        if whole and (start == files.first or len(whole) < len(content)):
            return whole.splitlines(keepends=True)
    return []


def _content(piece: FilePiece) -> bytes:
    with open(piece.path, "rb") as file:
        file.seek(piece.begin)
        return file.read(piece.end - piece.begin)
