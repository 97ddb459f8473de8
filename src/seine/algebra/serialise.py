"""JSON serialisation of plans and of definitions of streams and relations.

Written by hand and not by msgspec: an expression is a short list and a type a short text, where a tagged
union of the classes would write every field of every one of them.

Law: what is read back equals what was written. A pattern node is an object with the fields that
differ from their defaults.
"""

from __future__ import annotations

from typing import Any

from seine.algebra.definitions import RelationDef, Scheme, Source, SparkReader, StreamDef
from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery, SelectedPath
from seine.algebra.expressions import Expression, from_json, to_json
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Lookup,
    LookupKind,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    SetKind,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import Frame, Ordering, Over, OverFunction, Rank
from seine.algebra.search_plan import Alternative, SchemaGraphs, Search, Term, Top
from seine.algebra.tree_pattern import PatternNode, TreePattern, ValueTest
from seine.algebra.types import Field, Type

JsonObject = dict[str, Any]
_PLAIN = ("is_attribute", "variable", "hidden", "selected")  # fields of a pattern node, left out if not set


def plan_to_json(plan: Plan) -> JsonObject:
    """A plan as a JSON object. Law: plan_from_json(plan_to_json(plan)) == plan.

    Of a search it has the names of tables alone: it is read back over what is declared.
    """
    if isinstance(plan, Search):
        return _search_to_json(plan)
    form: JsonObject = {"op": type(plan).__name__.lower(), **_fields_of_node_to_json(plan)}
    if plan.inputs:
        form["inputs"] = [plan_to_json(child) for child in plan.inputs]
    return form


def plan_from_json(form: JsonObject, graphs: SchemaGraphs | None = None) -> Plan:
    """The plan that a JSON object of `plan_to_json` stands for; a search is over what these graphs have."""
    if form["op"] == "search":
        assert graphs is not None
        return _search_from_json(form, graphs)
    inputs = [plan_from_json(child) for child in form.get("inputs", ())]
    match form["op"]:
        case "scan":
            return Scan(stream_from_json(form["stream"]), form["alias"], form.get("life"))
        case "lookup":
            return Lookup(relation_from_json(form["relation"]), form["alias"])
        case "select":
            return Select(inputs[0], from_json(form["predicate"]))
        case "project":
            return Project(inputs[0], _expressions(form["expressions"]), tuple(form["names"]))
        case "join":
            return Join(inputs[0], inputs[1], _optional(form["predicate"]))
        case "aggregate":
            calls = tuple(map(_call_from_json, form["calls"]))
            return Aggregate(inputs[0], _expressions(form["keys"]), calls, tuple(form["names"]))
        case "distinct":
            return Distinct(inputs[0])
        case "over":
            frames = [(_call_from_json(call), Frame(*frame)) for call, frame in form["functions"]]
            order = tuple(Ordering(*one) for one in form["order"])
            functions = tuple(OverFunction(call, frame) for call, frame in frames)
            return Over(inputs[0], functions, tuple(form["partition"]), order, tuple(form["names"]))
        case "rank":
            order = tuple(Ordering(*one) for one in form["order"])
            partition = tuple(form["partition"])
            return Rank(inputs[0], form["function"], partition, order, form["most"], form["name"])
        case "unionall":
            return UnionAll(tuple(inputs))
        case "partnerlookup":
            relation = Lookup(relation_from_json(form["relation"]), form["alias"])
            return PartnerLookup(inputs[0], relation, from_json(form["predicate"]), LookupKind(form["kind"]))
        case "except" | "setoperation":  # the former in catalogs from before there were others
            kind = SetKind(form.get("kind", SetKind.EXCEPT))
            return SetOperation(inputs[0], inputs[1], kind, tuple(form.get("reads", ())), form.get("closes"))
    documents = document_plan_from_json(form, inputs)
    if documents is not None:
        return documents
    raise ValueError(f"no plan operator {form['op']!r}")


def _fields_of_node_to_json(plan: Plan) -> JsonObject:
    match plan:
        case Scan(stream, alias, life):
            narrowed = {} if life is None else {"life": life}
            return {"stream": stream_to_json(stream), "alias": alias, **narrowed}
        case Lookup(relation, alias):
            return {"relation": relation_to_json(relation), "alias": alias}
        case Select(_, predicate):
            return {"predicate": to_json(predicate)}
        case Join(_, _, predicate):
            return {"predicate": None if predicate is None else to_json(predicate)}
        case Project(_, expressions, names):
            return {"expressions": [to_json(e) for e in expressions], "names": list(names)}
        case Aggregate(_, keys, calls, names):
            forms = [_call_to_json(call) for call in calls]
            return {"keys": [to_json(key) for key in keys], "calls": forms, "names": list(names)}
        case PartnerLookup(_, Lookup(relation, alias), predicate, LookupKind() as kind):
            named: JsonObject = {"relation": relation_to_json(relation), "alias": alias, "kind": kind.value}
            return {**named, "predicate": to_json(predicate)}
        case SetOperation(_, _, kind, reads, closes):
            closing = {} if closes is None else {"closes": closes}
            return {} if kind is SetKind.EXCEPT else {"kind": kind.value, "reads": list(reads), **closing}
        case Over(_, functions, partition, order, names):
            orders = [[one.column, one.descending, one.nulls_first] for one in order]
            frames = [[f.frame.unit, f.frame.start, f.frame.end] for f in functions]
            framed = [[_call_to_json(f.call), frame] for f, frame in zip(functions, frames, strict=True)]
            parts = {"functions": framed, "partition": list(partition), "order": orders}
            return {**parts, "names": list(names)}
        case Rank(_, function, partition, order, most, name):
            orders = [[one.column, one.descending, one.nulls_first] for one in order]
            numbers = {"partition": list(partition), "order": orders, "most": most}
            return {"function": function, **numbers, "name": name}
    return document_fields_to_json(plan) or {}


