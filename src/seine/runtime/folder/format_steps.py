"""Formats of a pipeline's folder: the present one is written, the one before it is brought up to date.

    format 8  ->  9     files that were replaced or renamed are objects and registers of a store

Law: a folder is changed only if all of it can be; killed in the middle it is brought up to date by the next
process. What is new lies beside what was there, then the mark of the format is written, and then the old
goes, `settings.json` last.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from seine.errors import SeineError
from seine.runtime.folder.format_8 import carry_from_8, remove_8, settings_of_8
from seine.runtime.folder.settings import FORMAT, SETTINGS, read_record, read_register
from seine.storage.log import Register
from seine.storage.store import Store


class _FormatMark(Struct, frozen=True):
    """All that settings of any format have."""

    format: int


def bring_up_to_date(store: Store) -> int:
    """Let a pipeline have the present format; the one that it had. What is too old or too new is refused."""
    had = format_of(store)
    if had != FORMAT:
        refuse_unread(store.place, had)
        STEPS[had](store)
    elif os.path.exists(settings_of_8(store)):  # it was killed between the mark and the end
        remove_8(store)
    return had


def has_settings(store: Store) -> bool:
    """Whether a pipeline of any format is there."""
    return Register(store, SETTINGS).read() is not None or os.path.exists(settings_of_8(store))


def format_of(store: Store) -> int:
    """The format of a pipeline."""
    mark = read_register(store, SETTINGS, _FormatMark)
    return (mark or read_record(settings_of_8(store), _FormatMark)).format


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


STEPS: dict[int, Callable[[Store], None]] = {8: carry_from_8}  # from each format that is read to the next
