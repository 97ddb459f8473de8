"""The tokens of a column of text, by distinct value: each text is cut once, each token lower-cased once.

column            texts                     tokens           codes of the texts' tokens, end to end
Kill Bill    ─┐   0 Kill Bill     ────>     0 kill           0 1 | 2 1 ..
Bill, a Bill  │   1 Bill, a Bill            1 bill           0 0 | 1 1 1      the text of each
NULL          │                             2 a
Kill Bill    ─┘
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.word_tokens import TOKEN


@dataclass(frozen=True)
class TokenColumn:
    """A column of text in tokens: the text of each row (-1: NULL), and the distinct tokens of all texts.

    `codes` are the tokens of the texts, end to end, as positions in `tokens`; `texts` says whose each is.
    """

    rows: IntArray
    tokens: Sequence[str]
    codes: IntArray
    texts: IntArray

    @staticmethod
    def of(column: pa.Array) -> TokenColumn:
        """The tokens of a column.

        >>> cut = TokenColumn.of(pa.array(["Kill Bill", "Bill, a bill", None, "Kill Bill"]))
        >>> cut.tokens, cut.codes.tolist(), cut.texts.tolist(), cut.rows.tolist()
        (['kill', 'bill', 'a'], [0, 1, 1, 2, 1], [0, 0, 1, 1, 1], [0, 1, -1, 0])
        """
        coded = column.dictionary_encode()
        runs = [TOKEN.findall(text) for text in coded.dictionary.to_pylist()]
        flat = pa.array(chain.from_iterable(runs), pa.string()).dictionary_encode()
        tokens, lowered = _lowered(flat.dictionary.to_pylist())
        return TokenColumn(
            coded.indices.fill_null(-1).to_numpy().astype(np.int64),
            tokens,
            lowered[flat.indices.to_numpy()],
            np.repeat(np.arange(len(runs)), np.fromiter(map(len, runs), np.int64, len(runs))),
        )


def _lowered(runs: Sequence[str]) -> tuple[list[str], IntArray]:
    """The distinct tokens of runs of letters and digits, and which of them each run is."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(run.lower(), len(numbers)) for run in runs]
    return list(numbers), np.array(codes, np.int64)
