"""Date patterns as PostgreSQL, RisingWave and Materialize write them, as Spark's.

    'YYYY-MM-DD HH24:MI:SS'     'yyyy-MM-dd HH:mm:ss'

Spark has no YYYY, DD, HH24 or MI, so where one of these stands no pattern of Spark's can be meant.
"""

from __future__ import annotations

import re

_FIELDS = {
    "YYYY": "yyyy",
    "YY": "yy",
    "MM": "MM",
    "DD": "dd",
    "HH24": "HH",
    "HH12": "hh",
    "HH": "hh",
    "MI": "mm",
    "SS": "ss",
    "MS": "SSS",
    "US": "SSSSSS",
    "AM": "a",
    "PM": "a",
}
_OF_POSTGRES = re.compile("YYYY|DD|HH24|HH12|MI")
_PARTS = re.compile("|".join([*_FIELDS, "[^A-Za-z']"]))


def is_of_postgres(pattern: str) -> bool:
    """Whether a pattern has a field that Spark's patterns do not have.

    >>> is_of_postgres("HH24:MI"), is_of_postgres("HH:mm")
    (True, False)
    """
    return _OF_POSTGRES.search(pattern) is not None


def as_spark_pattern(pattern: str) -> str | None:
    """A pattern of PostgreSQL's as Spark's; None if it has anything else than fields and separators.

    >>> as_spark_pattern("YYYY-MM-DD"), as_spark_pattern("HH24:MI"), as_spark_pattern("HH:mm")
    ('yyyy-MM-dd', 'HH:mm', None)
    """
    parts = _PARTS.findall(pattern)
    return "".join(_FIELDS.get(part, part) for part in parts) if "".join(parts) == pattern else None
