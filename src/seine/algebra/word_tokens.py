"""The tokeniser of SEARCH: the words of a text, the same for queries and for data in every process.

A token is a maximal run of letters and digits (`[^\\W_]+` over Unicode), which is then lower-cased. Both
steps are Python's: Arrow's RE2 takes other letters, and its `lower` differs too (final sigma, for one).
"""

from __future__ import annotations

import re

TOKEN = re.compile(r"[^\W_]+")


def tokens_of(text: str) -> list[str]:
    """The tokens of a text in order.

    >>> tokens_of("Kill Bill: Vol_1, ΟΔΟΣ")
    ['kill', 'bill', 'vol', '1', 'οδος']
    """
    return [run.lower() for run in TOKEN.findall(text)]
