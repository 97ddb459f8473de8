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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.search_terms import Alternative
from seine.algebra.types import STRING, Type
from seine.evaluate.token_column import TokenColumn

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
