"""Limits of queries that come and go take effect with an entry."""

from __future__ import annotations

import sys

from seine.runtime.output.sink import Roster


def test_a_change_waits_for_its_entry() -> None:
    roster = Roster({"q": 5, "p": 9})
    roster.announce(3, ["q"], {"r": 2})
    roster.announce(4, ["p"], {"p": 7})
    assert roster.advance(2) == set() and roster.limit("q") == 5 and roster.lowest == 5
    assert roster.advance(3) == {"q", "r"}
    assert (roster.limit("q"), roster.limit("r"), roster.limit("p")) == (sys.maxsize, 2, 9)
    assert roster.advance(9) == {"p"} and roster.limit("p") == 7 and roster.lowest == 2


def test_without_queries_nothing_is_cut() -> None:
    assert Roster({}).lowest == sys.maxsize
