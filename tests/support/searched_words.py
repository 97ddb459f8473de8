"""Terms of keyword queries, as tests write them."""

from __future__ import annotations

from seine.algebra.search_plan import Alternative, Term


def word_term(word: str) -> Term:
    """The term of a plain word."""
    return Term(word, (Alternative((word,)),))
