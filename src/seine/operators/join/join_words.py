"""Descriptions in EXPLAIN that joins of two inputs have in common."""

from __future__ import annotations

from seine.algebra.expressions import Expression, columns_of, shift_columns
from seine.graph.node import Node
from seine.graph.node_words import BoxContent, NodeWords

Key = tuple[Expression, ...]


def describe_equalities(node: Node, keys: tuple[Key, Key], width: int, words: NodeWords) -> str:
    """The inputs of a join and the equalities of its keys; the right row begins at column `width`."""
    names = words.names(node.id)
    parts = [
        f"{words.plain(one, names)} = {words.plain(shifted(other, width), names)}"
        for one, other in zip(*keys, strict=True)
    ]
    return f"{words.legend(node.id)} on {' AND '.join(parts) or 'every pair'}"


def shifted(expression: Expression, by: int) -> Expression:
    """An expression over a row that begins so many columns later."""
    return shift_columns(expression, lambda index: index + by)


def sides_read(part: Expression, width: int) -> int:
    """0 if it reads the left row alone, 1 the right, 2 both; the right row begins at column `width`."""
    sides = {index < width for index in columns_of(part)}
    return len(sides) if False in sides else 0


def split_join_text(text: str) -> tuple[str, str]:
    """The inputs and the keys in the description of a join."""
    legend, _, keys = text.partition(" on ")
    return legend, keys


def join_box_lines(box: BoxContent) -> tuple[str, str]:
    """In the box of a join: its keys, and what else passes; of a pile, its inputs."""
    legend, keys = split_join_text(box.text)
    return (legend, "") if box.is_pile else (keys, box.details[0] if box.details else "")
