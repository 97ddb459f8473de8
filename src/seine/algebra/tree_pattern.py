r"""Tree patterns over XML documents: XPath steps with variables, as a tree of pattern nodes.

A pattern node is one step: an axis, a name, conditions on the node's string value, perhaps a variable. Its
children are the steps that start from it. An *embedding* maps every pattern node to an element or attribute
of one document so that axes, names and conditions hold; the *bindings* of a pattern are the distinct
assignments of its variables over all embeddings.

    S//book->b[.//author->x][price > 10]/title

              //book  b
             /    |    \
     //author  /price   /title
        x       > 10    (selected: the end of the block's path)

Names are in Clark notation, `{uri}local`, a name in no namespace being `local`; `*` stands for any name and
`{uri}*` for any name of one namespace. Where a pattern ignores namespaces, its names are local names.

Paths by which columns are read from documents: WITH (ts = '/item/pubDate', id = '@id').

    path = ["/" | "//"] ["@"] name {("/" | "//") ["@"] name}

A path that does not begin with a slash starts at the root element. Names are as in XSCL: a prefix must be
declared, `*` is any name, and only the last step may be an attribute.

How the names of a stream's documents are compared: exactly, by declared prefixes, or by local part alone.

The option of a stream is `namespaces = 'ignore'`, or prefixes and the namespaces that they stand for:
`namespaces = 'atom=http://www.w3.org/2005/Atom dc=http://purl.org/dc/elements/1.1/'`.

Cites: MMQJP 2 (XSCL)

Tree patterns as XPath text with variables. Law: what is printed reads back as the same pattern.

>>> author = PatternNode("//", "author", variable="x", tests=(ValueTest("!=", "me"),))
>>> print_pattern(TreePattern(PatternNode("//", "book", variable="b", children=(author,), selected=True)))
"//book->b[.//author->x[. != 'me']]"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

CHILD, DESCENDANT = "/", "//"
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
TEXT_TESTS = ("contains", "starts-with")
_NAME_PART = r"[^\W\d][\w.-]*"
_STEP = re.compile(rf"(//|/)?(@)?(?:({_NAME_PART}):)?({_NAME_PART}|\*)")
FieldPath = tuple[tuple[str, str, bool], ...]  # axis, name in Clark notation, whether it is an attribute
IGNORE = "ignore"
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"  # of the prefix xml, which nobody has to declare
_DECLARATION = re.compile(r"([^\W\d][\w.-]*)=([^\s{}]+?),?")


@dataclass(frozen=True)
class ValueTest:
    """A condition on the string value of a node: `. = 'x'`, `. > 10`, `contains(., 'word')`.

    Compared with a number, or by order, a value is read as a number as XPath does: what is no number is
    NaN, which is unequal to everything.
    """

    operator: str
    constant: str | float

    def __post_init__(self) -> None:
        if self.operator not in (*COMPARISONS, *TEXT_TESTS):
            raise ValueError(f"no operator {self.operator!r}")
        if self.operator in TEXT_TESTS and not isinstance(self.constant, str):
            raise ValueError(f"{self.operator} looks for a string")


@dataclass(frozen=True)
class PatternNode:
    """One step of a tree pattern and all steps that start from it.

    For an element, `/` is a child and `//` a proper descendant of the node of the step before; for an
    attribute, `/` is one of that node and `//` one of that node or of a descendant. A `hidden` variable
    stands for a path in a join predicate: it is joined and not reported. One node is `selected`.
    """

    axis: str
    name: str
    is_attribute: bool = False
    variable: str | None = None
    hidden: bool = False
    tests: tuple[ValueTest, ...] = ()
    children: tuple[PatternNode, ...] = ()
    selected: bool = False

    def __post_init__(self) -> None:
        if self.axis not in (CHILD, DESCENDANT) or not self.name:
            raise ValueError(f"not a step: {self.axis}{self.name}")
        if self.is_attribute and self.children:
            raise ValueError("nothing lies below an attribute")
        if self.hidden and self.variable is None:
            raise ValueError("only a variable is hidden")

    def walk(self) -> Iterator[PatternNode]:
        """This node and all below it, in the order of writing."""
        yield self
        for child in self.children:
            yield from child.walk()

    def with_children(self, added: Iterable[PatternNode]) -> PatternNode:
        """The node with further steps below it, before the one that leads to the selected node."""
        trunk = tuple(one for one in self.children if one.leads_to_selected)
        others = (one for one in self.children if not one.leads_to_selected)
        return replace(self, children=(*dict.fromkeys((*others, *added)), *trunk))

    @cached_property
    def leads_to_selected(self) -> bool:
        """Whether the selected node is this one or lies below it."""
        return self.selected or any(child.leads_to_selected for child in self.children)

    @cached_property
    def is_told(self) -> bool:
        """Whether this node, or one below it, binds a variable or is selected; else it must only be there."""
        here = self.variable is not None or self.selected
        return here or any(child.is_told for child in self.children)


@dataclass(frozen=True)
class TreePattern:
    """The tree pattern of one block. `any_namespace`: names are compared by their local part alone."""

    root: PatternNode
    any_namespace: bool = False

    def __post_init__(self) -> None:
        names = [node.variable for node in self.root.walk() if node.variable is not None]
        if len(set(names)) < len(names):
            raise ValueError("a pattern binds each variable once")
        if sum(node.selected for node in self.root.walk()) != 1:
            raise ValueError("a pattern selects one node")

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All variables, hidden ones too, in the order of writing."""
        return tuple(node.variable for node in self.root.walk() if node.variable is not None)

    @cached_property
    def reported(self) -> tuple[str, ...]:
        """The variables whose bindings are reported, in the order of writing."""
        return tuple(n.variable for n in self.root.walk() if n.variable is not None and not n.hidden)

    def node_of(self, variable: str) -> PatternNode:
        """The pattern node that binds a variable."""
        return next(node for node in self.root.walk() if node.variable == variable)

    def path_to(self, variable: str) -> tuple[PatternNode, ...]:
        """The nodes from the root to the one that binds a variable."""
        return next(path for path in paths_of(self.root) if path[-1].variable == variable)

    def changed(self, variable: str, change: Callable[[PatternNode], PatternNode]) -> TreePattern:
        """The pattern with the node of a variable replaced."""
        return replace(self, root=_changed(self.root, variable, change))


