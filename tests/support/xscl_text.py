"""XSCL plans as XSCL text. Law: what is printed reads back as the same plan."""

from __future__ import annotations

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery, SelectedPath
from seine.algebra.plan_text import column_name, print_document_join
from seine.algebra.tree_pattern import print_path, print_pattern
from seine.algebra.types import Kind


def print_xscl(plan: DocumentQuery) -> str:
    """A query as XSCL text, hidden variables as the paths that they stand for."""
    items = None if plan.select is None else ", ".join(map(_print_item, plan.select))
    select = "" if items is None else " ".join(("SELECT", items, "FROM "))
    publish = "" if plan.publish is None else f" PUBLISH {column_name(plan.publish)}"
    return f"{select}{_print_operand(plan.input)}{publish}"


def _print_operand(plan: DocumentJoin | DocumentBlock) -> str:
    if isinstance(plan, DocumentBlock):
        return _print_stream(plan) + print_pattern(plan.pattern)
    return f"{_print_operand(plan.left)} {print_document_join(plan)} {_print_operand(plan.right)}"


def _print_stream(block: DocumentBlock) -> str:
    stream = block.input.stream
    columns = [number for number, field in enumerate(stream.fields) if field.type.kind is Kind.XML]
    column = f".{column_name(stream.fields[block.column].name)}" if len(columns) > 1 else ""
    return column_name(stream.name) + column


def _print_item(item: SelectedPath) -> str:
    return item.variable + ("" if item.path is None else print_path(item.path))
