"""JSON serialisation of XSCL plans. Law: what is read back equals what was written.

A pattern node is an object with the fields that differ from their defaults.
"""

from __future__ import annotations

from typing import Any

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery, SelectedPath
from seine.algebra.plan import Plan, Scan
from seine.algebra.tree_pattern import PatternNode, TreePattern, ValueTest

JsonObject = dict[str, Any]
_PLAIN = ("is_attribute", "variable", "hidden", "selected")  # fields of a pattern node, left out if not set


def document_fields_to_json(plan: Plan) -> JsonObject | None:
    """The fields of an XSCL plan node, without its inputs; None if it is another kind of plan."""
    match plan:
        case DocumentBlock(_, column, pattern):
            return {
                "column": column,
                "root": node_to_json(pattern.root),
                "any_namespace": pattern.any_namespace,
            }
        case DocumentJoin(_, _, ordered, equalities, within):
            return {"ordered": ordered, "equalities": [list(pair) for pair in equalities], "within": within}
        case DocumentQuery(_, select, publish):
            items = None if select is None else [_item_to_json(item) for item in select]
            return {"select": items, "publish": publish}
    return None


def document_plan_from_json(form: JsonObject, inputs: list[Plan]) -> Plan | None:
    """The XSCL plan node of a JSON object over its inputs; None if it is another kind of plan."""
    match form["op"], inputs:
        case "documentblock", [Scan() as scan]:
            pattern = TreePattern(node_from_json(form["root"]), form["any_namespace"])
            return DocumentBlock(scan, form["column"], pattern)
        case "documentjoin", [DocumentJoin() | DocumentBlock() as left, DocumentBlock() as right]:
            equalities = tuple((a, b) for a, b in form["equalities"])
            return DocumentJoin(left, right, form["ordered"], equalities, form["within"])
        case "documentquery", [DocumentJoin() | DocumentBlock() as operand]:
            items = form["select"]
            select = None if items is None else tuple(map(_item_from_json, items))
            return DocumentQuery(operand, select, form["publish"])
    return None


def node_to_json(node: PatternNode) -> JsonObject:
    """A pattern node and all below it."""
    form: JsonObject = {"axis": node.axis, "name": node.name}
    for name in _PLAIN:
        if getattr(node, name):
            form[name] = getattr(node, name)
    if node.tests:
        form["tests"] = [[test.operator, test.constant] for test in node.tests]
    if node.children:
        form["children"] = [node_to_json(child) for child in node.children]
    return form


def node_from_json(form: JsonObject) -> PatternNode:
    """The pattern node that a JSON object of `node_to_json` stands for."""
    tests = tuple(ValueTest(operator, constant) for operator, constant in form.get("tests", ()))
    children = tuple(map(node_from_json, form.get("children", ())))
    return PatternNode(**{**form, "tests": tests, "children": children})


def _item_to_json(item: SelectedPath) -> list[Any]:
    return [item.variable, None if item.path is None else node_to_json(item.path)]


def _item_from_json(form: list[Any]) -> SelectedPath:
    variable, path = form
    return SelectedPath(variable, None if path is None else node_from_json(path))
