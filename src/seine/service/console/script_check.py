"""A script checked as a registration would, without registering anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.errors import Position, SeineError, printable
from seine.frontends.script.script import Declarations, Script
from seine.network.network import PreviewedQuery
from seine.safety.cures.cures import Cure, cures
from seine.safety.cures.remedies import SchemeAddition
from seine.safety.verdict import Verdict, verdict
from seine.safety.verdict_story import edges
from seine.service.answers import MOST_QUERIES
from seine.service.console.console_answers import AdditionAnswer, CheckAnswer, CheckedQuery, CureAnswer
from seine.service.refusal_form import refusal_reason
from seine.service.related import Related

Preview = Callable[[Query], tuple[PreviewedQuery, list[Related]]]
Refuse = Callable[[Script], None]


def check_script(
    parse: Callable[[], Script], known: Declarations, stages: int, preview: Preview, refuse: Refuse
) -> CheckAnswer:
    """What a registration would say of a script on top of what is known; `refuse` says who may not.

    Of a script with many queries the first are looked at. A source that it names is not opened.
    """
    answer: CheckAnswer = {"error": None, "queries": [], "drops": [], "declares": [], "stages": stages}
    try:
        script = parse()
        answer["queries"] = [_checked(query, position, preview) for query, position in _first(script)]
        answer["drops"] = [query.name for query in script.dropped.values()]
        answer["declares"] = [name for name in _tables(script.declarations) if name not in _tables(known)]
        refuse(script)
    except SeineError as error:
        answer["error"] = refusal_reason(error)
    return answer


def _first(script: Script) -> list[tuple[Query, Position]]:
    return [one for _, one in zip(range(MOST_QUERIES), script.queries, strict=False)]


def _tables(declared: Declarations) -> list[str]:
    return [*declared.tables, *declared.views]


def _checked(query: Query, position: Position, preview: Preview) -> CheckedQuery:
    judged = verdict(query)
    checked: CheckedQuery = {
        "query": query.name,
        "line": position.line,
        "column": position.column,
        "verdict": "safe" if judged.safe else "by wish" if judged.accepted else "refused",
        "reason": printable(judged.reason),
        "hint": judged.hint,
        "purgeable": judged.purgeable,
        "graph": [
            {"tails": list(edge.tails), "head": edge.head, "label": edge.label} for edge in edges(query.plan)
        ],
        "cures": [] if judged.accepted else _cures(query, judged),
        "builds": None,
        "shares": None,
        "stages": None,
        "related": [],
    }
    if judged.accepted:
        _preview(query, checked, preview)
    return checked


def _preview(query: Query, checked: CheckedQuery, preview: Preview) -> None:
    """Add what the query would build and share, or why it would be refused all the same."""
    try:
        previewed, relations = preview(query)
    except SeineError as error:
        checked["verdict"], checked["reason"], checked["hint"] = "refused", error.message, error.hint
        return
    checked["builds"] = list(previewed.kinds)
    checked["shares"] = len(previewed.added.shared)
    checked["stages"] = previewed.depth
    checked["related"] = [one.to_json() for one in relations]


def _cures(query: Query, judged: Verdict) -> list[CureAnswer]:
    """What can be added to the script: to the declarations of streams, or to the query itself."""
    unbounded: CureAnswer = {
        "text": "WITH (unbounded = true)",
        "additions": [{"kind": "unbounded", "stream": "", "columns": []}],
    }
    if isinstance(query.plan, DocumentQuery):
        return [unbounded]
    if isinstance(query.plan, Search):
        lasting = [name for name, bounded in judged.purgeable.items() if not bounded]
        windows: list[AdditionAnswer] = [
            {"kind": "window", "stream": name, "columns": []} for name in lasting
        ]
        words = " and ".join(f"a WINDOW on {name}" for name in lasting)
        return [{"text": words, "additions": windows}, unbounded]
    return [*map(_cure, cures(query.plan)), unbounded]


def _cure(cure: Cure) -> CureAnswer:
    return {"text": " and ".join(map(str, cure)), "additions": _additions(cure)}


def _additions(cure: Sequence[SchemeAddition]) -> list[AdditionAnswer]:
    return [
        {
            "kind": "punctuation" if addition.columns else "window",
            "stream": addition.stream.name,
            "columns": [addition.stream.fields[column].name for column in addition.columns],
        }
        for addition in cure
    ]
