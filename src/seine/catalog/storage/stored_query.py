"""What the catalog hands back that is no definition of the algebra, and how it is written as text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from seine.errors import SeineError


@dataclass(frozen=True)
class StoredQuery:
    """A registered query.

    It counts tuples of epoch `born` and later; `position` tells a reader where that was: the entry, and
    of each stream the number of the next arrival. A paused query is in no network.
    """

    name: str
    text: str
    plan: Any  # a JSON value
    inputs: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    born: int = 0
    position: dict[str, Any] = field(default_factory=dict)
    paused: bool = False


@lru_cache(maxsize=1 << 12)
def name_key(name: str) -> str:
    """What two names that clash have in common.

    >>> name_key("Bid") == name_key("bid"), len(name_key("x" * 100_000))
    (True, 64)
    """
    return hashlib.sha256(storable(name).lower().encode()).hexdigest()


def signature(form: dict[str, Any]) -> str:
    """A digest of what a node computes: its JSON form without its own id.

    >>> a = signature({"id": 1, "kind": "select", "stage": 0})
    >>> a == signature({"stage": 0, "kind": "select", "id": 2}), a == signature({"kind": "merge", "stage": 0})
    (True, False)
    """
    meaning = {name: value for name, value in form.items() if name != "id"}
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def storable(text: str) -> str:
    """The text itself, or a refusal of what not every database can hold."""
    if "\0" in text or not (text.isascii() or _encodable(text)):
        raise SeineError(
            f"{shown(text)} has a character that cannot be stored", hint="leave out U+0000 and surrogates"
        )
    return text


def _encodable(text: str) -> bool:
    """Whether there are no surrogates in a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(name: str) -> str:
    """A name as an error quotes it: escaped, and never longer than a line."""
    return ascii(name) if len(name) <= 60 else ascii(name[:57]) + "..."
