"""What a copy of the window of a search costs, in words: bytes for each tuple that lives, by stream.

    movie: its JSON text and about 320 bytes a tuple (2 joins)

A held tuple is a row of the window, with its text, and a row of the index for each of its places, which
carries all of them. Keys that are texts or decimals are kept besides.
"""

from __future__ import annotations

from collections.abc import Iterator

from seine.algebra.plan_text import column_name
from seine.operators.search.watch_step import sides_of
from seine.operators.search.watched_schema import WatchedSchema

TUPLE_BYTES = 70  # of a row of the window, besides its text; measured, as the next two
INDEX_BYTES = 83  # of a row of the index, besides the places that it carries
PLACE_BYTES = 20  # of a place that a row carries


def prices(schema: WatchedSchema, searched: WatchedSchema) -> Iterator[str]:
    """For each stream, what its tuples take; `searched` is the part of the schema that has trees."""
    standing = [edge for edge in searched.edges if edge.stands]
    for table in schema.members:
        places = len(sides_of(standing, table))
        if table not in searched.members:
            yield f"nothing of {column_name(table.name)}: trees are searched in other streams alone"
            continue
        if not places and not schema.may_change:
            yield f"nothing of {column_name(table.name)}: no join leads to it"
            continue
        joined = "no join" if not places else f"{places} {'join' if places == 1 else 'joins'}"
        taken = f"about {tuple_bytes(places)} bytes a tuple"
        yield f"{column_name(table.name)}: its JSON text and {taken} ({joined})"


def tuple_bytes(places: int) -> int:
    """What a held tuple with so many places takes, besides its text.

    >>> [tuple_bytes(places) for places in (0, 1, 2, 4)]
    [70, 173, 316, 722]
    """
    return TUPLE_BYTES + places * (INDEX_BYTES + PLACE_BYTES * places)
