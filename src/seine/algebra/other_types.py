"""Types of other dialects that there are not, each with the type that holds their values."""

from __future__ import annotations

CAST_TYPES = "BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(p,s), STRING, DATE, TIMESTAMP"
_JSON_HINT = "STRING, a JSON text: get_json_object(text, '$.a'), from_json(text, 'a INT').a"
_LIST_HINT = "STRING: split(text, ','), or a JSON array and get_json_object(text, '$[0]')"
_HOLDERS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "BYTE", "SHORT", "INT2", "INT4", "INT16", "INT32"), "INT"),
    **dict.fromkeys(("INT64", "INT8", "UINT", "UINT32", "SERIAL", "BIGSERIAL"), "BIGINT"),
    **dict.fromkeys(("UINT64", "UBIGINT", "HUGEINT", "INT128"), "DECIMAL(20,0)"),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT4", "FLOAT8", "FLOAT64"), "DOUBLE"),
    **dict.fromkeys(("NUMBER", "MONEY", "BIGDECIMAL"), "DECIMAL(p,s)"),
    **dict.fromkeys(("CHAR", "CHARACTER", "NCHAR", "NVARCHAR", "CLOB", "UUID", "ENUM", "INET"), "STRING"),
    **dict.fromkeys(("BOOL",), "BOOLEAN"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES", "BYTEA", "BLOB"), "STRING, as base64 or hex"),
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMPLTZ"), "TIMESTAMP"),
    **dict.fromkeys(("TIMESTAMP_NTZ", "TIMESTAMPNTZ"), "TIMESTAMP, whose clocks are UTC"),
    "TIME": "STRING, or INT seconds of the day",
    "INTERVAL": "BIGINT microseconds",
    **dict.fromkeys(("JSON", "JSONB", "VARIANT", "MAP", "STRUCT", "ROW", "OBJECT"), _JSON_HINT),
    **dict.fromkeys(("ARRAY", "MULTISET"), _LIST_HINT),
}


def holder_hint(name: str) -> str | None:
    """What to write instead of a type of another dialect; None for a name that is none.

    >>> holder_hint("datetime"), holder_hint("int64"), holder_hint("strng")
    ('write TIMESTAMP', 'write BIGINT', None)
    """
    holder = _HOLDERS.get(name.upper())
    return None if holder is None else f"write {holder}"
