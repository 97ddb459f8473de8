"""The conjunctive queries of templates as SQL on DuckDB: a database engine as yardstick.

R_vj, R_L and R_R are materialised first, as in 6.2 on SQL Server; then one SELECT for each template counts
its R_outT. DuckDB is a development dependency: without it the yardstick is left out.

Cites: MMQJP 6.2
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.template_engines.template_relation import NO_PAIR, TemplateRelation
from benchmarks.template_engines.witness_relations import DocumentBatch
from seine.algebra.arrays import IntArray

_VIEWS = (
    "CREATE OR REPLACE TEMP TABLE r_vj AS SELECT d.docid, d.node, w.docid AS docidw, w.node AS nodew, d.s "
    "FROM r_doc d JOIN r_docw w ON d.s = w.s",
    "CREATE OR REPLACE TEMP TABLE r_l AS SELECT DISTINCT b.*, v.s FROM r_bin b "
    "JOIN r_vj v ON b.docid = v.docid AND b.node2 = v.node",
    "CREATE OR REPLACE TEMP TABLE r_r AS SELECT DISTINCT b.*, v.s FROM r_binw b "
    "JOIN r_vj v ON b.docid = v.docidw AND b.node2 = v.nodew",
)


def is_installed() -> bool:
    """Whether DuckDB can be imported."""
    return importlib.util.find_spec("duckdb") is not None


class DuckdbTemplates:
    """Documents and template relations as tables of a database in memory, with one thread."""

    def __init__(self, relations: Sequence[TemplateRelation]) -> None:
        import duckdb

        self._connection: Any = duckdb.connect(config={"threads": 1})
        self._selects = []
        for number, relation in enumerate(relations):
            columns = {f"p{node}": relation.pairs[:, node] for node in range(relation.template.nodes)}
            self._create(f"r_t{number}", {**columns, "wl": relation.windows})
            self._selects.append(select_text(relation, f"r_t{number}"))

    def load(self, held: DocumentBatch, arriving: DocumentBatch) -> None:
        """Fill R_bin, R_doc and R_docTS with some documents, and R_binW, R_docW and R_docTSW with others."""
        for suffix, batch in (("", held), ("w", arriving)):
            names = ("docid", "pair", "node1", "node2")
            self._create(f"r_bin{suffix}", dict(zip(names, batch.pairs, strict=True)))
            self._create(f"r_doc{suffix}", dict(zip(("docid", "node", "s"), batch.strings, strict=True)))
            documents = np.arange(batch.first, batch.first + len(batch.timestamps))
            self._create(f"r_docts{suffix}", {"docid": documents, "ts": batch.timestamps})

    def match(self) -> tuple[int, float]:
        """How many rows all R_outT have, and the CPU seconds that views and queries took."""
        began = time.process_time()
        for text in _VIEWS:
            self._connection.execute(text)
        rows = sum(self._connection.execute(text).fetchone()[0] for text in self._selects)
        return rows, time.process_time() - began

    def _create(self, name: str, columns: dict[str, IntArray]) -> None:
        self._connection.register("loaded", pa.table(columns))
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM loaded")  # noqa: S608 (our name)
        self._connection.unregister("loaded")


def select_text(relation: TemplateRelation, table: str) -> str:
    """The SQL of CQ_T over R_L and R_R, counted; inner structural edges are those of R_bin."""
    template = relation.template
    lefts = len(template.left)
    sides = ((template.left, 0, "r_l", "r_bin"), (template.right, lefts, "r_r", "r_binw"))
    joined = {node for a, b in template.value_joins for node in (a, b + lefts)}
    tables, conditions = [f"{table} t", "r_docts d1", "r_doctsw d2"], []
    for document, (parents, first, view, plain) in zip(("d1", "d2"), sides, strict=True):
        nodes = {first + node: parent + first if parent >= 0 else None for node, parent in enumerate(parents)}
        uppers = {parent: f"n{node}.node1" for node, parent in nodes.items() if parent is not None}
        for node, parent in nodes.items():
            if relation.pairs[0, node] == NO_PAIR:
                continue
            tables.append(f"{view if node in joined else plain} n{node}")
            conditions += [f"n{node}.docid = {document}.docid", f"n{node}.pair = t.p{node}"]
            conditions += _structure(node, parent, uppers)
    conditions += [f"n{a}.s = n{b + lefts}.s" for a, b in template.value_joins]
    conditions += ["d1.ts < d2.ts", "d2.ts - d1.ts <= t.wl"]
    return f"SELECT count(*) FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"  # noqa: S608 (numbers)


def _structure(node: int, parent: int | None, uppers: dict[int, str]) -> Iterator[str]:
    """A node is where its children say that their parent is, and siblings have one parent."""
    if node in uppers:
        yield f"n{node}.node2 = {uppers[node]}"
    if parent is not None and uppers[parent] != f"n{node}.node1":
        yield f"n{node}.node1 = {uppers[parent]}"
