"""Whether a text is an XPath 1.0 expression that can be evaluated, as the xpath functions of SQL do it.

Law: an expression without a fault compiles and never fails for its form: names have no prefix, there are no
variables, functions are those of XPath 1.0 with as many arguments as they take, what needs nodes gets them.

    expression = operand {("or" | "and" | "=" | "!=" | "<" | ">" | "+" | "-" | "*" | "div" | ...) operand}
    operand    = {"-"} path {"|" path}
    path       = primary {"[" expression "]"} [("/" | "//") steps] | ["/" | "//"] steps | "/"
    primary    = "(" expression ")" | string | number | function "(" [expression {"," expression}] ")"
    step       = "." | ".." | ["@" | axis "::"] test {"[" expression "]"}
    test       = name | "*" | ("text" | "node" | "comment" | "processing-instruction") "(" [string] ")"

A parser by precedence, which keeps of each part only whether it is a set of nodes.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

LONGEST_XPATH = 4_096  # characters
_MOST_SHOWN = 60  # characters of an expression in an error
MOST_NESTED = 32  # parentheses, brackets and calls within one another

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'[^']*'|\"[^\"]*\")|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<name>[^\W\d][\w.-]*)"
    r"|(?P<symbol>//|::|\.\.|!=|<=|>=|[/@.()\[\]|+*=<>,:$-])|(?P<end>$))"
)
_STRENGTH = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("=", "!="), 3),
    **dict.fromkeys(("<", "<=", ">", ">="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "div", "mod"), 6),
}
_AXES = (
    *("ancestor", "ancestor-or-self", "attribute", "child", "descendant", "descendant-or-self", "following"),
    *("following-sibling", "namespace", "parent", "preceding", "preceding-sibling", "self"),
)
_NODE_TYPES = ("text", "node", "comment", "processing-instruction")
_ANY = 4_096  # as many arguments as one likes
_FUNCTIONS = {  # the least and most arguments
    **dict.fromkeys(("last", "position", "true", "false"), (0, 0)),
    **dict.fromkeys(("local-name", "namespace-uri", "name"), (0, 1)),
    **dict.fromkeys(("string", "string-length", "normalize-space", "number"), (0, 1)),
    **dict.fromkeys(("count", "sum", "id", "boolean", "not", "lang", "floor", "ceiling", "round"), (1, 1)),
    **dict.fromkeys(("starts-with", "contains", "substring-before", "substring-after"), (2, 2)),
    "concat": (2, _ANY),
    "substring": (2, 3),
    "translate": (3, 3),
}
_OF_PREDICATES = ("last", "position")
_OF_NODES = ("count", "sum", "local-name", "namespace-uri", "name")


class _Fault(Exception):
    """Why a text is no expression."""


def xpath_fault(text: str) -> str | None:
    """Why a text is not an XPath expression, in one line; None if it is one.

    >>> xpath_fault("count(item/category[. = 'x']) > 1"), xpath_fault("//[")
    (None, "expected a name, found '[' at character 3")
    """
    if len(text) > LONGEST_XPATH:
        return f"it has more than {LONGEST_XPATH:,} characters"
    if not text.isprintable() and any(ord(sign) < 32 and sign not in "\t\r\n" for sign in text):
        return "it has a control character"
    try:
        _XPathParser(text).whole()
    except _Fault as fault:
        return str(fault)
    return None


def shortened(text: str) -> str:
    """The beginning of an expression, for an error."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


