"""The columns of rows between the nodes that join documents.

    operand   what a witness node gives, and a document join takes: a document (or a partial combination) with
              its witnesses, (pattern, hash of a string value), as two lists of equal length
    pair      what a document join gives, and a complete node takes: two operands and the classes of queries
              that may want them
    result    what a complete node gives: a binding with its output document; `tag` says for which form

`arrival` is the epoch of the earliest document, for births of queries; `latest` that of the last, in which a
combination comes to be.
"""

from __future__ import annotations

from seine.algebra.types import BIGINT, JSON, NUMBERS, STRING, Type

# an operand
CONTENT, IDENTITY, ARRIVAL, LATEST, PATTERNS, VALUES = range(6)
OPERAND: tuple[Type, ...] = (STRING, BIGINT, BIGINT, BIGINT, NUMBERS, NUMBERS)

# a pair
(
    PAIR_APART,
    PAIR_ARRIVAL,
    PAIR_LATEST,
    PAIR_LEFT_TIME,
    PAIR_RIGHT_TIME,
    PAIR_CLASSES,
    PAIR_LEFT,
    PAIR_RIGHT,
    PAIR_LEFT_IDENTITY,
    PAIR_RIGHT_IDENTITY,
) = range(10)
PAIR: tuple[Type, ...] = (BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, NUMBERS, STRING, STRING, BIGINT, BIGINT)

# a result
TAG, APART, RESULT_ARRIVAL, RESULT_LATEST, LEFT_TIME, RIGHT_TIME, BINDINGS, DOCUMENT = range(8)


def result_types(time: Type) -> tuple[Type, ...]:
    """The types of a result, with times of this type."""
    return (BIGINT, BIGINT, BIGINT, BIGINT, time, time, JSON, STRING)


def column(position: int) -> str:
    """The name of a column.

    >>> column(CONTENT)
    'c0'
    """
    return f"c{position}"
