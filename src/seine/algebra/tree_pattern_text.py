"""Tree patterns as XPath text with variables. Law: what is printed reads back as the same pattern.

>>> from seine.algebra.tree_pattern import PatternNode, TreePattern, ValueTest
>>> author = PatternNode("//", "author", variable="x", tests=(ValueTest("!=", "me"),))
>>> print_pattern(TreePattern(PatternNode("//", "book", variable="b", children=(author,), selected=True)))
"//book->b[.//author->x[. != 'me']]"
"""

from __future__ import annotations

import re

from seine.algebra.tree_pattern import TEXT_TESTS, PatternNode, TreePattern, ValueTest

_CLARK = re.compile(r"\{(.*)\}(.*)", re.DOTALL)


def print_pattern(pattern: TreePattern) -> str:
    """The path of a block, without its stream."""
    return print_path(pattern.root)


def print_path(node: PatternNode) -> str:
    """The steps from a pattern node to the selected one; all other branches are predicates."""
    trunk = [child for child in node.children if child.leads_to_selected]
    return _print_step(node) + "".join(map(print_path, trunk))


def _print_step(node: PatternNode) -> str:
    shown = node.variable is not None and not node.hidden
    binding = f"->{node.variable}" if shown else ""
    branches = [child for child in node.children if not child.leads_to_selected and not _is_hidden(child)]
    predicates = [*map(_print_test, node.tests), *(f".{_print_step(child)}" for child in branches)]
    return f"{node.axis}{_print_name(node)}{binding}" + "".join(f"[{one}]" for one in predicates)


def _is_hidden(node: PatternNode) -> bool:
    """Whether a branch is there for a hidden variable: the join predicate has its text.

    Below a branch that was written there may be such a branch too, but then below a variable of it.
    """
    variables = [one for one in node.walk() if one.variable is not None]
    return bool(variables) and all(one.hidden for one in variables)


def _print_name(node: PatternNode) -> str:
    clark = _CLARK.fullmatch(node.name)
    name = node.name if clark is None else f"Q{{{clark[1]}}}{clark[2]}"
    return f"@{name}" if node.is_attribute else name


def _print_test(test: ValueTest) -> str:
    if test.operator in TEXT_TESTS:
        return f"{test.operator}(., {print_constant(test.constant)})"
    return f". {test.operator} {print_constant(test.constant)}"


def print_constant(constant: str | float) -> str:
    """A constant of a predicate: a quote within a string is doubled."""
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    return str(int(constant)) if constant == int(constant) and abs(constant) < 2**53 else repr(constant)


def print_term(variable: str, path: PatternNode) -> str:
    """A path that is applied to a variable in a predicate, as its hidden variable is named: x//author."""
    return variable + print_path(path)
