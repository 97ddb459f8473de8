"""The letters of a LIKE pattern: literal characters and the wildcards % and _."""

from __future__ import annotations

from typing import NamedTuple


class LikeLetter(NamedTuple):
    """One character of a pattern: itself if `literal`, else a wildcard."""

    literal: bool
    text: str


def scan_like(pattern: str, escape: str = "\\") -> list[LikeLetter] | None:
    r"""The letters of a pattern; None if it escapes an ordinary character, or if `escape` is no single one.

    >>> [letter.text for letter in scan_like("a%\\%") if letter.literal]
    ['a', '%']
    >>> scan_like("a\\b") is None
    True
    """
    if len(escape) != 1:
        return None
    letters: list[LikeLetter] = []
    characters = iter(pattern)
    for character in characters:
        if character != escape:
            letters.append(LikeLetter(character not in "%_", character))
            continue
        escaped = next(characters, None)
        if escaped not in ("%", "_", escape):
            return None
        letters.append(LikeLetter(True, escaped))
    return letters
