"""Which terms of very many keyword queries the tuples of one table contain.

    lexicons = TermLexicons(alternatives by term number)                  once, for the tables of all streams
    matcher = TermMatcher(lexicons, names of the columns, their types)    for each of these
    lengths, numbers = matcher.matches(columns, rows)

Law: `matches` gives a term of a row iff one of its alternatives holds in a STRING column of the row:
consecutive tokens, or the beginning of a token, in any column or in the one that it names.

The cost is that of the distinct tokens of a batch and of what matches, whatever the number of terms is: words
and beginnings are keys of dictionaries, and phrases are followed word by word, all positions at once.

    "kill bill", "kill bill vol"      position     kill    bill    vol    1
                                      1 word       kill*   -       -      -       * is how a phrase begins
                                      2 words      kill bill* !                   ! is a phrase
                                      3 words      kill bill vol !

The words of a column of text, by distinct value: each text is cut once, each word folded once.

column            texts                     tokens           codes of the texts' tokens, end to end
Kill Bill    ─┐   0 Kill Bill     ────>     0 kill           0 1 | 2 1 ..
Bill, a Bill  │   1 Bill, a Bill            1 bill           0 0 | 1 1 1      the text of each
NULL          │                             2 a
Kill Bill    ─┘
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.search_plan import Alternative, cut_words
from seine.algebra.types import STRING, Type
from seine.rows.column_arrays import text_bytes, text_offsets

Pairs = tuple[IntArray, IntArray]  # texts or rows, and a term of each


class TermLexicons:
    """Terms by number, as they are looked up: those that count in any column, and those of named columns."""

    def __init__(self, terms: Mapping[int, Iterable[Alternative]]) -> None:
        self._by_column: dict[str | None, _Lexicon] = {}
        for number, alternatives in terms.items():
            for one in alternatives:
                self._by_column.setdefault(one.column, _Lexicon()).add(number, one)

    def of(self, column: str) -> list[_Lexicon]:
        """What is looked up in a column of this name."""
        return [self._by_column[name] for name in (None, column) if name in self._by_column]


class TermMatcher:
    """Terms matched against tuples with these columns; see the module."""

    def __init__(self, lexicons: TermLexicons, names: Sequence[str], types: Sequence[Type]) -> None:
        self._lexicons = {i: lexicons.of(name) for i, name in enumerate(names) if types[i] == STRING}

    def matches(self, columns: Sequence[pa.Array], rows: int) -> tuple[IntArray, IntArray]:
        """For each row how many terms it contains, and the numbers of these, ascending, row by row."""
        pairs = [
            pair
            for i, lexicons in self._lexicons.items()
            if lexicons
            for pair in _matched(TokenColumn.of(columns[i]), lexicons)
        ]
        row, term = _distinct(pairs)
        return np.bincount(row, minlength=rows), term


def _matched(column: TokenColumn, lexicons: Sequence[_Lexicon]) -> Iterable[Pairs]:
    """The rows of a column and the terms that its texts contain."""
    for lexicon in lexicons:
        text, term = _distinct([lexicon.single_words(column), *lexicon.phrases_in(column)])
        if len(text):
            yield _spread(column.rows, text, term)


def _spread(rows: IntArray, text: IntArray, term: IntArray) -> Pairs:
    """The terms of texts, which ascend, as those of the rows that have these texts."""
    first = np.searchsorted(text, rows, "left")
    counts = np.where(rows < 0, 0, np.searchsorted(text, rows, "right") - first)
    return np.repeat(np.arange(len(rows)), counts), term[_ranges(first, counts)]


def _ranges(first: IntArray, counts: IntArray) -> IntArray:
    """first, first + 1, ... of each, `counts` long, end to end."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    positions: IntArray = np.arange(total) + np.repeat(first - (ends - counts), counts)
    return positions


def _distinct(pairs: Sequence[Pairs]) -> Pairs:
    """Distinct pairs in ascending order."""
    if not pairs:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    first = np.ones(len(left), bool)
    first[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    return left[first], right[first]


class _Lexicon:
    """The alternatives that count in one column, or in all: terms by word, by beginning, and by phrase."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
        self._prefixes: dict[str, list[int]] = {}
        self._phrases: dict[tuple[str, ...], list[int]] = {}
        self._beginnings: set[tuple[str, ...]] = set()  # of phrases, each shorter than its phrase
        self._lengths: set[int] = set()  # of prefixes

    def add(self, number: int, one: Alternative) -> None:
        if one.prefix:
            self._prefixes.setdefault(one.words[0], []).append(number)
            self._lengths.add(len(one.words[0]))
        elif len(one.words) == 1:
            self._words.setdefault(one.words[0], []).append(number)
        else:
            self._phrases.setdefault(one.words, []).append(number)
            self._beginnings.update(one.words[:length] for length in range(1, len(one.words)))

    def single_words(self, column: TokenColumn) -> Pairs:
        """The texts of a column and the terms of their words, a pair for each occurrence of a word."""
        return _expanded(column.texts, column.codes, [self._terms_of(token) for token in column.tokens])

    def _terms_of(self, token: str) -> Sequence[int]:
        terms = self._words.get(token, ())
        if not self._lengths:
            return terms
        beginnings = [token[:length] for length in self._lengths if length <= len(token)]
        return [*terms, *(number for one in beginnings for number in self._prefixes.get(one, ()))]

    def phrases_in(self, column: TokenColumn) -> Iterable[Pairs]:
        """The texts of a column and the terms of their phrases; each round reads one token more."""
        reading: list[tuple[str, ...]] = [()]  # how phrases begin that a position may have
        start, state = np.arange(len(column.codes)), np.zeros(len(column.codes), np.int64)
        length, vocabulary = 0, len(column.tokens)
        while self._phrases and len(start):
            codes = state * vocabulary + column.codes[start + length]
            distinct, each = np.unique(codes, return_inverse=True)
            words = [(*reading[code // vocabulary], column.tokens[code % vocabulary]) for code in distinct]
            yield _expanded(column.texts[start], each, [self._phrases.get(one, ()) for one in words])
            reading = [one for one in words if one in self._beginnings]
            numbers = {one: number for number, one in enumerate(reading)}
            state = np.array([numbers.get(one, -1) for one in words], np.int64)[each]
            length += 1
            more = (state >= 0) & (start + length < len(column.codes))
            more[more] = column.texts[start[more] + length] == column.texts[start[more]]
            start, state = start[more], state[more]


def _expanded(texts: IntArray, codes: IntArray, terms: Sequence[Sequence[int]]) -> Pairs:
    """Each text with each of the terms that its code has."""
    counts = np.fromiter(map(len, terms), np.int64, len(terms))
    flat = np.array([number for one in terms for number in one], np.int64)
    hit = counts[codes] > 0
    each, first = counts[codes[hit]], (np.cumsum(counts) - counts)[codes[hit]]
    return np.repeat(texts[hit], each), flat[_ranges(first, each)]


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