def paths_of(node: PatternNode, above: tuple[PatternNode, ...] = ()) -> Iterator[tuple[PatternNode, ...]]:
    """The nodes from a root down to it and to each node below it, in the order of writing."""
    path = (*above, node)
    yield path
    for child in node.children:
        yield from paths_of(child, path)


def _changed(node: PatternNode, variable: str, change: Callable[[PatternNode], PatternNode]) -> PatternNode:
    if node.variable == variable:
        return change(node)
    return replace(node, children=tuple(_changed(one, variable, change) for one in node.children))


def definition(path: tuple[PatternNode, ...]) -> tuple[PatternNode, ...]:
    """What the last node of a path is by structure alone: the path without any variable.

    Law: two variables of one block with equal definitions below the same node are one variable.

    Cites: MMQJP 2 (variables with the same definition have the same name)
    """
    return tuple(
        replace(_bare(node), children=tuple(_bare_tree(one) for one in node.children if one is not below))
        for node, below in zip(path, (*path[1:], None), strict=True)
    )


def _bare(node: PatternNode) -> PatternNode:
    return replace(node, variable=None, hidden=False, selected=False, children=())


def _bare_tree(node: PatternNode) -> PatternNode:
    return replace(_bare(node), children=tuple(map(_bare_tree, node.children)))


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


def read_field_path(text: str, prefixes: Mapping[str, str] | None) -> FieldPath:
    """The steps of a path from the document down; `prefixes` None: namespaces are ignored.

    >>> read_field_path("/item/@id", {})
    (('/', 'item', False), ('/', 'id', True))
    >>> read_field_path("pubDate", {})
    (('/', '*', False), ('/', 'pubDate', False))
    """
    steps: list[tuple[str, str, bool]] = []
    rest = text.strip()
    while rest:
        match = _STEP.match(rest)
        if match is None or (steps and (match[1] is None or steps[-1][2])):
            raise ValueError(f"{text!r} is no path: write '/item/pubDate' or '/item/@id'")
        if match[1] is None:
            steps.append((CHILD, "*", False))
        steps.append((match[1] or CHILD, _clark(match[3], match[4], prefixes), match[2] is not None))
        rest = rest[match.end() :]
    if not steps:
        raise ValueError("the path is empty")
    return tuple(steps)


def _clark(prefix: str | None, local: str, prefixes: Mapping[str, str] | None) -> str:
    if prefix is None or prefixes is None:
        return local
    if prefix not in prefixes:
        raise ValueError(f"prefix {prefix} is not declared: add namespaces = '{prefix}=...'")
    return f"{{{prefixes[prefix]}}}{local}"


def read_prefixes(option: str | None) -> Mapping[str, str] | None:
    """The prefixes that an option declares, each with its namespace; None if namespaces are ignored.

    >>> read_prefixes("a=urn:a, b=urn:b")
    {'xml': 'http://www.w3.org/XML/1998/namespace', 'a': 'urn:a', 'b': 'urn:b'}
    >>> read_prefixes("ignore") is None
    True
    """
    if option == IGNORE:
        return None
    matches = [_DECLARATION.fullmatch(word) for word in (option or "").split()]
    if not all(matches):
        raise ValueError("namespaces are 'ignore', or prefix=namespace, separated by spaces")
    return {"xml": XML_NAMESPACE} | {match[1]: match[2] for match in matches if match is not None}


def joined_prefixes(options: Iterable[str | None]) -> str:
    """The option of documents that come from several streams: what their options declare together.

    Where one ignores namespaces, all do. A prefix that they declare differently stands for nothing.

    >>> joined_prefixes(["a=urn:a b=urn:b", None, "b=urn:c d=urn:d"]), joined_prefixes([None, "ignore"])
    ('a=urn:a d=urn:d', 'ignore')
    """
    declared: dict[str, set[str]] = {}
    for option in options:
        prefixes = read_prefixes(option)
        if prefixes is None:
            return IGNORE
        for prefix, namespace in prefixes.items():
            declared.setdefault(prefix, set()).add(namespace)
    del declared["xml"]
    return " ".join(f"{prefix}={uris.pop()}" for prefix, uris in declared.items() if len(uris) == 1)
