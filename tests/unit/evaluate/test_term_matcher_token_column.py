"""Columns of text in words: ASCII at once, other texts one by one, as the definition cuts each."""

from __future__ import annotations

import random

import pyarrow as pa

from seine.evaluate.term_matcher import TokenColumn
from tests.reference.words import words_of
from tests.support.seeds import seeds

PLAIN = [*map(chr, range(128)), *"aB9 " * 20]
OTHERS = ["é", "\u0301", "ß", "क्", "、", "😀", "ﬁ", "½", "İ"]


def words_by_row(column: pa.Array) -> list[list[str] | None]:
    cut = TokenColumn.of(column)
    assert len({*cut.tokens}) == len(cut.tokens)
    of_text: dict[int, list[str]] = {}
    for text, code in zip(cut.texts.tolist(), cut.codes.tolist(), strict=True):
        of_text.setdefault(text, []).append(cut.tokens[code])
    assert cut.texts.tolist() == sorted(cut.texts.tolist())
    return [None if row < 0 else of_text.get(row, []) for row in cut.rows.tolist()]


@seeds(40)
def test_tokens_of_a_column_are_the_words_of_its_texts(seed: int) -> None:
    chance = random.Random(seed)
    signs = PLAIN if seed % 3 == 0 else OTHERS * 10 if seed % 3 == 1 else PLAIN + OTHERS
    texts = [
        None if chance.random() < 0.1 else "".join(chance.choices(signs, k=chance.choice([0, 1, 2, 9])))
        for _ in range(chance.randrange(60))
    ]
    column = pa.array(["before", *texts, "behind"], pa.string()).slice(1, len(texts))
    expected = [None if text is None else words_of(text) for text in texts]
    assert words_by_row(column) == expected
    if len(texts) > 20:
        assert any(expected)


def test_columns_without_words() -> None:
    for texts in ([], [None], ["", ""], ["-", "", "!"], ["、", ""]):
        assert not any(words_by_row(pa.array(texts, pa.string())))


def test_texts_that_touch_are_not_one_word() -> None:
    assert words_by_row(pa.array(["a", "", "b", "1", "é", "c"])) == [["a"], [], ["b"], ["1"], ["é"], ["c"]]
