"""Template relations R_T: a query is a row of the relation of its template.

    R_T(qid, var1, ..., varn, wl)       var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6

    Q1   x1  x2  x3   x4  x5  x6   T1
    Q2   x1  x2  x7   x4  x5  x8   T2
    Q3   x4  x5  x6   x4  x5  x6   T3

Queries with equal rows are one row with several ids. In arrays a row has, for each metavariable, the code
of the pair (variable of its parent, its own variable), which is what the witness relation R_bin is asked
for. A root that is value-joined is asked for as a pair with itself.

Differs: the paper gives a side of one metavariable no structural edge, so its CQ_T would take nodes of any
variable; here such a variable has witnesses too, the pairs of it with itself.

Cites: MMQJP 4.3 (Table 4a)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.packed_keys import PAIR_BITS
from seine.algebra.arrays import IntArray
from seine.document_templates.query_template import JoinGraph, QueryTemplate, TemplateRow, template_row

INFINITE = 1 << 60  # the window of a query without one
NO_PAIR = -1  # of a root that no value join compares


@dataclass(frozen=True)
class TemplateRelation:
    """The queries of one template, as arrays; `queries` are those of row i from `offsets[i]` on."""

    template: QueryTemplate
    variables: tuple[tuple[str, ...], ...]
    pairs: IntArray  # a row for each row, a column for each metavariable
    windows: IntArray
    offsets: IntArray
    queries: IntArray

    @property
    def widest(self) -> int:
        """The widest window: what no query can use is outside it."""
        return int(self.windows.max())

    @property
    def weights(self) -> IntArray:
        """How many queries each row has."""
        return np.diff(self.offsets)

    def single(self, row: int, query: int) -> TemplateRelation:
        """The relation of one query, which is in a given row."""
        return TemplateRelation(
            self.template,
            self.variables[row : row + 1],
            self.pairs[row : row + 1],
            self.windows[row : row + 1],
            np.array([0, 1]),
            np.array([query]),
        )

    def tuples(self) -> list[tuple[object, ...]]:
        """The rows as the paper prints them: id, variables, window."""
        return [
            (int(query), *names, int(window))
            for number, (names, window) in enumerate(zip(self.variables, self.windows, strict=True))
            for query in self.queries[self.offsets[number] : self.offsets[number + 1]]
        ]


class TemplateRelations:
    """Queries by template, as they are registered; and codes of the pairs of variables they need.

    >>> from seine.document_templates.query_template import VariableTree
    >>> item = VariableTree(("item", "url"), (-1, 0))
    >>> relations = TemplateRelations()
    >>> relations.add(7, JoinGraph(item, item, ((1, 1),)), 100)
    >>> [relation.tuples() for relation in relations.compiled()], relations.pair_codes
    ([[(7, 'url', 'url', 100)]], {('url', 'url'): 0})
    """

    def __init__(self, minor: bool = True) -> None:
        self._minor = minor
        self._rows: dict[QueryTemplate, dict[tuple[tuple[str, ...], int], list[int]]] = {}
        self.pair_codes: dict[tuple[str, str], int] = {}

    def add(self, query: int, graph: JoinGraph, window: int | None) -> None:
        """Register a query; a window of None is infinite."""
        self.add_equal([query], graph, window)

    def add_equal(self, queries: Sequence[int], graph: JoinGraph, window: int | None) -> None:
        """Register queries that are equal but for their ids."""
        row = template_row(graph, self._minor)
        key = row.variables, INFINITE if window is None else window
        self._rows.setdefault(row.template, {}).setdefault(key, []).extend(queries)

    def compiled(self) -> list[TemplateRelation]:
        """A relation for each template, in the order of their first queries."""
        return [self._compile(template, rows) for template, rows in self._rows.items()]

    def _compile(
        self, template: QueryTemplate, rows: dict[tuple[tuple[str, ...], int], list[int]]
    ) -> TemplateRelation:
        pairs = [self._pairs(TemplateRow(template, variables)) for variables, _ in rows]
        if len(self.pair_codes) > 1 << PAIR_BITS:
            raise ValueError(f"more than 2**{PAIR_BITS} pairs of variables")
        return TemplateRelation(
            template,
            tuple(variables for variables, _ in rows),
            np.array(pairs, dtype=np.int64),
            np.array([window for _, window in rows], dtype=np.int64),
            np.cumsum([0, *map(len, rows.values())], dtype=np.int64),
            np.array([query for queries in rows.values() for query in queries], dtype=np.int64),
        )

    def _pairs(self, row: TemplateRow) -> list[int]:
        """The code of the pair of each metavariable."""
        template = row.template
        joined_left, joined_right = (set(side) for side in zip(*template.value_joins, strict=True))
        sides = ((row.left, template.left, joined_left), (row.right, template.right, joined_right))
        return [
            self._code(names[parent] if parent >= 0 else name, name)
            if parent >= 0 or node in joined
            else NO_PAIR
            for names, parents, joined in sides
            for node, (name, parent) in enumerate(zip(names, parents, strict=True))
        ]

    def _code(self, parent: str, child: str) -> int:
        return self.pair_codes.setdefault((parent, child), len(self.pair_codes))
