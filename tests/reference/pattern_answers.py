"""The answers of the XSCL queries of a script, those too that read what others publish."""

from __future__ import annotations

import math
import re
from typing import Any

from tests.reference.lives import Lives
from tests.reference.script import Script
from tests.reference.xscl_answers import Answer, Document, answers, published

_XSCL = re.compile(r"XSCL\s*\$\$(.*)\$\$\s*$", re.I | re.S)


def is_xscl(text: str) -> bool:
    """Whether the text of a query is one of XSCL."""
    return _XSCL.match(text) is not None


class PatternAnswers:
    """XSCL over the documents of all streams, in plain units of time."""

    def __init__(self, script: Script, lives: dict[str, Lives]) -> None:
        matches = {name: _XSCL.match(text) for name, text in script.queries.items()}
        self._texts = {name: match[1] for name, match in matches.items() if match}
        self._publishers = {published(text): name for name, text in self._texts.items()}
        self._documents = {
            name: [_document(life.row[column], life.start, life.natural) for life in lives[name].tuples]
            for name, table in script.tables.items()
            for column in [one for one, type_ in table.columns.items() if type_ == "XML"][:1]
        }

    def of(self, query: str) -> list[tuple[int, float, dict[str, Any]]]:
        """Start, end and row of each result."""
        return [(one.t_start, _end(one), _row(one)) for one in self._answers(query)]

    def _answers(self, query: str) -> list[Answer]:
        streams = dict(self._documents)
        for stream, publisher in self._publishers.items():
            if stream is not None and publisher != query and re.search(rf"\b{stream}\b", self._texts[query]):
                streams[stream] = [
                    Document(one.t_start, one.doc, one.t_end) for one in self._answers(publisher)
                ]
        return answers(self._texts[query], streams)


def _document(text: str, start: float, end: float) -> Document:
    return Document(int(start), text, None if end == math.inf else int(end))


def _end(one: Answer) -> float:
    return math.inf if one.t_end is None else one.t_end


def _row(one: Answer) -> dict[str, Any]:
    bindings = {name: int(number) if number.isdigit() else number for name, number in one.bindings}
    return {"left_ts": one.left_ts, "right_ts": one.right_ts, "bindings": bindings, "doc": one.doc}
