"""Text as it is stored and compared: keys of names, signatures of nodes, and what a database cannot hold."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from seine.errors import SeineError


@lru_cache(maxsize=1 << 12)
def name_key(name: str) -> str:
    """A digest of a name in lower case: two names clash if their keys are equal.

    >>> name_key("Bid") == name_key("bid"), len(name_key("x" * 100_000))
    (True, 64)
    """
    return hashlib.sha256(storable(name).lower().encode()).hexdigest()


def signature(form: dict[str, Any]) -> str:
    """A digest of what a node computes: of its JSON form without its id.

    >>> a = signature({"id": 1, "kind": "select", "stage": 0})
    >>> a == signature({"stage": 0, "kind": "select", "id": 2}), a == signature({"kind": "merge", "stage": 0})
    (True, False)
    """
    meaning = {name: value for name, value in form.items() if name != "id"}
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def storable(text: str) -> str:
    """The text, unchanged; an error if it has characters that not every database can hold."""
    if "\0" in text or not (text.isascii() or _encodable(text)):
        raise SeineError(
            f"{shown(text)} has a character that cannot be stored", hint="leave out U+0000 and surrogates"
        )
    return text


def _encodable(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(name: str) -> str:
    """A name as an error message quotes it: escaped and cut to one line."""
    return ascii(name) if len(name) <= 60 else ascii(name[:57]) + "..."
