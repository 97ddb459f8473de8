"""The relational schema of the computation index.

Four layers. A **literal** (an atom) is a key on a line, the ordered key space of one term and side of
comparison. A **clause** is one literal, or a disjunction of several (its alternatives). A **predicate set**
is a conjunction of clauses, stored as a trie: a set is its parent and one clause more, so sets that begin
alike share a prefix, and under each set the next clauses are ordered by line and key. The **topology**
(operator, inputs, keys) is the root of a trie. Ids are digests of content: equal things are one row.

`term_id` (the line) and `key` are repeated in each table of which a b-tree has to answer range scans.

Cites: ARGUS 5.1.5 (relational model for indexing)
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from seine.catalog.tables.schema import Id, metadata


def _id(
    name: str = "id",
    *,
    of: str | None = None,
    primary_key: bool = False,
    nullable: bool | None = None,
    index: bool | None = None,
) -> Column[bytes]:
    reference = [ForeignKey(f"seine_index_{of}.id")] if of else []
    nullable = not primary_key if nullable is None else nullable
    return Column(name, LargeBinary(16), *reference, primary_key=primary_key, nullable=nullable, index=index)


topology = Table(
    "seine_index_topology",
    metadata,
    _id(primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("inputs", Text, nullable=False),  # JSON
    Column("keys", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

# The lines. `base` is the same for all lines of one term over one topology.
term = Table(
    "seine_index_term",
    metadata,
    _id(primary_key=True),
    _id("topology_id", of="topology", nullable=False, index=True),
    _id("base", nullable=False, index=True),
    Column("side", String(32), nullable=False),
    Column("term", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

literal = Table(
    "seine_index_literal",
    metadata,
    _id(primary_key=True),
    _id("term_id", of="term", nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("op", String(16), nullable=False),
    Column("constant", Text),  # JSON
    sqlite_with_rowid=False,
)
Index("ix_seine_index_literal_term_id_key", literal.c.term_id, literal.c.key)

clause = Table(
    "seine_index_clause",
    metadata,
    _id(primary_key=True),
    Column("size", Integer, nullable=False),
    sqlite_with_rowid=False,
)

# `term_id` and `key` are those of the literal if the clause is a disjunction, else NULL.
alternative = Table(
    "seine_index_alternative",
    metadata,
    _id("clause_id", of="clause", primary_key=True),
    _id("literal_id", of="literal", primary_key=True, index=True),
    _id("term_id"),
    Column("key", LargeBinary),
    sqlite_with_rowid=False,
)
Index("ix_seine_index_alternative_term_id_key", alternative.c.term_id, alternative.c.key)

# The root of a topology has no clause and no parent; only it names the topology.
predicate_set = Table(
    "seine_index_predicate_set",
    metadata,
    _id(primary_key=True),
    _id("topology_id", of="topology", index=True),
    _id("parent_id", of="predicate_set"),
    _id("clause_id", of="clause", index=True),
    _id("term_id"),
    Column("key", LargeBinary),
    sqlite_with_rowid=False,
)
Index(
    "ix_seine_index_predicate_set_parent_id_term_id_key",
    predicate_set.c.parent_id,
    predicate_set.c.term_id,
    predicate_set.c.key,
)

# All clauses of the sets that at least one query has.
set_clause = Table(
    "seine_index_set_clause",
    metadata,
    _id("set_id", of="predicate_set", primary_key=True),
    _id("clause_id", primary_key=True),
    _id("term_id", of="term", nullable=False),
    Column("key", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
Index("ix_seine_index_set_clause_term_id_key", set_clause.c.term_id, set_clause.c.key)

entry = Table(
    "seine_index_entry",
    metadata,
    _id("set_id", of="predicate_set", primary_key=True),
    Column("query_id", Id, ForeignKey("seine_query.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("layer", String(16), primary_key=True),
    sqlite_with_rowid=False,
)
