"""Spark's xpath functions over one document: an XPath 1.0 expression as a string, number or truth value.

As in Spark the expression starts above the root element (`item/title`), and names are local names, whatever
namespaces a document has. What fails is None: a text that is no acceptable document. Expressions that are
wrong are refused before (`xpath_syntax.py`). A document is parsed once for all expressions.

Differs: of Spark, which stops a query where XML is wrong; name() gives the local name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

from lxml import etree

from seine.algebra.functions.xpath_syntax import LONGEST_XPATH
from seine.documents.document import PARSED
from seine.documents.parse_document import DocumentFault

_STRING_VALUE = etree.XPath("string($value)")
_NUMBER_TEXT = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+))[ \t\r\n]*", re.ASCII)
_FAR_AXIS = re.compile(r"(?:following|preceding|ancestor)(?:-sibling|-or-self)?\s*::")
_WIDE_STEP = re.compile(
    r"//|descendant(?:-or-self)?\s*::|following\s*::|preceding\s*::|ancestor(?:-or-self)?\s*::"
)

_TOKEN = re.compile(
    r"\s+|'[^']*'|\"[^\"]*\"|//|::|\.\.|\d+(?:\.\d*)?|\.\d+|!=|<=|>=|[^\W\d](?:[\w.-]|:(?!:))*|.", re.DOTALL
)
_BEFORE_PATH = ("(", ",", "|", "+", "-", "=", "!=", "<", "<=", ">", ">=")
_BEFORE_NAME = ("/", "//", "::", "@")
_OPERATORS = ("and", "or", "div", "mod", "*")
_NODE_TYPES = ("text", "node", "comment", "processing-instruction")
_Value = str | float | bool | None


def xpath_string(text: str, expression: str) -> str | None:
    """The string value of an expression: of nodes, that of the first; empty if there is none.

    >>> xpath_string("<a><b>b</b><c>cc</c></a>", "a/c"), xpath_string("<a/>", "a/x"), xpath_string("<a", "a")
    ('cc', '', None)
    """
    value = _evaluated(text, expression, _as_string)
    return value if isinstance(value, str) else None


def xpath_double(text: str, expression: str) -> float | None:
    """The number of an expression; NaN if it has none.

    >>> xpath_double("<a><b>1</b><b>2</b></a>", "sum(a/b)"), xpath_double("<a>x</a>", "a")
    (3.0, nan)
    """
    value = _evaluated(text, expression, _as_number)
    return value if isinstance(value, float) else None


def xpath_int(text: str, expression: str) -> int | None:
    """The number of an expression without its fraction, within 32 bits; 0 if it has none.

    >>> xpath_int("<a>-2.9</a>", "a"), xpath_int("<a>x</a>", "a"), xpath_int("<a>99999999999</a>", "a")
    (-2, 0, 2147483647)
    """
    return _whole(xpath_double(text, expression), 2**31)


def xpath_long(text: str, expression: str) -> int | None:
    """The number of an expression without its fraction, within 64 bits; 0 if it has none.

    >>> xpath_long("<a>99999999999</a>", "a"), xpath_long("<a/>", "1 div 0")
    (99999999999, 9223372036854775807)
    """
    return _whole(xpath_double(text, expression), 2**63)


def _whole(number: float | None, limit: int) -> int | None:
    if number is None or math.isnan(number):
        return None if number is None else 0
    return limit - 1 if number >= limit else -limit if number <= -limit else int(number)


def xpath_boolean(text: str, expression: str) -> bool | None:
    """The truth of an expression; nodes are true if there is one.

    >>> xpath_boolean("<a><b/></a>", "a/b"), xpath_boolean("<a><b/></a>", "a/b = 1")
    (True, False)
    """
    value = _evaluated(text, expression, _as_boolean)
    return value if isinstance(value, bool) else None


def xpath_steps(text: str, expression: str) -> int:
    """The steps that an expression may take beyond one walk, guessed from its form and a document's size.

    >>> xpath_steps("<a><b/></a>", "a/b"), xpath_steps("<a><b/></a>", "//a[.//b]")
    (0, 9)
    """
    compiled = _compiled(expression)
    return text.count("<") ** compiled[1] if compiled is not None and compiled[1] > 1 else 0


def _evaluated(text: str, expression: str, convert: Callable[[object], _Value]) -> _Value:
    compiled = _compiled(expression)
    if compiled is None or not text:
        return None
    try:
        return convert(compiled[0](PARSED.local_root(text).getroottree()))
    except (etree.XPathError, DocumentFault):
        return None


@lru_cache(maxsize=1 << 12)
def _compiled(expression: str) -> tuple[etree.XPath, int] | None:
    """A compiled expression, and to which power of a document's size its steps may grow."""
    if not expression or len(expression) > LONGEST_XPATH:
        return None
    try:
        absolute = _absolute(expression)
        return etree.XPath(absolute, regexp=False, smart_strings=False), _power(expression)
    except (etree.XPathError, ValueError):  # lxml refuses control characters as values, not as syntax
        return None


def _absolute(expression: str) -> str:
    """The expression with its relative paths made absolute: lxml would start them at the root element.

    A path begins at a name, `*`, `.` or `@` that follows an operator, a parenthesis or nothing. In a
    predicate it starts from the nodes that are tested.

    >>> _absolute("count(a/b[c = 1]) * 2"), _absolute("a/text() = 'a/b' or //c")
    ('count(/a/b[c = 1]) * 2', "/a/text() = 'a/b' or //c")
    """
    pieces: list[str] = []
    depth, before = 0, "("
    for match in _TOKEN.finditer(expression):
        token = match.group()
        if not token.isspace():
            starts = before in _BEFORE_PATH
            if starts and depth == 0 and _begins_path(token, expression[match.end() :].lstrip()):
                pieces.append("/")
            depth += (token == "[") - (token == "]")
            is_operator = token in _OPERATORS and not starts and before not in _BEFORE_NAME
            before = "+" if is_operator else token
        pieces.append(token)
    return "".join(pieces)


def _begins_path(token: str, rest: str) -> bool:
    if token in ("*", ".", "..", "@"):
        return True
    is_name = token[0].isalpha() or token[0] == "_"
    return is_name and (rest[:1] != "(" or token in _NODE_TYPES)


def _power(expression: str) -> int:
    """One for a walk, one more for each wide step within another's predicate, and for each far axis.

    >>> _power("a/b[@id = 3]"), _power("//a[.//b[.//c]]"), _power("//a/following::b")
    (1, 3, 2)
    """
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", expression)
    nested = most = 0
    wide: list[bool] = []
    for piece in re.split(r"([\[\]])", bare):
        if piece == "[":
            wide.append(False)
        elif piece == "]":
            nested -= wide.pop() if wide else 0
        elif wide and not wide[-1] and _WIDE_STEP.search(piece):
            wide[-1] = True
            nested += 1
            most = max(most, nested)
    return 1 + most + len(_FAR_AXIS.findall(bare))


def _as_string(value: object) -> str:
    if isinstance(value, list):
        first = value[0] if value else ""
        return first if isinstance(first, str) else "".join(getattr(first, "itertext", tuple)())
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(_STRING_VALUE(etree.Element("none"), value=value))


def _as_number(value: object) -> float:
    if isinstance(value, bool | float):
        return float(value)
    match = _NUMBER_TEXT.fullmatch(_as_string(value))
    return math.nan if match is None else float(match[1])


def _as_boolean(value: object) -> bool:
    return bool(value) and not (isinstance(value, float) and math.isnan(value))
