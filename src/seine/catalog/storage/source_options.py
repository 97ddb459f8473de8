"""The options of a source as one text of the catalog: pairs in the order written.

Of a source that Spark reads, its format and options stand beside them; a secret is a `${NAME}` there too.
"""

from __future__ import annotations

import json
from typing import Any

from seine.algebra.definitions import Source, SparkReader


def options_text(source: Source) -> str:
    """The text of a source's options; `with_options` is the inverse."""
    if source.reader is None:
        return json.dumps(source.options)
    reader = {"format": source.reader.format, "options": source.reader.options}
    return json.dumps({"options": source.options, "reader": reader})


def with_options(path: str, format_: str, text: str) -> Source:
    """A source of a path and format, with the options that a text of `options_text` stands for.

    >>> reader = SparkReader("kafka", (("subscribe", "bids"),))
    >>> source = Source("", "JSON", (("clock", "partition"),), reader)
    >>> with_options("", "JSON", options_text(source)) == source
    True
    """
    form: Any = json.loads(text)
    if isinstance(form, list):
        return Source(path, format_, _pairs(form))
    reader = SparkReader(form["reader"]["format"], _pairs(form["reader"]["options"]))
    return Source(path, format_, _pairs(form["options"]), reader)


def _pairs(form: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in form)
