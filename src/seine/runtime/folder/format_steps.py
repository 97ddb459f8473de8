"""Formats of a deployment folder: the present one is written, the one before it is brought up to date.

    format 7  ->  8     the clock of a final time became several; searches hold their deletions otherwise

Law: a folder is changed only if all of it can be; killed in the middle it is brought up to date by the next
process, since the mark of the format is written last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from seine.disk_sync import write_whole
from seine.errors import SeineError
from seine.runtime.folder.settings import FORMAT, damaged, read_record, settings_path

_SEARCHES = frozenset({"watch", "spot", "search", "period_top", "alive_top"})


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


def _from_7(folder: str) -> None:
    """Final times have several clocks since; what searches held cannot be read."""
    paths = _network_files(folder)
    networks = {path: _read(path) for path in paths}
    for network in networks.values():
        _refuse_searches(folder, network)
    for path, network in networks.items():
        write_whole(path, json.dumps(_with_clocks(network)).encode())


def _with_clocks(form: Any) -> Any:
    """A form in which each final time has a list of clocks.

    >>> _with_clocks([{"place": 0, "expression": ["col", "BIGINT", 0]}])
    [{'place': 0, 'clocks': [['col', 'BIGINT', 0]]}]
    """
    if isinstance(form, list):
        return [_with_clocks(part) for part in form]
    if not isinstance(form, dict):
        return form
    if form.keys() == {"place", "expression"}:
        return {"place": form["place"], "clocks": [form["expression"]]}
    return {name: _with_clocks(part) for name, part in form.items()}


def _refuse_searches(folder: str, network: Any) -> None:
    parts = network.get("change") or network["network"]
    nodes = parts["nodes"]
    kinds = {node["kind"] for node in (nodes.values() if isinstance(nodes, dict) else nodes)}
    if kinds & _SEARCHES:
        raise SeineError(
            f"'{folder}' has format 7, whose SEARCH queries this Seine cannot go on with",
            hint="drop them with the Seine that made it: seine drop QUERY --service FOLDER",
        )


def _network_files(folder: str) -> list[str]:
    top = os.path.join(folder, "networks")
    versions = sorted(os.listdir(top)) if os.path.isdir(top) else []
    paths = [os.path.join(top, version, "network.json") for version in versions]
    return [path for path in paths if os.path.exists(path)]


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


STEPS: dict[int, Callable[[str], None]] = {7: _from_7}  # from each format that is read to the next
