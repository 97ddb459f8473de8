"""The relational schema of the catalog, on SQLite.

Names are unbounded text, so uniqueness is on `key`, a digest of the name in lower case: two
names that differ only in case clash, and a name of any length fits an index.

A row of `node` says what a node is from the network version `added` on, and goes when the node does: the rows
are those of the network, however many versions there were. They follow the network in a while; the setting
`nodes` has the version that they show.

Cites: ARGUS 5.1.4 (topology connections: DPredSet, SVOA, JVOA), 5.1.5 (relational model for indexing)
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 4

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

Id = Integer()  # SQLite numbers rows by itself only when the column is INTEGER


def _part_of(column: str, *, name: str, primary_key: bool = True) -> Column[int]:
    """A foreign key to the owning row; deleting that row deletes this one."""
    return Column(name, Id, ForeignKey(column, ondelete="CASCADE"), primary_key=primary_key, nullable=False)


setting = Table(
    "seine_setting",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("value", Text, nullable=False),  # JSON
)

# Streams and relations share one space of names: either may stand in FROM.
input_ = Table(
    "seine_input",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("kind", String(8), CheckConstraint("kind IN ('stream', 'relation')", name="kind"), nullable=False),
    Column("source_path", Text),
    Column("source_format", String(16)),
    Column("source_options", Text),  # JSON: pairs in the order written
)

column = Table(
    "seine_column",
    metadata,
    _part_of("seine_input.id", name="input_id"),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", String(32), nullable=False),
)


def _column_of(owner: str, position: str, *, part: bool = True) -> ForeignKeyConstraint:
    """A foreign key to a declared column: cascading if `part` of the same declaration, else protecting it."""
    return ForeignKeyConstraint(
        [owner, position],
        ["seine_column.input_id", "seine_column.position"],
        ondelete="CASCADE" if part else None,
    )


stream = Table(
    "seine_stream",
    metadata,
    _part_of("seine_input.id", name="input_id"),
    Column("time_column", Integer, nullable=False),
    Column("life", BigInteger, CheckConstraint("life >= 0", name="life")),
    Column("lateness", BigInteger, CheckConstraint("lateness >= 0", name="lateness"), nullable=False),
    Column("retractable", Boolean, nullable=False),
    Column("importance_column", Integer),
    _column_of("input_id", "time_column"),
    _column_of("input_id", "importance_column"),
)

scheme = Table(
    "seine_scheme",
    metadata,
    _part_of("seine_stream.input_id", name="stream_id"),
    Column("number", Integer, primary_key=True),
    Column("lifespan", BigInteger),
    Column("unique_key", Boolean, nullable=False),
    Column("timeout", BigInteger),
    Column("reused", Boolean, nullable=False),
)

scheme_column = Table(
    "seine_scheme_column",
    metadata,
    Column("stream_id", Id, primary_key=True),
    Column("scheme", Integer, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("position", Integer, nullable=False),
    _column_of("stream_id", "position"),
    ForeignKeyConstraint(
        ["stream_id", "scheme"], ["seine_scheme.stream_id", "seine_scheme.number"], ondelete="CASCADE"
    ),
)

relation = Table(
    "seine_relation",
    metadata,
    _part_of("seine_input.id", name="input_id"),
    Column("valid_from", Integer),
    Column("valid_to", Integer),
    CheckConstraint("(valid_from IS NULL) = (valid_to IS NULL)", name="valid"),
    _column_of("input_id", "valid_from"),
    _column_of("input_id", "valid_to"),
)

# `key` is the same for a = b and b = a.
join_edge = Table(
    "seine_join_edge",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("left_id", Id, nullable=False, index=True),
    Column("left_column", Integer, nullable=False),
    Column("right_id", Id, nullable=False, index=True),
    Column("right_column", Integer, nullable=False),
    _column_of("left_id", "left_column", part=False),
    _column_of("right_id", "right_column", part=False),
)

query = Table(
    "seine_query",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("options", Text, nullable=False),  # JSON
    Column("plan", Text, nullable=False),  # JSON
    Column("born", BigInteger, nullable=False),  # the birth epoch: tuples that arrive in it or later count
    Column("position", Text, nullable=False),  # JSON: entry and arrivals at that epoch; empty: the first
    Column("paused", Boolean, nullable=False),
)

# Whose a query is; a table of its own, so that a catalog from before there were owners gets it when opened.
query_owner = Table(
    "seine_query_owner",
    metadata,
    _part_of("seine_query.id", name="query_id"),
    Column("owner", Text, nullable=False),
)

# What a query reads cannot be dropped before it: no cascade from the input's side.
query_input = Table(
    "seine_query_input",
    metadata,
    _part_of("seine_query.id", name="query_id"),
    Column("input_id", Id, ForeignKey("seine_input.id"), primary_key=True, index=True),
)

# Where the records of queries go; `start` is the length of the results when it was created.
sink = Table(
    "seine_sink",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("identity", String(32), nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("target", Text, nullable=False),
    Column("format", String(16), nullable=False),
    Column("options", Text, nullable=False),  # JSON: pairs in the order written
)

sink_query = Table(
    "seine_sink_query",
    metadata,
    _part_of("seine_sink.id", name="sink_id"),
    Column("place", Integer, primary_key=True),
    Column("query_id", Id, ForeignKey("seine_query.id"), nullable=False, index=True),
)

network_version = Table(
    "seine_network_version",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
)

node = Table(
    "seine_node",
    metadata,
    Column("row", Id, primary_key=True),
    Column("id", BigInteger, nullable=False),
    Column("added", BigInteger, ForeignKey("seine_network_version.version"), nullable=False, index=True),
    Column("removed", BigInteger, ForeignKey("seine_network_version.version")),  # always NULL: the row goes
    Column("kind", String(32), nullable=False),
    Column("stage", Integer, nullable=False),
    Column("signature", String(64), nullable=False, index=True),
    Column("form", Text, nullable=False),  # JSON
    UniqueConstraint("id", "added"),
    CheckConstraint("removed > added", name="life"),
)
Index("ix_seine_node_kind_stage", node.c.kind, node.c.stage)

node_input = Table(
    "seine_node_input",
    metadata,
    _part_of("seine_node.row", name="node_row"),
    Column("port", Integer, primary_key=True),
    Column("input_id", BigInteger, nullable=False, index=True),
)

node_user = Table(
    "seine_node_user",
    metadata,
    Column("node_id", BigInteger, primary_key=True, autoincrement=False),
    Column("query_id", Id, ForeignKey("seine_query.id", ondelete="CASCADE"), primary_key=True, index=True),
)

# What a running node asks of the rows of its direct inputs (DPredSet), constants as ?n; any one suffices.
node_predicate = Table(
    "seine_node_predicate",
    metadata,
    Column("node_id", BigInteger, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True),
    Column("shape", Text, nullable=False),
)

# 'selection': the closest ancestor that is no selection, itself if it is none (SVOA); 'join': those of the
# inputs of that one (JVOA). So no search follows chains of selections.
node_ancestor = Table(
    "seine_node_ancestor",
    metadata,
    Column("node_id", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "role", String(9), CheckConstraint("role IN ('selection', 'join')", name="role"), primary_key=True
    ),
    Column("place", Integer, primary_key=True),
    Column("ancestor_id", BigInteger, nullable=False, index=True),
)
