"""Equivalence classes of columns (union-find): the transitive closure of the equalities of a block.

Differs: SAFETY reads its join predicates one by one. S1.A = S2.A and S2.A = S3.A also imply that
S1.A = S3.A, and a punctuation of S3 on A closes a tuple of S1: without it Theorems 1 and 3 are not necessary.
"""

from __future__ import annotations

from collections.abc import Iterable


class ColumnClasses:
    """Classes of equal columns, found by uniting them.

    >>> classes = ColumnClasses([(0, 4), (4, 8), (1, 5)])
    >>> classes.of(8) == classes.of(0), classes.of(1) == classes.of(0), classes.of(7)
    (True, False, 7)
    """

    def __init__(self, equal: Iterable[tuple[int, int]] = ()) -> None:
        self._up: dict[int, int] = {}
        for one, other in equal:
            self._up[self.of(one)] = self.of(other)

    @property
    def shared(self) -> set[int]:
        """The classes with more than one column."""
        return {self.of(column) for column in self._up}

    def of(self, column: int) -> int:
        """The representative of the class of a column."""
        top = column
        while (above := self._up.get(top, top)) != top:
            top = above
        while column != top:
            self._up[column], column = top, self._up.get(column, top)
        return top
