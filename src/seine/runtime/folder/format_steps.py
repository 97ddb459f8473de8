"""Formats of a deployment folder: the present one is written, the one before it is brought up to date.

    format 8  ->  9     `output.json` and the log of counts became records of one log

Law: a folder is changed only if all of it can be; killed in the middle it is brought up to date by the next
process, since the mark of the format is written last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from seine.disk_sync import write_whole
from seine.errors import SeineError
from seine.runtime.folder.settings import FORMAT, damaged, read_record, settings_path
from seine.storage.local import LocalStore
from seine.storage.log import Log

_BY_NODE = ("state_rows", "port_rows", "memory", "group_rows", "punctuation_rows")


class _FormatMark(Struct, frozen=True):
    """All that settings of any format have."""

    format: int


def bring_up_to_date(folder: str) -> int:
    """Let a folder have the present format; the one that it had. What is too old or too new is refused."""
    had = format_of(folder)
    if had != FORMAT:
        refuse_unread(folder, had)
        STEPS[had](folder)
        _mark(folder)
    return had


def format_of(folder: str) -> int:
    """The format of a deployment folder."""
    return read_record(settings_path(folder), _FormatMark).format


def refuse_unread(folder: str, had: int) -> None:
    """Refuse a folder of a format that is neither the present one nor the one before it."""
    oldest = min(STEPS, default=FORMAT)
    if had > FORMAT:
        raise SeineError(
            f"'{folder}' has format {had}, and this Seine reads {oldest} to {FORMAT}: it is too new",
            hint="use the Seine that made it, or a newer one",
        )
    if had < oldest:
        raise SeineError(
            f"'{folder}' has format {had}, and this Seine reads {oldest} to {FORMAT}: it is too old",
            hint="let a Seine in between open it first, or name a new folder",
        )


def _from_8(folder: str) -> None:
    """What counts is in the records of a log since."""
    path = os.path.join(folder, "output.json")
    if os.path.exists(path):
        log = Log(LocalStore(folder), "log")
        if not log.begin():
            log.append(_first_record(folder, _read(path)), whole=True)
        os.remove(path)
    for name in os.listdir(folder):
        if name.startswith("tally-"):
            os.remove(os.path.join(folder, name))


def _first_record(folder: str, output: dict[str, Any]) -> bytes:
    """The whole record of what `output.json` and the log of counts that it names say."""
    for name in _BY_NODE:
        output[name] = {int(node): value for node, value in output.get(name, {}).items()}
    held = {tuple(map(tuple, one["places"])): one for one in output.pop("held")}
    output["held"] = {places: one["rows"] for places, one in held.items()}
    output["held_peak"] = {places: one["peak"] for places, one in held.items()}
    counts = _counts(folder, output.pop("tally"))
    return msgspec.msgpack.encode({"totals": output, "change": counts})


def _counts(folder: str, place: dict[str, Any] | None) -> dict[str, dict[str, float]]:
    """The sums of a log of counts by query, and of their importance."""
    sums: dict[str, dict[str, float]] = {"added": {}, "importance": {}}
    if place is None:
        return sums
    path = os.path.join(folder, place["name"])
    with open(path, "rb") as file:
        content = file.read(place["bytes"])
    if len(content) < place["bytes"]:
        raise damaged(path)
    for line in content.splitlines():
        change = json.loads(line)
        for kind, known in sums.items():
            for query in change["gone"]:
                known.pop(query, None)
            for query, more in change[kind].items():
                known[query] = known.get(query, 0) + more
    return sums


def _read(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError:
            raise damaged(path) from None


def _mark(folder: str) -> None:
    path = settings_path(folder)
    settings = {**_read(path), "format": FORMAT}
    write_whole(path, json.dumps(settings, indent=1).encode())


STEPS: dict[int, Callable[[str], None]] = {8: _from_8}  # from each format that is read to the next
