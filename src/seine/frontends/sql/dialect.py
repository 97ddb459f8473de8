"""The SQL dialect: Spark's, with double-quoted identifiers and calls that keep their written names."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot.dialects.spark import Spark

_SPECIAL_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR")


class SeineSql(Spark):
    """Functions parse to anonymous calls, except those with special syntax, such as CAST."""

    STRICT_JSON_PATH_SYNTAX = False  # a path that is none is refused when it is bound

    class Tokenizer(Spark.Tokenizer):
        QUOTES: ClassVar = ["'"]
        IDENTIFIERS: ClassVar = ["`", '"']
        STRING_ESCAPES: ClassVar = ["'", "\\"]

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in Spark.Parser.FUNCTION_PARSERS.items() if name in _SPECIAL_SYNTAX
        }
