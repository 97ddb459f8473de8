"""Query seeds with self-joins of two to five transfers; a longer chain begins like a shorter one.

Cites: ARGUS 4, 7.1, 7.2 (the windows by date, the chain of amounts)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from benchmarks.workloads.spellings import Seed, Writer
from benchmarks.workloads.transfers import HAVENS

_PAIR = (
    "{a}.tran_id AS first, {z}.tran_id AS last",
    "{a}.tran_id AS first, {z}.tran_id AS last, {a}.amount AS came, {z}.amount AS went",
    "{a}.sacct AS source, {z}.racct AS target, {z}.amount AS went, {z}.ts AS at",
)


def _pair(w: Writer, aliases: list[str], *conditions: str) -> str:
    outputs = w.one(*_PAIR).format(a=aliases[0], z=aliases[-1])
    return w.select(outputs, aliases, [*conditions, *w.portfolio(f"{aliases[0]}.sacct")])


def _step(w: Writer, later: str, earlier: str) -> list[str]:
    """Conditions of one hop: most of the money that came goes on within days."""
    return [
        w.equal(f"{later}.sacct", f"{earlier}.racct"),
        w.after(later, earlier),
        w.within(later, earlier, 5),
        w.keeps(later, earlier, 0.8, 0.95),
        w.at_least(f"{earlier}.amount", f"{later}.amount"),
    ]


def chain_conditions(w: Writer, aliases: list[str]) -> list[str]:
    """Conditions of a chain of transfers, each passing on the money of the one before."""
    first = w.above(f"{aliases[0]}.amount", w.amount(1e6, 5e6))
    return [first, *(condition for a, b in pairwise(aliases) for condition in _step(w, b, a))]


def _chain(hops: int) -> Callable[[Writer], str]:
    def write(w: Writer) -> str:
        aliases = w.aliases(hops)
        return _pair(w, aliases, *chain_conditions(w, aliases))

    return write


def _chain_to_haven(hops: int) -> Callable[[Writer], str]:
    def write(w: Writer) -> str:
        aliases = w.aliases(hops)
        haven = w.one_of(f"{aliases[-1]}.rcountry", w.any_of(HAVENS, 3))
        return _pair(w, aliases, *chain_conditions(w, aliases), haven)

    return write


def _circle(hops: int) -> Callable[[Writer], str]:
    def write(w: Writer) -> str:
        aliases = w.aliases(hops)
        back = w.equal(f"{aliases[-1]}.racct", f"{aliases[0]}.sacct")
        return _pair(w, aliases, *chain_conditions(w, aliases), back)

    return write


def _passed_by_date(w: Writer) -> str:
    """Bounds on dates as in the paper: r2.tran_date <= r1.tran_date + 20, and + 10."""
    a, b = w.aliases(2)
    return _pair(
        w,
        [a, b],
        w.above(f"{a}.amount", w.amount(3e6, 1.5e7)),
        w.equal(f"{b}.sacct", f"{a}.racct"),
        w.after(b, a),
        w.within_dates(b, a, 15),
        w.keeps(b, a, 0.5, 0.9),
    )


def _amounts_chain(w: Writer) -> str:
    """Amounts as in the paper: the bound on the first transfer implies bounds on the others."""
    a, b, c = w.aliases(3)
    return _pair(
        w,
        [a, b, c],
        w.above(f"{a}.amount", w.amount(2e6, 6e6)),
        w.equal(f"{b}.sacct", f"{a}.racct"),
        w.equal(f"{c}.sacct", f"{b}.racct"),
        w.keeps(b, a, 0.5, 0.9),
        w.keeps(c, b, 0.5, 0.9),
        w.after(b, a),
        w.after(c, b),
        w.within_dates(c, a, 10),
    )


def _both_large(w: Writer) -> str:
    a, b = w.aliases(2)
    return _pair(
        w,
        [a, b],
        w.above(f"{a}.amount", w.amount(3e6, 1e7)),
        w.above(f"{b}.amount", w.amount(3e6, 1e7)),
        w.equal(f"{b}.sacct", f"{a}.racct"),
        w.after(b, a),
        w.within(b, a, 10),
    )


def _same_sender(w: Writer) -> str:
    a, b = w.aliases(2)
    return _pair(
        w,
        [a, b],
        w.above(f"{a}.amount", w.amount(2e6, 6e6)),
        w.above(f"{b}.amount", w.amount(2e6, 6e6)),
        w.equal(f"{b}.sacct", f"{a}.sacct"),
        w.differs(f"{b}.racct", f"{a}.racct"),
        w.after(b, a),
        w.within(b, a, 3),
    )


def _converging(w: Writer) -> str:
    a, b = w.aliases(2)
    return _pair(
        w,
        [a, b],
        w.above(f"{a}.amount", w.amount(2e6, 6e6)),
        w.keeps(b, a, 0.8, 1.1),
        w.equal(f"{b}.racct", f"{a}.racct"),
        w.differs(f"{b}.sacct", f"{a}.sacct"),
        w.after(b, a),
        w.within(b, a, 3),
    )


def _split_in_two(w: Writer) -> str:
    a, b, c = w.aliases(3)
    return _pair(
        w,
        [a, b, c],
        w.above(f"{a}.amount", w.amount(1e6, 4e6)),
        w.above(f"{b}.amount", w.amount(3e5, 6e5)),
        w.above(f"{c}.amount", w.amount(3e5, 6e5)),
        w.equal(f"{b}.sacct", f"{a}.racct"),
        w.equal(f"{c}.sacct", f"{a}.racct"),
        w.after(b, a),
        w.after(c, b),
        w.within(c, a, 5),
        w.differs(f"{b}.racct", f"{c}.racct"),
        w.between(f"{b}.amount + {c}.amount", f"{a}.amount * {w.ratio(0.85, 0.93)}", f"{a}.amount"),
    )


JOINS = (
    Seed("chain2", "2-way join", 8, _chain(2)),
    Seed("chain2_to_haven", "2-way join", 5, _chain_to_haven(2)),
    Seed("circle2", "2-way join", 4, _circle(2)),
    Seed("passed_by_date", "2-way join", 8, _passed_by_date),
    Seed("both_large", "2-way join", 6, _both_large),
    Seed("same_sender", "2-way join", 4, _same_sender),
    Seed("converging", "2-way join", 4, _converging),
    Seed("chain3", "3-way join", 6, _chain(3)),
    Seed("chain3_to_haven", "3-way join", 3, _chain_to_haven(3)),
    Seed("circle3", "3-way join", 3, _circle(3)),
    Seed("amounts_chain", "3-way join", 3, _amounts_chain),
    Seed("split_in_two", "3-way join", 3, _split_in_two),
    Seed("chain4", "4-way join", 5, _chain(4)),
    Seed("circle4", "4-way join", 2, _circle(4)),
    Seed("chain5", "5-way join", 4, _chain(5)),
)
