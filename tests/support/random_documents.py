"""Random documents and tree patterns, and the bindings of a pattern by lxml's XPath and nested loops."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

from lxml import etree

from seine.algebra.tree_pattern import COMPARISONS, PatternNode, TreePattern, ValueTest

NAMES = ("a", "b", "c")
VALUES = ("", "1", "2", "10", " 2 ", "x", "xy", "1e1")
URI = "urn:n"


def random_document(random: Random, namespaces: bool = True) -> str:
    """A small document with repeated and nested names, attributes, mixed text, comments and namespaces."""
    left = [random.randint(1, 14)]

    def element(depth: int) -> str:
        left[0] -= 1
        name = random.choice(NAMES)
        if namespaces and random.random() < 0.2:
            name = f"p:{name}"
        keys = [key for key in ("k", "m", "p:k" if namespaces else "z") if random.random() < 0.25]
        attributes = "".join(f' {key}="{random.choice(VALUES)}"' for key in keys)
        inside = random.choice(VALUES)
        while depth < 5 and left[0] > 0 and random.random() < 0.6:
            inside += element(depth + 1) + random.choice(["", "", "<!-- x -->", "1", "<?go on?>"])
        return f"<{name}{attributes}>{inside}</{name}>"

    declared = f' xmlns:p="{URI}"'
    text = element(0)
    cut = text.index(">") if " " not in text[: text.index(">")] else text.index(" ")
    return text[:cut] + declared + text[cut:]


def random_pattern(random: Random, any_namespace: bool = False) -> TreePattern:
    """A pattern of some nodes with variables, conditions and attributes; the end of its trunk is selected."""
    numbers = itertools.count()

    def name() -> str:
        return random.choice([*NAMES, *NAMES, "*", f"{{{URI}}}{random.choice(NAMES)}", f"{{{URI}}}*"])

    def test() -> ValueTest:
        if random.random() < 0.3:
            return ValueTest(random.choice(["contains", "starts-with"]), random.choice(["", "x", "1"]))
        return ValueTest(random.choice(COMPARISONS), random.choice(["x", "1", "", 1.0, 2.0, 10.0]))

    def node(depth: int, trunk: bool) -> PatternNode:
        ends = trunk and (depth == 2 or random.random() < 0.5)
        is_attribute = random.random() < 0.15 and (ends or not trunk)
        children = []
        if not is_attribute:
            children = [
                node(depth + 1, False) for _ in range(random.randint(0, 2 - depth if depth < 2 else 0))
            ]
        if trunk and not ends:
            children.append(node(depth + 1, True))
        attribute = random.choice(["k", "m", "*", f"{{{URI}}}k"])
        return PatternNode(
            random.choice(["/", "//", "//"]),
            attribute if is_attribute else name(),
            is_attribute,
            f"v{next(numbers)}" if random.random() < 0.5 else None,
            tests=(test(),) if random.random() < 0.2 else (),
            children=tuple(children),
            selected=ends,
        )

    return TreePattern(node(0, True), any_namespace)


def xpath_step(step: PatternNode, any_namespace: bool) -> str:
    """A step with its conditions, and none of its branches, as XPath from its context node."""
    axis = "." + step.axis if not step.is_attribute else ("./@" if step.axis == "/" else ".//@")
    uri, _, local = step.name.rpartition("}")
    if any_namespace:
        condition = "" if local == "*" else f"[local-name() = '{local}']"
        test = "*" + condition
    elif step.name == "*":
        test = "*"
    elif uri:
        test = f"n:{local}"
    else:
        test = local
    return axis + test + "".join(f"[{_condition(one)}]" for one in step.tests)


def _condition(test: ValueTest) -> str:
    constant = f"'{test.constant}'" if isinstance(test.constant, str) else f"{test.constant:g}"
    if test.operator in COMPARISONS:
        return f"string(.) {test.operator} {constant}"
    return f"{test.operator}(., {constant})"


def matches_by_xpath(pattern: TreePattern, text: str) -> dict[tuple[Any, ...], set[Any]]:
    """Every binding of the variables, with all nodes that embeddings select with it."""
    root = etree.fromstring(text.encode())
    numbers = {element: number for number, element in enumerate(root.iter("*"))}
    total: dict[tuple[Any, ...], set[Any]] = {}

    def identity(node: Any) -> Any:
        if isinstance(node, str):
            return numbers[node.getparent()], node.attrname
        return numbers[node]

    def embeddings(step: PatternNode, at: Any) -> list[tuple[tuple[Any, ...], Any]]:
        matches = []
        for node in at.xpath(xpath_step(step, pattern.any_namespace), namespaces={"n": URI}):
            parts = [embeddings(child, node) for child in step.children]
            for combination in itertools.product(*parts):
                mine = (identity(node),) if step.variable is not None else ()
                key = mine + tuple(one for nodes, _ in combination for one in nodes)
                selected = [one for _, one in combination if one is not None]
                matches.append((key, identity(node) if step.selected else selected[0] if selected else None))
        return matches

    # from above the root element: as XPath has no child axis of a document in lxml, a wrapper stands for it
    wrapper = etree.Element("above")
    wrapper.append(root)
    for key, selected in embeddings(pattern.root, wrapper):
        total.setdefault(key, set()).add(selected)
    return total
