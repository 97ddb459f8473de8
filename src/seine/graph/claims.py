"""What a query claims of the network: nodes, rows of parameter tables, columns, tags.

A claim is counted, and can be undone; what nobody claims is freed. As JSON it is a list that starts
with its kind.

>>> import msgspec
>>> msgspec.json.encode([NodeClaim(3), ColumnsClaim(4, (0, 2))])
b'[["node",3],["columns",4,[0,2]]]'
>>> msgspec.json.decode(b'["row",5,1]', type=Claim)
RowClaim(table=5, number=1)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from msgspec import Struct


class NodeClaim(Struct, frozen=True, array_like=True, tag="node", gc=False):
    """A node stays as long as a query uses it."""

    node: int


class RowClaim(Struct, frozen=True, array_like=True, tag="row", gc=False):
    """A row of constants stays in a parameter table."""

    table: int
    number: int


class ColumnsClaim(Struct, frozen=True, array_like=True, tag="columns"):
    """A join or lookup has to give these columns."""

    node: int
    positions: tuple[int, ...]


class TagClaim(Struct, frozen=True, array_like=True, tag="tag", gc=False):
    """A tag goes on to stand for the rows of one set of constants."""

    tag: int


class TagIdentity(NamedTuple):
    """What a tag stands for: the constants, as text, of each input of a node."""

    node: int
    constants: tuple[tuple[str, ...], ...]


Claim: TypeAlias = NodeClaim | RowClaim | ColumnsClaim | TagClaim


def claimed_nodes(claims: Iterable[Claim]) -> Iterator[int]:
    """The ids of the nodes among claims, once for each claim, in order."""
    return (claim.node for claim in claims if isinstance(claim, NodeClaim))
