"""The words of a column of text, by distinct value: each text is cut once, each word folded once.

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
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.word_tokens import cut_words
from seine.rows.text_buffers import text_bytes, text_offsets


@dataclass(frozen=True)
class TokenColumn:
    """A column of text in tokens: the text of each row (-1: NULL), and the distinct tokens of all texts.

    `codes` are the tokens of the texts, end to end, as positions in `tokens`; `texts` says whose each is.
    Law: the tokens of a text are its `words_of`.
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
        rows = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
        texts = coded.dictionary
        plain = pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)
        if plain.all():
            words = _plain_words(texts)
            return TokenColumn(rows, words.distinct, words.codes, words.texts)
        both = _plain_words(texts.filter(pa.array(plain))), _words(texts.filter(pa.array(~plain)).to_pylist())
        places = np.flatnonzero(plain), np.flatnonzero(~plain)
        owners = np.concatenate([place[words.texts] for place, words in zip(places, both, strict=True)])
        tokens = _numbers(both[0].distinct + both[1].distinct)
        codes = np.concatenate([_numbered(tokens, words.distinct)[words.codes] for words in both])
        order = np.argsort(owners, kind="stable")
        return TokenColumn(rows, list(tokens), codes[order], owners[order])


class _Words(NamedTuple):
    """The words of texts, end to end: which of the distinct ones each is, and the number of its text."""

    distinct: list[str]
    codes: IntArray
    texts: IntArray


def _words(texts: Sequence[str]) -> _Words:
    runs = [cut_words(text) for text in texts]
    flat = pa.array(chain.from_iterable(runs), pa.string()).dictionary_encode()
    folded = [run.casefold() for run in flat.dictionary.to_pylist()]
    tokens = _numbers(folded)
    owners = np.repeat(np.arange(len(runs)), np.fromiter(map(len, runs), np.int64, len(runs)))
    return _Words(list(tokens), _numbered(tokens, folded)[flat.indices.to_numpy()], owners)


_LOWERED = np.array([ord(chr(byte).lower()) if chr(byte).isalnum() else 0 for byte in range(128)], np.uint8)


def _plain_words(texts: pa.Array) -> _Words:
    """Law: the same as `_words`, for texts of ASCII without NULLs; all bytes are looked at at once."""
    lowered = _LOWERED[np.frombuffer(text_bytes(texts), np.uint8)]
    inside = lowered > 0
    offsets = text_offsets(texts) if len(texts) else np.zeros(1, np.int64)
    offsets = offsets - offsets[0]
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    first = offsets[offsets < len(inside)]  # of each text that is not empty
    begins[first] = inside[first]
    starts = np.flatnonzero(begins)
    lengths = np.add.reduceat(inside, starts, dtype=np.int64) if len(starts) else np.zeros(0, np.int64)
    places = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    words = pa.StringArray.from_buffers(len(starts), pa.py_buffer(places), pa.py_buffer(lowered[inside]))
    coded = words.dictionary_encode()
    owners = np.searchsorted(offsets, starts, "right") - 1
    return _Words(coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64), owners)


def _numbers(tokens: Sequence[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def _numbered(numbers: dict[str, int], tokens: Sequence[str]) -> IntArray:
    return np.fromiter(map(numbers.__getitem__, tokens), np.int64, len(tokens))