def _search_to_json(plan: Search) -> JsonObject:
    return {
        "op": "search",
        "terms": [
            [term.text, [[list(one.words), one.prefix, one.column] for one in term.alternatives]]
            for term in plan.terms
        ],
        "tables": list(plan.graph.tables),
        "max_tuples": plan.max_tuples,
        "fixed": plan.fixed,
        "top": None if plan.top is None else [plan.top.count, plan.top.per],
        "engine": plan.engine,
    }


def _search_from_json(form: JsonObject, graphs: SchemaGraphs) -> Search:
    terms = tuple(
        Term(text, tuple(Alternative(tuple(words), prefix, column) for words, prefix, column in alternatives))
        for text, alternatives in form["terms"]
    )
    graph = graphs.over(name for name in form["tables"] if name in graphs.tables)
    top = None if form["top"] is None else Top(*form["top"])
    return Search(terms, graph, form["max_tuples"], form["fixed"], top, form["engine"])


def stream_to_json(stream: StreamDef) -> JsonObject:
    """A definition as a JSON object, which callers must not change: it is made once for each definition."""
    attributes = stream.__dict__  # frozen, but this follows from the fields
    if "_json" not in attributes:
        attributes["_json"] = _stream_to_json(stream)
    form: JsonObject = attributes["_json"]
    return form


def _stream_to_json(stream: StreamDef) -> JsonObject:
    return {
        "name": stream.name,
        "fields": _fields_to_json(stream.fields),
        "time": stream.time,
        "source": _source_to_json(stream.source),
        "window": stream.window,
        "lateness": stream.lateness,
        "schemes": [_scheme_to_json(scheme) for scheme in stream.schemes],
        "retractable": stream.retractable,
        "importance": stream.importance,
    }


def _scheme_to_json(scheme: Scheme) -> JsonObject:
    return {
        "columns": list(scheme.columns),
        "lifespan": scheme.lifespan,
        "unique": scheme.unique,
        "timeout": scheme.timeout,
        "reused": scheme.reused,
    }


def _scheme_from_json(form: JsonObject) -> Scheme:
    columns, unique, reused = tuple(form["columns"]), form.get("unique", False), form.get("reused", False)
    return Scheme(columns, form["lifespan"], unique, form.get("timeout"), reused)


def stream_from_json(form: JsonObject) -> StreamDef:
    """The definition that a JSON object of `stream_to_json` stands for."""
    return StreamDef(
        name=form["name"],
        fields=_fields_from_json(form["fields"]),
        time=form["time"],
        source=_source_from_json(form["source"]),
        window=form["window"],
        lateness=form["lateness"],
        schemes=tuple(_scheme_from_json(scheme) for scheme in form["schemes"]),
        retractable=form["retractable"],
        importance=form["importance"],
    )


def relation_to_json(relation: RelationDef) -> JsonObject:
    """A definition as a JSON object."""
    return {
        "name": relation.name,
        "fields": _fields_to_json(relation.fields),
        "source": _source_to_json(relation.source),
        "valid": None if relation.valid is None else list(relation.valid),
    }


def relation_from_json(form: JsonObject) -> RelationDef:
    """The definition that a JSON object of `relation_to_json` stands for."""
    valid = None if form["valid"] is None else (form["valid"][0], form["valid"][1])
    return RelationDef(
        form["name"], _fields_from_json(form["fields"]), _source_from_json(form["source"]), valid
    )


def _fields_to_json(fields: tuple[Field, ...]) -> list[list[str]]:
    return [[field.name, str(field.type)] for field in fields]


def _fields_from_json(form: list[list[str]]) -> tuple[Field, ...]:
    return tuple(Field(name, Type.parse(type_)) for name, type_ in form)


def _source_to_json(source: Source | None) -> JsonObject | None:
    if source is None:
        return None
    form: JsonObject = {
        "path": source.path,
        "format": source.format,
        "options": [list(option) for option in source.options],
    }
    reader = source.reader
    if reader is None:
        return form
    return {**form, "reader": {"format": reader.format, "options": [*map(list, reader.options)]}}


def _source_from_json(form: JsonObject | None) -> Source | None:
    if form is None:
        return None
    reader = None
    if "reader" in form:
        reader = SparkReader(form["reader"]["format"], _pairs(form["reader"]["options"]))
    return Source(form["path"], form["format"], _pairs(form["options"]), reader)


def _pairs(form: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in form)


def _call_to_json(call: AggregateCall) -> JsonObject:
    args = [to_json(arg) for arg in call.args]
    form = {"function": call.function, "args": args, "type": str(call.type), "distinct": call.distinct}
    return form if call.fraction is None else {**form, "fraction": call.fraction}


def _call_from_json(form: JsonObject) -> AggregateCall:
    return AggregateCall(
        form["function"],
        _expressions(form["args"]),
        Type.parse(form["type"]),
        form["distinct"],
        form.get("fraction"),
    )


def _expressions(forms: list[Any]) -> tuple[Expression, ...]:
    return tuple(map(from_json, forms))


def _optional(form: list[Any] | None) -> Expression | None:
    return None if form is None else from_json(form)


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
