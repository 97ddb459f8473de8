"""The memo of the network: nodes by signature, parameter tables and tags, each kept while it is claimed.

A query claims everything it uses, and every claim can be undone: so a refused query leaves no
trace, and a dropped one frees what nobody else uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from seine.algebra.expressions import Expression, Literal
from seine.graph.node import Filter, Node
from seine.graph.parameter_table import ParameterTable
from seine.graph.snapshot import Claim, ColumnsClaim, NodeClaim, RowClaim, TagClaim, TagIdentity
from seine.operators.match.prefilter import PrefilterNode

NO_TABLE = 0  # tables are numbered from 1
AnyNode = TypeVar("AnyNode", bound=Node)


class NotStandingError(Exception):
    """A query that may use only what stands needs something that does not."""


class NodeMemo:
    """All nodes, tables and tags, the queries that claim them, and what changed since the last commit.

    What "stands" is in the network now. The `identity` of a node is its signature (`Node.signature`).
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.tables: dict[int, ParameterTable] = {}
        self.users: dict[int, dict[str, int]] = {}
        self.tags: dict[int, tuple[TagIdentity, Counter[str]]] = {}
        self.next_id = 1  # of nodes, tables and tags alike
        self.touched_nodes: set[int] = set()
        self.touched_rows: set[tuple[int, int]] = set()
        self.touched_tables: set[int] = set()
        self.touched_tags: set[int] = set()
        self._first_new = 1
        self.closed = False  # whether a query builds that may use only what stands, and deliver it
        self._building = False
        self._before: dict[int, Node] = {}  # what a query that is building has changed
        self._owner: dict[int, int] = {}  # the node of a table
        self._part_tables: dict[Hashable, int] = {}  # the tables of a node's filters and forms
        self._parts: dict[int, Hashable] = {}
        self._index: dict[Hashable, int] = {}
        self._tag_of: dict[TagIdentity, int] = {}
        self._families: dict[Hashable, dict[int, Any]] = {}
        self._stages: Counter[int] = Counter()
        self._needed: dict[int, Counter[int]] = {}

    # ---- finding

    def find(self, identity: Hashable) -> Node | None:
        """The node with this signature, if there is one."""
        number = self._index.get(identity)
        return None if number is None else self.nodes[number]

    def family(self, key: Hashable) -> list[tuple[Node, Any]]:
        """The nodes of a family (see `Node.family`), and what tells them apart."""
        return [(self.nodes[i], compared) for i, compared in self._families.get(key, {}).items()]

    def find_tag(self, identity: TagIdentity) -> int | None:
        """The tag of the rows that this identity stands for, if somebody claims it."""
        return self._tag_of.get(identity)

    def claimers(self, tag: int) -> set[str]:
        """The queries that claim a tag."""
        return {*self.tags[tag][1]}

    @property
    def depth(self) -> int:
        """The highest stage."""
        return max(self._stages, default=0)

    def beneath_prefilter(self, node: Node, port: int) -> int:
        """The node whose rows arrive at a port, prefilters apart."""
        below = self.nodes[node.ports[port].node]
        return below.ports[0].node if isinstance(below, PrefilterNode) else below.id

    # ---- building

    def insert(self, candidate: AnyNode, identity: Hashable | None) -> AnyNode:
        """A new node; without an identity nobody finds it."""
        if self.closed and not candidate.is_delivery:
            raise NotStandingError(f"a {candidate.kind}")
        node = replace(candidate, id=self.take_id())
        self._put(node)
        if identity is not None:
            self._index[identity] = node.id
        return node

    def take_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def add_table(self, node: int, constants: Sequence[Literal]) -> int:
        """A new table for a node, with columns of the types of these constants."""
        number = self.take_id()
        self.tables[number] = ParameterTable([literal.type for literal in constants])
        self._owner[number] = node
        self.touched_tables.add(number)
        return number

    def connect(self, node: AnyNode, **changes: Any) -> AnyNode:
        """The same node with other parameters."""
        return self._set(node, replace(node, **changes))

    # ---- claims

    def claim_node(self, node: int, query: str) -> NodeClaim:
        users = self.users[node]
        users[query] = users.get(query, 0) + 1
        return NodeClaim(node)

    def claim_row(self, table: int, constants: Sequence[Literal], query: str) -> RowClaim:
        number = self.tables[table].claim(constants, query)
        self.touched_rows.add((table, number))
        return RowClaim(table, number)

    def claim_filter(
        self, node: int, shape: Expression | None, constants: Sequence[Literal], query: str
    ) -> RowClaim:
        """A row of the filter of this shape, which a prefilter, lookup or join gets if it has none."""
        return self.claim_part(node, Filter(shape, NO_TABLE), constants, query)

    def claim_part(self, node: int, part: Any, constants: Sequence[Literal], query: str) -> RowClaim:
        """A row of the table of this part (see `Node.parts`), which a node gets if it has none like it."""
        identity = _without_table(part)
        table = self._part_tables.get((node, identity))
        if table is None:
            table = self.add_table(node, constants)
            self._enter_part(node, identity, table)
            standing = self.nodes[node]
            self._set(standing, standing.with_parts((*standing.parts, replace(part, table=table))))
        return self.claim_row(table, constants, query)

    def claim_columns(self, node: int, positions: tuple[int, ...]) -> ColumnsClaim:
        """Columns that a join or lookup has to give."""
        needed = self._needed.setdefault(node, Counter())
        more = any(needed[position] <= 0 for position in positions)
        needed.update(positions)
        if more:
            self._set_out(node)
        return ColumnsClaim(node, positions)

    def claim_tag(self, identity: TagIdentity, query: str) -> TagClaim:
        """The tag of the rows that this identity stands for."""
        tag = self._tag_of.get(identity)
        if tag is None and self.closed:
            raise NotStandingError("a tag")
        if tag is None:
            tag = self._tag_of[identity] = self.take_id()
            self.tags[tag] = (identity, Counter())
            self.touched_tags.add(tag)
        self.tags[tag][1][query] += 1
        return TagClaim(tag)

    def release(self, claims: Sequence[Claim], query: str) -> list[Node]:
        """Undo the claims of a query; returns the nodes that are gone with them."""
        freed: list[Node] = []
        for claim in reversed(claims):
            match claim:
                case NodeClaim(node):
                    freed += self._release_node(node, query)
                case RowClaim(table, number):
                    self._release_row(table, number, query)
                case ColumnsClaim(node, positions):
                    self._needed[node].subtract(positions)
                    self._set_out(node)
                case TagClaim(tag):
                    self._release_tag(tag, query)
        return freed

    # ---- saving

    def begin(self) -> None:
        """A query begins to build; what it changes is remembered."""
        self._building = True

    def end(self) -> None:
        """It has built, or been undone."""
        self._building = False
        self._before.clear()

    def is_new(self, node: int) -> bool:
        """Whether a node was built after the last commit: it has never run."""
        return node >= self._first_new

    def forget_changes(self) -> None:
        """Start to record changes anew, after a commit."""
        self._first_new = self.next_id
        for touched in (self.touched_nodes, self.touched_tables, self.touched_rows, self.touched_tags):
            touched.clear()

    def restore(
        self,
        nodes: Mapping[int, Node],
        tables: Mapping[int, ParameterTable],
        tags: Mapping[int, TagIdentity],
        queries: Mapping[str, Sequence[Claim]],
    ) -> None:
        """Restore nodes, tables and tags, and the claims of every query."""
        self.nodes.update(nodes)
        self.tables.update(tables)
        self.users.update({i: {} for i in nodes})
        self._owner = {table: node.id for node in nodes.values() for table in node.tables}
        self.tags.update({tag: (identity, Counter()) for tag, identity in tags.items()})
        self._tag_of.update({identity: tag for tag, identity in tags.items()})
        for query, claims in queries.items():
            for claim in claims:
                match claim:
                    case NodeClaim(i):
                        self.claim_node(i, query)
                    case ColumnsClaim(i, positions):
                        self._needed.setdefault(i, Counter()).update(positions)
                    case TagClaim(tag):
                        self.tags[tag][1][query] += 1
        for node in nodes.values():
            for part in node.parts:
                self._enter_part(node.id, _without_table(part), part.table)
            identity = node.signature(self)
            if identity is not None:
                self._index[identity] = node.id
            self._enter(node)

    def without(self, query: str, first: int, queries: Mapping[str, Sequence[Claim]]) -> NodeMemo:
        """The site as it was when a query began to build, wherever that stopped; `first` was the next id.

        This looks at everything that stands.
        """
        before = NodeMemo()
        nodes = {i: self._before.get(i, node) for i, node in self.nodes.items() if i < first}
        tables = {i: table for i, table in self.tables.items() if i < first}
        for table in tables.values():
            table.forget(query)
        tags = {tag: identity for tag, (identity, _) in self.tags.items() if tag < first}
        before.restore(nodes, tables, tags, queries)
        before.next_id, before._first_new = first, self._first_new
        before.touched_nodes = {i for i in self.touched_nodes if i < first}
        before.touched_tables = {i for i in self.touched_tables if i < first}
        before.touched_tags = {i for i in self.touched_tags if i < first}
        before.touched_rows = {(table, row) for table, row in self.touched_rows if table < first}
        return before

    # ---- inside

    def _put(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.users[node.id] = {}
        self.touched_nodes.add(node.id)
        self._enter(node)

    def _enter(self, node: Node) -> None:
        """Note what can be found other than by its signature."""
        self._stages[node.stage] += 1
        family = node.family(self)
        if family is not None:
            self._families.setdefault(family.key, {})[node.id] = family.compared

    def _leave(self, node: Node) -> None:
        self._stages[node.stage] -= 1
        if not self._stages[node.stage]:
            del self._stages[node.stage]
        family = node.family(self)
        if family is not None:
            _discard(self._families, family.key, node.id)

    def _set(self, node: Node, changed: AnyNode) -> AnyNode:
        """Replace a node by a changed one with the same id."""
        if self._building:
            self._before.setdefault(node.id, node)
        self.nodes[node.id] = changed
        self.touched_nodes.add(node.id)
        return changed

    def _set_out(self, node: int) -> None:
        standing = self.nodes[node]
        out = tuple(sorted(+self._needed[node]))
        if out != standing.out:
            self.connect(standing, out=out)

    def _release_node(self, node: int, query: str) -> list[Node]:
        users = self.users[node]
        users[query] -= 1
        if not users[query]:
            del users[query]
        if users:
            return []
        gone = self.nodes[node]
        identity = gone.signature(self)
        if identity is not None:
            del self._index[identity]
        self._leave(gone)
        for table in gone.tables:
            self._remove_table(table)
        del self.nodes[node], self.users[node]
        self._needed.pop(node, None)
        self.touched_nodes.add(node)
        return [gone]

    def _release_row(self, table: int, number: int, query: str) -> None:
        standing = self.tables[table]
        standing.release(number, query)
        self.touched_rows.add((table, number))
        node = self.nodes[self._owner[table]]
        if standing:
            return
        kept = [part for part in node.parts if part.table != table]
        if len(kept) < len(node.parts):
            self._remove_table(table)
            self._set(node, node.with_parts(kept))

    def _enter_part(self, node: int, part: Hashable, table: int) -> None:
        self._part_tables[node, part] = table
        self._parts[table] = (node, part)

    def _remove_table(self, table: int) -> None:
        del self.tables[table], self._owner[table]
        if table in self._parts:
            del self._part_tables[self._parts.pop(table)]
        self.touched_tables.add(table)

    def _release_tag(self, tag: int, query: str) -> None:
        identity, claims = self.tags[tag]
        claims[query] -= 1
        if not claims[query]:
            del claims[query]
        if not claims:
            del self.tags[tag], self._tag_of[identity]
            self.touched_tags.add(tag)


def tag_identity(node: int, constants: Sequence[Sequence[Literal]]) -> TagIdentity:
    """What a tag of a pipeline breaker stands for: the constants of each of its inputs."""
    return TagIdentity(node, tuple(tuple(map(str, given)) for given in constants))


def _without_table(part: Any) -> Hashable:
    """What a part is like, whichever its table."""
    like: Hashable = part if part.table == NO_TABLE else replace(part, table=NO_TABLE)
    return like


def _discard(index: dict[Any, dict[int, Any]], key: Hashable, node: int) -> None:
    del index[key][node]
    if not index[key]:
        del index[key]
