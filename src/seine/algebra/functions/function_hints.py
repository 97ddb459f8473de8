"""Refusals of functions that are not there, each with the one that has the meaning, or the event-time way."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from seine.algebra.functions.left_out import left_out
from seine.algebra.functions.widening import TypeMismatch

_A_CLOCK = "now"
# of other dialects
_CLOCKS = (
    *("proctime", "proc_time", "processing_time", "getdate", "sysdate", "systimestamp", "clock_timestamp"),
    *("statement_timestamp", "transaction_timestamp", "current_watermark", "unixepoch", "utc_timestamp"),
)
# functions of other dialects, and of Spark over types that there are not, with what has their meaning
_MEANINGS = {
    "splitpart": "split_part(text, ',', n), whose n counts from 1",
    "json_tuple": "get_json_object(text, '$.a') gives one value",
    "json_value": "get_json_object(text, '$.a.b')",
    "json_query": "get_json_object(text, '$.a.b')",
    **dict.fromkeys(
        ("regexp_split_to_array", "string_to_array", "string_split", "str_split"),
        "split_part(text, ',', n), whose n counts from 1; split(text, ',')[i], whose i counts from 0",
    ),
    **dict.fromkeys(("offset", "safe_offset"), "split(text, ',')[i], whose i counts from 0"),
    **dict.fromkeys(("count_char", "string_count"), "regexp_count(text, 'c')"),
    **dict.fromkeys(("group_concat", "concat_agg"), "listagg(text, ',')"),
    **dict.fromkeys(("array_length", "list_count"), "size(array)"),
    "from_unixtime_millis": "timestamp_millis(n)",
    "epoch": "unix_seconds(ts)",
    "epoch_ms": "unix_millis(ts)",
    **dict.fromkeys(
        ("strftime", "format_date", "format_timestamp", "format_datetime"), "date_format(ts, 'yyyy-MM-dd')"
    ),
    "unbase64": "base64(text) the other way round: base64(a) = b",
    "encode": "hex(text), base64(text)",
    "str_to_map": "regexp_extract(text, 'key=([^,]*)') gives one value",
    "xpath": "xpath_string gives the text of the first node, xpath_int(doc, 'count(...)') how many there are",
    "named_struct": "to_json(named_struct('a', x)), or columns of their own",
    "struct": "to_json(struct(x, y)), or columns of their own",
    "array_insert": "array_append(array, text), array_prepend(array, text)",
    "counter_diff": "x - LAG(x) OVER (PARTITION BY ... ORDER BY ts)",
    "mz_now": "FROM bid WINDOW INTERVAL '10' MINUTE: a tuple is alive for so long after its own time",
    **dict.fromkeys(
        ("regexp_match", "regexp_matches"),
        "regexp_extract(text, pattern, n), whose n is the number of a group",
    ),
    **dict.fromkeys(("tumble_start", "tumble"), "window.start, of GROUP BY window(ts, '10 seconds')"),
    "tumble_rowtime": "window_time(window), of GROUP BY window(ts, '10 seconds')",
    "hop_rowtime": "window_time(window), of GROUP BY window(ts, '10 seconds', '2 seconds')",
    "session_rowtime": "window_time(session_window), of GROUP BY session_window(ts, '10 seconds')",
    "tumble_end": "window.end, of GROUP BY window(ts, '10 seconds')",
    **dict.fromkeys(("hop_start", "hop"), "window.start, of GROUP BY window(ts, '10 seconds', '2 seconds')"),
    "hop_end": "window.end, of GROUP BY window(ts, '10 seconds', '2 seconds')",
    **dict.fromkeys(
        ("session_start", "session"), "session_window.start, of GROUP BY session_window(ts, '10 seconds')"
    ),
    "session_end": "session_window.end, of GROUP BY session_window(ts, '10 seconds')",
    "strpos": "instr(text, part)",
    "index": "instr(text, part)",
    "truncate": "floor(x, digits) or ceil(x, digits)",
    "isnumeric": "try_cast(text AS DOUBLE) IS NOT NULL",
    "sha256": "sha2(text, 256)",
    "sha512": "sha2(text, 512)",
    "hashcode": "crc32(text)",
    "hash_code": "crc32(text)",
    "murmur_hash": "crc32(text)",
    "urldecode": "url_decode(text)",
    "urlencode": "url_encode(text)",
    "to_timestamp_ntz": "to_timestamp(text), of UTC",
    "xpath_float": "xpath_double(doc, path)",
    "xpath_short": "xpath_int(doc, path)",
    "float": "double(x)",
    **dict.fromkeys(("smallint", "tinyint"), "int(x)"),
    "make_interval": "make_dt_interval(days, hours, minutes, seconds), make_ym_interval(years, months)",
    "try_make_interval": "make_dt_interval(days, hours, minutes, seconds), make_ym_interval(years, months)",
    **dict.fromkeys(("to_time", "try_to_time", "time"), "date_format(ts, 'HH:mm:ss'), a text"),
    "time_trunc": "date_trunc('HOUR', ts)",
    "time_diff": "timestampdiff(SECOND, a, b)",
    **dict.fromkeys(("unix_nanos", "timestamp_nanos"), "unix_micros(ts), timestamp_micros(n)"),
    "hmac": "a function of your own, by --udf",
    "from_csv": "split(text, ',')[0], or a stream with FORMAT CSV",
    "to_csv": "concat_ws(',', a, b)",
    "from_xml": "xpath_string(doc, 'a/b')",
    "to_xml": "to_json(named_struct('a', x))",
    "sequence": "a stream or relation of the numbers",
    "flatten": "concat(array, array)",
}


def unknown_function(name: str, known: Sequence[str]) -> TypeMismatch:
    """The refusal of a name that is no function.

    >>> refusal = unknown_function("strpos", ["instr"])
    >>> refusal.message, refusal.hint
    ("there is no function 'strpos'", 'instr(text, part)')
    """
    group = left_out(_A_CLOCK if name in _CLOCKS else name)
    if group is not None:
        return TypeMismatch(f"{name} is refused: {group.reason}", hint=_MEANINGS.get(name) or group.hint)
    return TypeMismatch(f"there is no function '{name}'", hint=_MEANINGS.get(name) or _closest(name, known))


def is_clock(name: str) -> bool:
    """Whether a function, of Spark or of another dialect, tells the time of day."""
    group = left_out(name.lower())
    return name.lower() in _CLOCKS or (group is not None and group == left_out(_A_CLOCK))


def clock_refusal(name: str) -> TypeMismatch:
    """The refusal of what depends on the time of day, with the event-time way."""
    group = left_out(_A_CLOCK)
    assert group is not None
    return TypeMismatch(f"{name} is refused: {group.reason}", hint=group.hint)


def _closest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {', '.join(close)}?" if close else "docs/language.md#functions lists all functions"