class _XPathParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._nested = 0
        self._brackets = 0
        self._at = 0
        self._kind, self._token, self._start = "", "", 0
        self._next()

    def whole(self) -> None:
        self._expression(0)
        if self._kind != "end":
            raise self._expected("an operator")

    # ---- tokens

    def _next(self) -> str:
        """Go to the next token; the one before."""
        before = self._token
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            space = len(self._text[self._at :]) - len(self._text[self._at :].lstrip())
            self._start = self._at + space
            raise _Fault(f"unexpected {self._text[self._start]!r} at character {self._start + 1}")
        self._kind = match.lastgroup or "end"
        self._token, self._start, self._at = match[self._kind], match.start(self._kind), match.end()
        return before

    def _accept(self, *symbols: str) -> bool:
        if self._kind != "symbol" or self._token not in symbols:
            return False
        self._next()
        return True

    def _expect(self, symbol: str) -> None:
        if not self._accept(symbol):
            raise self._expected(repr(symbol))

    def _comes(self, symbol: str) -> bool:
        """Whether a symbol follows the present token."""
        match = _TOKEN.match(self._text, self._at)
        return match is not None and match["symbol"] == symbol

    def _expected(self, what: str) -> _Fault:
        instead = "the end" if self._kind == "end" else f"{self._token!r} at character {self._start + 1}"
        return _Fault(f"expected {what}, found {instead}")

    # ---- expressions; each says whether it is a set of nodes

    def _expression(self, strength: int) -> bool:
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise _Fault(f"more than {MOST_NESTED} expressions within one another")
        is_nodes = self._operand()
        while self._kind in ("symbol", "name") and _STRENGTH.get(self._token, 0) > strength:
            self._expression(_STRENGTH[self._next()])
            is_nodes = False
        self._nested -= 1
        return is_nodes

    def _operand(self) -> bool:
        is_negated = False
        while self._accept("-"):
            is_negated = True
        is_nodes = self._path()
        while self._kind == "symbol" and self._token == "|":
            self._need_nodes(is_nodes, "'|'")
            self._next()
            is_nodes = self._path()
            self._need_nodes(is_nodes, "'|'")
        return is_nodes and not is_negated

    def _need_nodes(self, is_nodes: bool, what: str) -> None:
        if not is_nodes:
            raise _Fault(f"{what} needs nodes, before character {self._start + 1}")

    def _path(self) -> bool:
        if not self._begins_primary():
            self._steps_from_here()
            return True
        is_nodes = self._primary()
        while self._kind == "symbol" and self._token in ("[", "/", "//"):
            self._need_nodes(is_nodes, repr(self._token))
            if self._token == "[":
                self._predicate()
            else:
                self._next()
                self._steps()
                return True
        return is_nodes

    def _begins_primary(self) -> bool:
        is_call = self._kind == "name" and self._comes("(") and self._token not in _NODE_TYPES
        return is_call or self._kind in ("string", "number") or self._token in ("(", "$")

    def _primary(self) -> bool:
        if self._token == "$":
            raise _Fault(f"there are no variables, at character {self._start + 1}")
        if self._kind == "name":
            return self._call()
        if self._kind != "symbol":
            self._next()
            return False
        self._next()
        is_nodes = self._expression(0)
        self._expect(")")
        return is_nodes

    def _call(self) -> bool:
        start, name = self._start + 1, self._next()
        if name not in _FUNCTIONS:
            near = get_close_matches(name, _FUNCTIONS, 1)
            raise _Fault(
                f"no function {name} at character {start}" + "".join(f"; {one} is one" for one in near)
            )
        if name in _OF_PREDICATES and not self._brackets:
            raise _Fault(f"{name}() has a meaning in [ ] only, at character {start}")
        self._next()
        kinds: list[bool] = []
        while not self._accept(")"):
            if kinds:
                self._expect(",")
            kinds.append(self._expression(0))
        least, most = _FUNCTIONS[name]
        if not least <= len(kinds) <= most:
            raise _Fault(f"{name} takes {_counted(least, most)}, not {len(kinds)}, at character {start}")
        if name in _OF_NODES and kinds:
            self._need_nodes(kinds[0], name)
        return name == "id"

    # ---- paths

    def _steps_from_here(self) -> None:
        """A location path; / alone is the document."""
        if self._accept("/"):
            begins = self._kind == "name" or self._token in ("*", "@", ".", "..")
            if not begins:
                return
        else:
            self._accept("//")
        self._steps()

    def _steps(self) -> None:
        self._step()
        while self._accept("/", "//"):
            self._step()

    def _step(self) -> None:
        if self._accept(".", ".."):
            return
        if not self._accept("@") and self._kind == "name" and self._comes("::"):
            if self._token not in _AXES:
                raise _Fault(f"no axis {self._token} at character {self._start + 1}")
            self._next()
            self._next()
        self._test()
        while self._kind == "symbol" and self._token == "[":
            self._predicate()

    def _test(self) -> None:
        if self._accept("*"):
            return
        if self._kind != "name":
            raise self._expected("a name")
        name = self._next()
        if self._kind == "symbol" and self._token == ":":
            raise _Fault(f"names are local: no prefix {name}: before character {self._start + 1}")
        if self._accept("("):
            if name not in _NODE_TYPES:
                raise _Fault(f"no test {name}() before character {self._start}")
            if name == "processing-instruction" and self._kind == "string":
                self._next()
            self._expect(")")

    def _predicate(self) -> None:
        self._next()
        self._brackets += 1
        self._expression(0)
        self._brackets -= 1
        self._expect("]")


def _counted(least: int, most: int) -> str:
    if most == _ANY:
        return f"at least {least} arguments"
    return f"{least} to {most} arguments" if least < most else f"{least} argument{'' if least == 1 else 's'}"
