"""Expressions over constants with their values in Spark SQL 4, NULL where Spark would fail."""

from __future__ import annotations

from tests.support.expression_makers import Example
from tests.support.further_examples import FURTHER_EXAMPLES
from tests.support.number_examples import NUMBER_EXAMPLES
from tests.support.pattern_examples import PATTERN_EXAMPLES
from tests.support.text_examples import TEXT_EXAMPLES
from tests.support.time_examples import TIME_EXAMPLES

EXAMPLES: list[Example] = [
    *NUMBER_EXAMPLES,
    *TEXT_EXAMPLES,
    *TIME_EXAMPLES,
    *FURTHER_EXAMPLES,
    *PATTERN_EXAMPLES,
]
