"""What the catalog hands back that is no definition of the algebra, and how it is written as text."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from msgspec import Struct

from seine.algebra.plan import Query, tables_of
from seine.algebra.serialise import plan_to_json
from seine.errors import SeineError


class QueryPosition(Struct, frozen=True):
    """Where a query was registered: the first entry that counts, how long the results were then, and of each
    of its streams the number of the next arrival."""

    entry: int
    results: int
    streams: dict[str, int]


class StoredNode(Struct, frozen=True):
    """A node of a network version: what it is found by, and its whole JSON form."""

    id: int
    kind: str
    stage: int
    inputs: tuple[int, ...]  # the nodes at its ports
    form: dict[str, Any]


class StoredQuery(Struct, frozen=True):
    """A registered query.

    It counts tuples of epoch `born` and later; `position` says where that was, None for a query that
    has been there from the beginning. A paused query is in no network.
    """

    name: str
    text: str
    plan: Any  # a JSON value
    inputs: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    born: int = 0
    position: QueryPosition | None = None
    paused: bool = False

    @staticmethod
    def of(query: Query, born: int = 0, position: QueryPosition | None = None) -> StoredQuery:
        """A query as the catalog keeps it."""
        inputs, plan = tuple(sorted(tables_of(query))), plan_to_json(query.plan)
        return StoredQuery(query.name, query.text, plan, inputs, dict(query.options), born, position)


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
