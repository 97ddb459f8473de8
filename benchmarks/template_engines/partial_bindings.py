"""Partial results of a conjunctive query: rows of R_T, and what their metavariables are bound to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import IntArray


@dataclass(frozen=True)
class PartialBindings:
    """Columns: a row of R_T, both documents, and by metavariable the bound nodes and their strings."""

    row: IntArray
    left: IntArray
    right: IntArray
    nodes: dict[int, IntArray]
    strings: dict[int, IntArray]

    def __len__(self) -> int:
        return len(self.row)

    def take(self, places: IntArray) -> PartialBindings:
        """The results at some places."""
        return PartialBindings(
            self.row[places],
            self.left[places],
            self.right[places],
            {node: column[places] for node, column in self.nodes.items()},
            {node: column[places] for node, column in self.strings.items()},
        )

    def bind(self, node: int, bound: IntArray, strings: IntArray | None = None) -> PartialBindings:
        """The results with one more metavariable bound, and its strings if they are known."""
        known = self.strings if strings is None else {**self.strings, node: strings}
        return PartialBindings(self.row, self.left, self.right, {**self.nodes, node: bound}, known)


def concatenate(pieces: list[PartialBindings]) -> PartialBindings:
    """All results of several pieces, of which there is at least one."""
    first = pieces[0]
    return PartialBindings(
        np.concatenate([piece.row for piece in pieces]),
        np.concatenate([piece.left for piece in pieces]),
        np.concatenate([piece.right for piece in pieces]),
        {node: np.concatenate([piece.nodes[node] for piece in pieces]) for node in first.nodes},
        {node: np.concatenate([piece.strings[node] for piece in pieces]) for node in first.strings},
    )
