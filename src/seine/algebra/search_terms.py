"""Terms of a keyword query: what a tuple must have in its text to contain one.

| written | holds of a tuple if, in one of its STRING columns (`column:` names which), there is |
| --- | --- |
| `travolta` | the token travolta |
| `"kill bill"` | these tokens, one right after the other |
| `tarant*` | a token that begins so |
| `hero|villain` | one of the alternatives |
| `title:kill` | the token, in a column named title |
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Alternative:
    """One way in which a term holds: consecutive tokens, or a token's beginning, in any or in one column.

    `words` are tokens in lower case; several are a phrase. `column` is a column's name, as declared.
    """

    words: tuple[str, ...]
    prefix: bool = False
    column: str | None = None

    def __post_init__(self) -> None:
        if not self.words or not all(self.words):
            raise ValueError("an alternative needs a word")
        if self.prefix and len(self.words) > 1:
            raise ValueError("a prefix is one word")


@dataclass(frozen=True)
class Term:
    """A term: its text as typed, in lower case, and its alternatives."""

    text: str
    alternatives: tuple[Alternative, ...]

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError(f"the term {self.text!r} has no alternative")

    @property
    def meaning(self) -> frozenset[Alternative]:
        """What tells terms apart: two that are spelled differently may be the same term."""
        return frozenset(self.alternatives)


def count_words(terms: tuple[Term, ...]) -> int:
    """How many words the terms have, those of phrases and of alternatives counted one by one."""
    return sum(len(one.words) for term in terms for one in term.alternatives)
