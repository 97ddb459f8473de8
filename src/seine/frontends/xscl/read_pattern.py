"""The scanner of XSCL text, and the parser of tree patterns: steps with names, variables, and predicates.

steps     = step {step}
step      = ("/" | "//") ["@"] name [binding] {"[" predicate "]"} [binding]
binding   = ("->" | AS) variable
predicate = condition {and condition}
condition = path [comparison] | "." comparison | (contains | starts-with) "(" ("." | path) "," string ")"
path      = ["." ("/" | "//")] ["@"] name [binding] {...}, then steps
name      = a name, prefix:name, Q{namespace}name, prefix:* or *
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from seine.algebra.tree_pattern import CHILD, COMPARISONS, DESCENDANT, TEXT_TESTS, PatternNode, ValueTest
from seine.errors import ScriptError
from seine.frontends.text.lexer import ScriptText, suggest

_SPACE = re.compile(r"\s*")
WORD = re.compile(r"[^\W\d]\w*")
_NAME_PART = r"[^\W\d](?:[\w.]|-(?!>))*"
NAME = re.compile(rf"Q\{{[^{{}}]*\}}(?:{_NAME_PART}|\*)|{_NAME_PART}(?::(?:{_NAME_PART}|\*))?|\*")
VARIABLE = re.compile(r"[^\W\d]\w*'*")
WHOLE_NUMBER = re.compile(r"\d+(?![\w.])", re.ASCII)
NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w)", re.ASCII)
STRING = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
QUOTED = re.compile(r'"(?:[^"]|"")+"|`(?:[^`]|``)+`')


class XsclReader:
    """Walks over the text of one query between two offsets, skipping white space."""

    def __init__(self, source: ScriptText, start: int, end: int) -> None:
        self.source = source
        self.at = start
        self.end = end
        self._skip_space()

    def _skip_space(self) -> None:
        match = _SPACE.match(self.source.text, self.at, self.end)
        assert match is not None
        self.at = match.end()

    def accept(self, pattern: re.Pattern[str]) -> str | None:
        """Consume a match of a pattern and return it; None if there is none here."""
        match = pattern.match(self.source.text, self.at, self.end)
        if match is None:
            return None
        self.at = match.end()
        self._skip_space()
        return match.group()

    def symbol(self, text: str) -> bool:
        """Consume a symbol if it comes next; whether it did."""
        if not self.comes(text):
            return False
        self.at += len(text)
        self._skip_space()
        return True

    def comes(self, text: str) -> bool:
        """Whether a symbol comes next."""
        return self.source.text.startswith(text, self.at, self.end)

    def comes_constant(self) -> bool:
        """Whether a string or a number comes next."""
        return any(one.match(self.source.text, self.at, self.end) for one in (STRING, NUMBER))

    def words(self, *words: str) -> bool:
        """Consume these keywords if all of them come next; whether they did."""
        start = self.at
        for word in words:
            if (self.accept(WORD) or "").upper() != word:
                self.at = start
                return False
        return True

    def function(self, *names: str) -> str | None:
        """Consume the name of a function and its opening parenthesis; None if no such call comes next."""
        for name in names:
            start = self.at
            if self.symbol(name) and self.symbol("("):
                return name
            self.at = start
        return None

    def expect(self, pattern: re.Pattern[str], what: str, hint: str | None = None) -> str:
        """Consume a match of a pattern, or raise."""
        text = self.accept(pattern)
        if text is None:
            raise self.error(f"expected {what}, found {self.rest()}", hint)
        return text

    def expect_symbol(self, text: str, hint: str | None = None) -> None:
        """Consume a symbol, or raise."""
        if not self.symbol(text):
            raise self.error(f"expected {text!r}, found {self.rest()}", hint)

    def expect_name(self, what: str) -> tuple[str, str]:
        """Consume an identifier, quoted or not: as written, and in the form that names are compared in."""
        quoted = self.accept(QUOTED)
        if quoted is not None:
            return quoted, quoted[1:-1].replace(quoted[0] * 2, quoted[0])
        word = self.expect(WORD, what)
        return word, word.lower()

    def at_end(self) -> bool:
        """Whether the query ends here."""
        return self.at >= self.end

    def rest(self) -> str:
        """The start of the remaining text, for an error."""
        text = self.source.text[self.at : min(self.end, self.at + 12)].split("\n")[0]
        return repr(text) if text.strip() else "the end of the query"

    def error(self, message: str, hint: str | None = None, at: int | None = None) -> ScriptError:
        """An error at an offset (by default the current one), to be raised."""
        return self.source.error(self.at if at is None else at, message, hint)


MOST_STEPS = 200  # of one block; each is tried at elements of every document
MOST_NESTED = 32  # predicates within one another
_LONGEST_FIRST = sorted(COMPARISONS, key=len, reverse=True)


EndTests = Callable[[], list[ValueTest]]


@dataclass
class StepConditions:
    """The predicates of a step, as they are read."""

    tests: list[ValueTest] = field(default_factory=list)
    children: list[PatternNode] = field(default_factory=list)


class PatternParser:
    """Parses the steps of one block; `prefixes` are those of its stream, None if namespaces are ignored."""

    def __init__(self, reader: XsclReader, prefixes: Mapping[str, str] | None) -> None:
        self.reader = reader
        self.prefixes = prefixes
        self._steps = 0
        self._nested = 0

    def steps(self) -> PatternNode | None:
        """The steps that come next as a chain whose end is selected; None if there are none."""
        axis = self._axis()
        return None if axis is None else self._chain(axis, selected=True)

    def _chain(self, axis: str, selected: bool, end: EndTests | None = None) -> PatternNode:
        """A step and those that follow it; `end` reads the conditions on the last one, behind it."""
        start, reader = self.reader.at, self.reader
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise reader.error(f"a block has more than {MOST_STEPS} steps", "split the query")
        is_attribute = reader.symbol("@")
        name = self._name()
        variable = self._binding(None)
        conditions = self.conditions()
        variable = self._binding(variable)
        if is_attribute and conditions.children:
            raise reader.error("nothing lies below an attribute", at=start)
        below = self._axis()
        if below is None:
            tests = [*conditions.tests, *(() if end is None else end())]
            return PatternNode(
                axis,
                name,
                is_attribute,
                variable,
                tests=tuple(tests),
                children=tuple(conditions.children),
                selected=selected,
            )
        if is_attribute:
            raise reader.error("nothing lies below an attribute", at=start)
        last = self._chain(below, selected, end)
        children = (*conditions.children, last)
        return PatternNode(axis, name, False, variable, tests=tuple(conditions.tests), children=children)

    def _axis(self) -> str | None:
        reader = self.reader
        return DESCENDANT if reader.symbol(DESCENDANT) else CHILD if reader.symbol(CHILD) else None

    def _name(self) -> str:
        reader, start = self.reader, self.reader.at
        text = reader.expect(NAME, "a name or *", _NAME_HINTS.get(reader.source.text[start : start + 1]))
        if reader.comes("("):
            functions = ", ".join(f"{name}(., 'word')" for name in TEXT_TESTS)
            raise reader.error(f"no function {text} here", f"predicates have {functions}", at=start)
        if text.startswith("Q{"):
            uri, _, local = text[2:].partition("}")
            return local if self.prefixes is None or not uri else f"{{{uri}}}{local}"
        prefix, colon, local = text.partition(":")
        if not colon:
            return text
        if self.prefixes is None:
            return local
        if prefix not in self.prefixes:
            hint = suggest(prefix, self.prefixes, "prefixes") if len(self.prefixes) > 1 else None
            declare = f"CREATE STREAM ... WITH (namespaces = '{prefix}=...')"
            raise reader.error(f"prefix {prefix} is not declared", hint or declare, at=start)
        return f"{{{self.prefixes[prefix]}}}{local}"

    def _binding(self, already: str | None) -> str | None:
        start = self.reader.at
        if not self.reader.symbol("->") and not self.reader.words("AS"):
            return already
        if already is not None:
            raise self.reader.error("a step binds one variable", at=start)
        return self.reader.expect(VARIABLE, "a variable")

    def conditions(self) -> StepConditions:
        """The predicates in brackets that come next."""
        conditions = StepConditions()
        while self.reader.symbol("["):
            self._nested += 1
            if self._nested > MOST_NESTED:
                raise self.reader.error(f"more than {MOST_NESTED} predicates within one another")
            self._condition(conditions)
            while self.reader.words("AND"):
                self._condition(conditions)
            if self.reader.words("OR"):
                raise self.reader.error(
                    "a predicate is a conjunction", "write one query for each alternative"
                )
            self.reader.expect_symbol("]")
            self._nested -= 1
        return conditions

    def _condition(self, conditions: StepConditions) -> None:
        reader = self.reader
        function = reader.function(*TEXT_TESTS)
        if function is not None:
            self._text_test(function, conditions)
            return
        axis = self._path_axis()
        if axis is not None:
            conditions.children.append(self._chain(axis, selected=False, end=self._comparison))
            return
        tests = self._comparison()
        if not tests:
            raise reader.error(f"expected '/', '//' or a comparison, found {reader.rest()}")
        conditions.tests += tests

    def _path_axis(self) -> str | None:
        """The axis of the first step of the path that comes next; None of the path `.`, the node itself."""
        reader = self.reader
        if reader.comes(".."):
            raise reader.error("a path only leads downwards", "there is no parent axis")
        return self._axis() if reader.symbol(".") else CHILD

    def _text_test(self, function: str, conditions: StepConditions) -> None:
        """contains(., 'x') is a condition on the node, contains(b/@id, 'x') one on what a path leads to."""

        def ends() -> list[ValueTest]:
            reader.expect_symbol(",")
            test = ValueTest(function, _unquoted(reader.expect(STRING, "a string in quotes")))
            reader.expect_symbol(")")
            return [test]

        reader, axis = self.reader, self._path_axis()
        if axis is None:
            conditions.tests += ends()
        else:
            conditions.children.append(self._chain(axis, selected=False, end=ends))

    def _comparison(self) -> list[ValueTest]:
        """A comparison with a constant, if one comes next."""
        reader = self.reader
        operator = next((one for one in _LONGEST_FIRST if reader.symbol(one)), None)
        if operator is None:
            return []
        start = reader.at
        string = reader.accept(STRING)
        if string is not None:
            return [ValueTest(operator, _unquoted(string))]
        number = reader.expect(NUMBER, "a string in quotes or a number", _CONSTANT_HINT)
        if not math.isfinite(float(number)):
            raise reader.error(f"{number} is too large a number", at=start)
        return [ValueTest(operator, float(number))]


_CONSTANT_HINT = "a predicate compares with a constant; {x = y, T} compares documents"
_NAME_HINTS = {
    ".": "a path only leads downwards: after / or // comes a name",
    "/": "a path in a predicate starts at its node: write .// or ./",
    **dict.fromkeys("0123456789", "a predicate is about values, not positions"),
}


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])


def refuse_twice_bound(reader: XsclReader, names: list[str], at: int) -> None:
    """Raise if a variable is bound by two steps."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise _twice(reader, twice[0], at)


def _twice(reader: XsclReader, name: str, at: int) -> ScriptError:
    return reader.error(f"variable {name} is bound twice", "give each step its own variable", at=at)
