"""A tree of a text that differs from a known one in digits is the one that the parser makes."""

from __future__ import annotations

from itertools import product

from sqlglot import exp

from seine.errors import ScriptError
from seine.frontends.sql.parse_select import TreeReader
from seine.frontends.sql.syntax_tree import SkeletonTrees, syntax_tree
from seine.frontends.text.lexer import ScriptText

TEXTS = (
    "SELECT a, COUNT(*) AS n FROM s GROUP BY {0} HAVING COUNT(*) > {1} AND MIN(b) < {1}.5",
    "SELECT a, c FROM s GROUP BY {0}, {1}",
    "SELECT a, 'x {0} y' AS t FROM s LIMIT {1}",
    "SELECT a FROM s WINDOW {0} WHERE a > -{1}",
    "SELECT CAST(b AS DECIMAL(1{0}, {1})) AS b, r{0}.a, {1}e{0} AS e FROM s r{0}",
    "SELECT d + INTERVAL {0} DAY AS d, d - INTERVAL '{1}' DAY AS f FROM s",
    "SELECT a[{0}] AS b, x.{1} FROM s ORDER BY a LIMIT {1} OFFSET {0}",
    "SELECT a FROM s TABLESAMPLE ({0} PERCENT) WHERE 0{1} = {0}.{1}",
    "SELECT ROW_NUMBER() OVER (ORDER BY a ROWS {0} PRECEDING) AS n FROM s -- {1}",
    "SELECT TUMBLE_START(ts, {0}) AS t, COUNT(*) AS n FROM s GROUP BY TUMBLE(ts, {1})",
    "SELECT (a, {0}) IN ((b, {1})) AS t FROM s",
    "SELECT a FROM s HAVING {0} >",
)


def _nodes_of(tree: exp.Expr) -> list[tuple[str, str, object, object]]:
    """All of a tree, positions included."""
    return [
        (type(one).__name__, repr(one.args.get("this")), one.meta.get("start"), one.meta.get("end"))
        for one in tree.walk()
    ]


def _read(read: TreeReader, source: ScriptText) -> list[tuple[str, str, object, object]] | str:
    """All of the tree of a text, or how it is refused."""
    try:
        return _nodes_of(read(source, 0, len(source.text)))
    except ScriptError as refused:
        return f"{refused} at {refused.where}"


def test_trees_are_those_of_the_parser() -> None:
    trees, read = SkeletonTrees(), 0
    for text, one, other in product(TEXTS, (1, 2, 10, 3), (2, 7, 99, 1)):
        source = ScriptText(text.format(one, other), "q")
        expected = _read(syntax_tree, source)
        assert _read(trees.tree, source) == expected, source.text
        read += isinstance(expected, list)
    assert read > 100


def test_a_tree_belongs_to_whoever_asked() -> None:
    trees = SkeletonTrees()
    texts = [ScriptText(f"SELECT a FROM s LIMIT {n}", "q") for n in (3, 4, 5)]
    given = [trees.tree(text, 0, len(text.text)) for text in texts]
    for tree in given:
        tree.args["limit"].pop()
    assert trees.tree(texts[1], 0, len(texts[1].text)).sql() == "SELECT a FROM s LIMIT 4"
