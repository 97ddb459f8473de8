"""Personal variants of ten of Nexmark's queries: each asks for its own part of what these report.

Variant i of a thousand has other thresholds, categories, states, remainders and window lengths.
"""

from __future__ import annotations

from importlib.resources import files
from string import Template

from seine.demo.nexmark.events import STATES, query_text

VARIED = ("q1", "q2", "q3", "q7", "q8", "q11", "q12", "q14", "q17", "q20")
OF = 1_000  # parts that the variants of a query share out among them
_CATEGORIES = 5


def ten_queries() -> str:
    """The statements of the ten queries themselves."""
    return "\n".join(map(query_text, VARIED))


def variant_queries(count: int) -> str:
    """The statements of so many variants of each, spread over the thousand.

    >>> variant_queries(2).count("CREATE QUERY")
    20
    """
    text = files("benchmarks.nexmark").joinpath("variants.sql").read_text(encoding="utf-8")
    return substituted(text, count)


def substituted(text: str, count: int) -> str:
    """A template with the constants of each of so many variants, one after the other.

    >>> substituted("$number: $category; ", 2)
    '0: 10; \\n500: 10; '
    """
    template, numbers = Template(text), range(0, OF, -(-OF // count))
    return "\n".join(template.substitute(_constants(number)) for number in numbers)


def _constants(number: int) -> dict[str, object]:
    """What a variant has of its own; equally many prices are in the range of each."""
    low, high = (round(100 * 10 ** (6 * part / OF)) for part in (number, number + 1))
    return {
        "number": number,
        "low": low,
        "high": high,
        "category": 10 + number % _CATEGORIES,
        "part": number // _CATEGORIES,
        "state": STATES[number % len(STATES)],
        "long": 5 + number,
        "clock": "{}:{:02d}".format(*divmod(5 + number, 60)),  # the same in minutes and seconds
        "short": 2 + number % 60,
    }
