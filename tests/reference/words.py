"""The words of a text by their definition: one character after the other, by its category."""

from __future__ import annotations

import unicodedata


def words_of(text: str) -> list[str]:
    """Text in NFKC, in maximal runs of letters, digits and the marks that follow them, then case-folded."""
    words, is_open = [""], False
    for sign in unicodedata.normalize("NFKC", text):
        category = unicodedata.category(sign)[0]
        if category in "LN" or (is_open and category == "M"):
            words[-1] += sign
            is_open = True
        elif is_open:
            words.append("")
            is_open = False
    return [word.casefold() for word in words if word]
