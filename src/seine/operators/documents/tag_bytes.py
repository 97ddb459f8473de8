"""For which tags, and so for whom, a shared node of documents emits bytes.

tag 25 (q4)    900,000,000 bytes          over the budget: q4 fails, the others go on
tag 31 (q5)         12,000 bytes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from seine.graph.parameter_table import ParameterTable


class TagBytes:
    """The bytes of each tag in one task; the tags are constants of one column of a table."""

    def __init__(self, table: ParameterTable, column: int) -> None:
        self._table, self._column = table, column
        self._sizes: Counter[int] = Counter()

    def add(self, sizes: Mapping[int, int]) -> None:
        """The node is about to emit so much for each of some tags; what serves several counts for each."""
        self._sizes.update(sizes)

    def heaviest(self) -> tuple[str, ...]:
        """The queries of the tags that have at least half as much as the one that has most."""
        most = max(self._sizes.values())
        return owners_of(
            self._table, self._column, {tag for tag, size in self._sizes.items() if 2 * size >= most}
        )


def owners_of(table: ParameterTable, column: int, tags: set[int]) -> tuple[str, ...]:
    """The queries with a row that has one of some tags in a column, by name."""
    rows = (number for number, row in table.rows.items() if row[column] in tags)
    return tuple(sorted({query for number in rows for query in table.claims[number]}))
