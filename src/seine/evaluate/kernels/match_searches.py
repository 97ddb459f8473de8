r"""What searches for matches of a pattern may take: how wide it is, and how far behind a match they look.

All matches of a text are searched one after the other, each search from the end of the match before. RE2 runs
one search in linear time, but it may have to look to the end of the text to know which match comes first:

    [0-9]+     looks one letter behind a match                 all searches together are linear
    a.*b|a     'a' matches, but a 'b' may follow far away      of n letters a, each search looks at the rest

Law: if `looks_far` is false, there is a bound, the same for all texts, of the letters that a search looks at
behind its match. It is decided on the automaton that RE2 runs: its states are the ways in which a match may
go on, the preferred first; of those behind a match that is found only better ones are left. A search looks
far if there is a cycle among the states with a match on which none is found. What is not understood, or is
too large, looks far: then searches are counted one by one (`spend_on_searches`). So do classes of Unicode
(`\p{Thai}`), whose letters are not known here, and what takes none of the letters that are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.java_patterns import re2_pattern
from seine.evaluate.kernels.datum import byte_lengths
from seine.evaluate.kernels.spending import spend

_MOST_NODES = 2_000  # of the pattern's own automaton
_MOST_STATES = 1_000  # of the one that is run
_MOST_VISITS = 50_000  # of nodes, to find these states
_LARGEST_REPEAT = 100  # times that a repeated part is written out
_TOKENS = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\[pP]\{[^}]*\}|\\[pP].|\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\."
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\x\{[0-9A-Fa-f]+\}|\\.|[^\]\\])*\]"
    r"|\(\?P?<[^>]*>|\(\?[a-zA-Z-]*[:)]|\(|\)|\||(?:[*+?]|\{\d+(?:,\d*)?\})\??|.",
    re.DOTALL,
)
_MOST_WIDTH = 2_000  # of a pattern whose work is not more than in proportion to the text
_STEPS_OF_A_LETTER = 70_000  # of the automata that a pattern is read into
_MOST_READ = 600  # letters; automata with more are given up
_MOST_REPEATED = 1_000  # times that RE2 takes
_CLASS = re.compile(r"\.|\[.|\\[dDsSwWCpP]", re.DOTALL)  # an atom that takes several letters
_MOST_COUNTED = 500  # searches that are counted one by one; of more, each may look at all that is left
_FEW_STEPS = 10_000_000  # of searches that are not worth counting one by one
_LETTER, _SPLIT, _ASSERT, _MATCH = range(4)
_ASSERTIONS = {"^": "begin", r"\A": "begin", "$": "end", r"\z": "end", r"\b": "word", r"\B": "not word"}
_SAMPLE = "".join(map(chr, range(128))) + "\x85\xa0éßſΩЖא中\u2028\u212a😀"  # classes with names are of ASCII


class _NotUnderstood(Exception):
    """A pattern is none that this file reads, or too large for it."""


@lru_cache(maxsize=4096)
def looks_far(regex: str) -> bool:
    """Whether a search for a pattern of RE2 may look far behind the match that it finds.

    >>> [looks_far(regex) for regex in ("[0-9]+", "<[^>]*>", r"\\bfoo\\b", '".*?"', "a.*b|a", "a[^x]*c|b")]
    [False, False, False, False, True, True]
    """
    try:
        parser = _Parser(regex)
        start = parser.parsed()
        return _Searches(parser, start).look_far()
    except _NotUnderstood:
        return True


def spend_on_width(array: pa.Array, regex: str) -> None:
    """Count, before a search, what a wide pattern may take: its letters at each letter of the texts."""
    wide = width(regex)
    if wide > _MOST_WIDTH:
        spend(steps=int(byte_lengths(array).sum()) * wide, constants=[regex])


def spend_on_reading(regex: str) -> None:
    """Count, before a pattern of a column is read, what its automata may take: they grow with its width."""
    spend(steps=_STEPS_OF_A_LETTER * min(_MOST_READ, width(regex)), constants=[regex])


@lru_cache(maxsize=4096)
def width(regex: str) -> int:
    r"""How many letters of a pattern a search may have to keep in mind at once.

    RE2 gives up its table of states if these are too many, and then looks at all letters of the pattern for
    each letter of a text. So it may be where letters are repeated by number, or may be one of several: a text
    without a choice is in few states, however long it is.

    >>> width("abc|abd"), width("a[bc]{900}d|[xyz]"), width("(?:a|b){40}"), width(r"(?s)\Aa.*..\z")
    (1, 902, 120, 3)
    """
    try:
        return _width(_Parser(regex).tree())
    except _NotUnderstood:
        return len(regex) * _MOST_REPEATED


def _width(tree: _Tree, *, repeated: bool = False) -> int:
    match tree:
        case ("or", branches):
            return (len(branches) > 1) + sum(_width(one, repeated=repeated) for one in branches)
        case ("and", parts):
            return sum(_width(one, repeated=repeated) for one in parts)
        case ("repeat", part, token):
            times = _times(token.removesuffix("?")) if token[0] == "{" else ()
            most = min(max(1, *(one or 0 for one in times)), _MOST_REPEATED) if times else 1
            return most * _width(part, repeated=repeated or bool(times))
        case ("letter", _, atom):
            return int(repeated or _CLASS.match(atom) is not None)
    return 0


def spend_on_searches(array: pa.Array, pattern: str) -> None:
    """Count, before all matches are searched, what searches that look far may look at: all the rest."""
    regex = re2_pattern(pattern)
    if not looks_far(regex):
        return
    left = array.drop_null()
    for _ in range(_MOST_COUNTED):
        lengths = byte_lengths(left)
        if lengths @ lengths <= _FEW_STEPS:
            break
        spend(steps=int(lengths.sum()), constants=[pattern])
        left = _behind_matches(left, regex)
    lengths = byte_lengths(left)
    spend(steps=int(lengths.astype(np.float64) @ lengths) // 2, constants=[pattern])


def _behind_matches(texts: pa.Array, regex: str) -> pa.Array:
    """What is left behind the first match of each text that has one; behind an empty one a letter less."""
    behind = pc.replace_substring_regex(texts, rf"\A(?s:.*?)(?:{regex})", "")
    same = pc.equal(pc.binary_length(texts), pc.binary_length(behind))
    unsure = behind.filter(same)
    empty = unsure.filter(pc.match_substring_regex(unsure, regex))
    return pa.concat_arrays([behind.filter(pc.invert(same)), pc.utf8_slice_codeunits(empty, 1)])


@dataclass
class _Parser:
    """Reads a pattern into nodes: what each does, and where it leads, the preferred way first."""

    regex: str
    kinds: list[int] = field(default_factory=list)
    atoms: list[str] = field(default_factory=list)  # of letters the class, of assertions the name
    ways: list[list[int]] = field(default_factory=list)

    def parsed(self) -> int:
        """The first node; the last one is the match."""
        tree = self.tree()
        if any(r"\p" in token.lower() for token in self._tokens if not token.startswith(r"\Q")):
            raise _NotUnderstood
        return self._built(tree, self._node(_MATCH))

    def tree(self) -> _Tree:
        """The pattern as a tree."""
        self._tokens = _TOKENS.findall(self.regex)
        self._at, self._flags = 0, ""
        self._brackets = 0
        tree = self._alternatives()
        if self._at < len(self._tokens):
            raise _NotUnderstood
        return tree

    def _node(self, kind: int, atom: str = "", *ways: int) -> int:
        if len(self.kinds) >= _MOST_NODES:
            raise _NotUnderstood
        self.kinds.append(kind)
        self.atoms.append(atom)
        self.ways.append([*ways])
        return len(self.kinds) - 1

    def _alternatives(self) -> _Tree:
        branches = [self._sequence()]
        while self._comes("|"):
            branches.append(self._sequence())
        return ("or", branches)

    def _comes(self, token: str) -> bool:
        there = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += there
        return there

    def _sequence(self) -> _Tree:
        parts: list[_Tree] = []
        while self._at < len(self._tokens) and self._tokens[self._at] not in ("|", ")"):
            token = self._tokens[self._at]
            self._at += 1
            if token[0] in "*+?{" and len(token) > (token[0] == "{") and parts:
                parts[-1] = ("repeat", parts[-1], token)
            elif token[0] == "(":
                parts += self._group(token)
            elif token.startswith(r"\Q"):
                literal = token[2:].removesuffix(r"\E")
                parts += [("letter", self._flags, re.escape(letter)) for letter in literal]
            elif token in _ASSERTIONS:
                parts.append(("assert", _ASSERTIONS[token]))
            else:
                parts.append(("letter", self._flags, token))
        return ("and", parts)

    def _group(self, token: str) -> list[_Tree]:
        """A group; flags in brackets of their own hold to the end of what is around them."""
        outer = self._flags
        if token.startswith("(?") and token[-1] in ":)":
            self._flags = _joined_flags(outer, token[2:-1])
            if token[-1] == ")":
                return []
        self._brackets += 1
        if self._brackets > 100:
            raise _NotUnderstood
        inner = self._alternatives()
        if not self._comes(")"):
            raise _NotUnderstood
        self._brackets -= 1
        self._flags = outer
        return [inner]

    def _built(self, tree: _Tree, then: int) -> int:
        """The first node of a part that is followed by another node."""
        match tree:
            case ("or", branches):
                firsts = [self._built(branch, then) for branch in branches]
                return firsts[0] if len(firsts) == 1 else self._node(_SPLIT, "", *firsts)
            case ("and", parts):
                for part in reversed(parts):
                    then = self._built(part, then)
                return then
            case ("letter", flags, atom):
                return self._node(_LETTER, f"(?{flags}){atom}" if flags else atom, then)
            case ("assert", name):
                return self._node(_ASSERT, name, then)
            case ("repeat", part, token):
                return self._repeated(part, token, then)
        raise _NotUnderstood

    def _repeated(self, part: _Tree, token: str, then: int) -> int:
        lazy = len(token) > 1 and token.endswith("?")
        least, most = _times(token.removesuffix("?") if lazy else token)
        if max(least, most or 0) > _LARGEST_REPEAT:
            raise _NotUnderstood
        if most is None:
            loop = self._node(_SPLIT)
            body = self._built(part, loop)
            self.ways[loop] = [then, body] if lazy else [body, then]
            then = loop
        for _ in range((most or least) - least):
            body = self._built(part, then)
            # to leave an optional part is to leave all that are nested in it, which leads to the same
            then = self._node(_SPLIT, "", *([then, body] if lazy else [body, then]))
        for _ in range(least):
            then = self._built(part, then)
        return then


_Tree = tuple[Any, ...]  # ("or", trees), ("and", trees), ("letter", flags, atom), ...


def _joined_flags(outer: str, given: str) -> str:
    on, _, off = given.partition("-")
    return "".join(sorted(({*outer} | {*on}) - {*off}))


def _times(token: str) -> tuple[int, int | None]:
    if token[0] != "{":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token]
    least, comma, most = token[1:-1].partition(",")
    return int(least), (int(most) if most else None) if comma else int(least)


class _Searches:
    """The automaton of the searches for a pattern."""

    def __init__(self, parser: _Parser, start: int) -> None:
        self._nodes, self._start = parser, start
        self._classes = _letter_classes(parser)
        names = {name.removeprefix("not ") for name in parser.atoms if name in _ASSERTIONS.values()}
        self._visits = 0
        self._facts = [
            dict(zip(sorted(names), truths, strict=True))
            for truths in product((False, True), repeat=len(names))
        ]

    def look_far(self) -> bool:
        """Whether there is a cycle among states with a match on which none is found."""
        first = [self._closed([self._start], facts)[:2] for facts in self._facts]
        waiting = [*first]
        silent: dict[_State, set[_State]] = {}
        while waiting:
            state = waiting.pop()
            if state in silent:
                continue
            if len(silent) > _MOST_STATES:
                raise _NotUnderstood
            silent[state] = set()
            for to, finds in self._next(state):
                waiting.append(to)
                if state[1] and not finds and to[0]:
                    silent[state].add(to)
        return _has_cycle(silent)

    def _next(self, state: _State) -> Iterator[tuple[_State, bool]]:
        """The states that follow by a letter, and whether a match is found there."""
        nodes, matched = state
        for letter_class in self._classes:
            moved = [self._nodes.ways[node][0] for node in nodes if node in letter_class]
            for facts in self._facts:
                states, finds = self._closed(moved + ([] if matched else [self._start]), facts)
                yield (states, matched or finds), finds

    def _closed(self, nodes: list[int], facts: dict[str, bool]) -> tuple[tuple[int, ...], bool]:
        """The letters that nodes wait for, the preferred first; what is behind a match is cut."""
        waiting, seen, letters = nodes[::-1], set[int](), list[int]()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            self._visits += 1
            if self._visits > _MOST_VISITS:
                raise _NotUnderstood
            kind = self._nodes.kinds[node]
            if kind == _MATCH:
                return tuple(letters), True
            if kind == _LETTER:
                letters.append(node)
            elif kind == _SPLIT or _holds(self._nodes.atoms[node], facts):
                waiting += self._nodes.ways[node][::-1]
        return tuple(letters), False


_State = tuple[tuple[int, ...], bool]  # what is waited for, and whether a match was found


def _holds(name: str, facts: dict[str, bool]) -> bool:
    return not facts[name[4:]] if name.startswith("not ") else facts[name]


def _letter_classes(parser: _Parser) -> list[set[int]]:
    """For each letter that the pattern tells apart from others the nodes that take it."""
    codes = re.findall(r"\\x(\{[0-9A-Fa-f]+|[0-9A-Fa-f]{2})", parser.regex)
    named = {*map(ord, parser.regex), *map(ord, _SAMPLE), *(int(code.strip("{"), 16) for code in codes)}
    near = {code + step for code in named for step in (-1, 0, 1)}
    letters = pa.array([chr(code) for code in sorted(near) if 0 <= code < 0xD800 or 0xDFFF < code < 0x110000])
    takes: dict[str, list[bool]] = {}
    classes: list[set[int]] = [set() for _ in range(len(letters))]
    for node, (kind, atom) in enumerate(zip(parser.kinds, parser.atoms, strict=True)):
        if kind != _LETTER:
            continue
        if atom not in takes:
            try:
                takes[atom] = pc.match_substring_regex(letters, rf"\A(?:{atom})\z").to_pylist()
            except pa.ArrowInvalid:
                raise _NotUnderstood from None
            if not any(takes[atom]):
                raise _NotUnderstood
        for place, taken in enumerate(takes[atom]):
            if taken:
                classes[place].add(node)
    return [set(one) for one in {frozenset(one) for one in classes}]


def _has_cycle(edges: dict[_State, set[_State]]) -> bool:
    """Whether a walk along edges may come to where it was."""
    left = {state: len(to & edges.keys()) for state, to in edges.items()}
    before: dict[_State, list[_State]] = {state: [] for state in edges}
    for state, to in edges.items():
        for one in to & edges.keys():
            before[one].append(state)
    ends = [state for state, count in left.items() if not count]
    while ends:
        state = ends.pop()
        del left[state]
        for one in before[state]:
            left[one] -= 1
            if not left[one]:
                ends.append(one)
    return bool(left)
