"""A tree that a SEARCH reported, read from its record: tuples, their connections, and the terms found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FoundTuple:
    """A tuple of a tree: its table, what a person reads of it, and the terms that it contains."""

    table: str
    text: str
    terms: tuple[str, ...]
    below: tuple[FoundTuple, ...]

    def walk(self, depth: int = 0) -> Iterator[tuple[int, FoundTuple]]:
        """It and what is below it, each with its depth."""
        yield depth, self
        for child in self.below:
            yield from child.walk(depth + 1)


def found_tree(row: Mapping[str, Any]) -> FoundTuple:
    """The tree of a record's row, seen from the end at which its first term is.

    >>> tree = found_tree({"tuples": [{"stream": "film", "row": {"id": 7, "title": "Silent Harbour"}},
    ...                               {"stream": "news", "row": {"headline": "Prize", "film": 7}}],
    ...                    "edges": [[0, 1]], "matches": [["harbour"], ["prize"]]})
    >>> [(depth, one.table, one.text, one.terms) for depth, one in tree.walk()]
    [(0, 'film', 'Silent Harbour', ('harbour',)), (1, 'news', 'Prize', ('prize',))]
    """
    near: dict[int, list[int]] = {number: [] for number in range(len(row["tuples"]))}
    for left, right in row["edges"]:
        near[left].append(right)
        near[right].append(left)

    def seen_from(number: int, parent: int | None) -> FoundTuple:
        shown = row["tuples"][number]
        below = (seen_from(other, number) for other in sorted(near[number]) if other != parent)
        return FoundTuple(shown["stream"], _words(shown["row"]), tuple(row["matches"][number]), tuple(below))

    ends = [number for number, others in near.items() if len(others) <= 1]
    return seen_from(min(ends, key=lambda number: (not row["matches"][number], number)), None)


def _words(row: Mapping[str, Any]) -> str:
    """What a person reads of a tuple: its texts, without its keys and its time."""
    return ", ".join(value for name, value in row.items() if isinstance(value, str) and name != "ts")


def tree_lines(tree: FoundTuple, width: int = 100) -> list[str]:
    """A tree as lines of text, with the terms at the right of the tuples that contain them.

    >>> actor = FoundTuple("person", "Ivo Strand", ("strand",), ())
    >>> for line in tree_lines(FoundTuple("film", "Silent Harbour", ("harbour",), (actor, actor)), 40):
    ...     print(line)
    film  Silent Harbour          <- harbour
    ├─ person  Ivo Strand          <- strand
    └─ person  Ivo Strand          <- strand
    """
    lines = []
    for left, one in _branches(tree, "", ""):
        right = f"<- {', '.join(one.terms)}" if one.terms else ""
        room = max(width - len(right) - 1, 0)
        lines.append(f"{left[:room]:<{room}} {right}".rstrip())
    return lines


def _branches(node: FoundTuple, front: str, below: str) -> Iterator[tuple[str, FoundTuple]]:
    """A tuple and those below it, each with its text behind the lines that lead to it."""
    yield f"{front}{node.table}  {node.text}", node
    for number, child in enumerate(node.below, 1):
        corner, line = ("└─ ", "   ") if number == len(node.below) else ("├─ ", "│  ")
        yield from _branches(child, below + corner, below + line)
