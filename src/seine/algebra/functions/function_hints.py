"""Refusals of functions that are not there, each with the one that has the meaning, or the event-time way."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from seine.algebra.functions.mismatch import TypeMismatch

_EVENT_TIME = (
    "use the stream's timestamp column; to group by time, a window of it such as window(ts, '10 seconds')"
)
_CLOCK_FUNCTIONS = (
    *("current_date", "current_timestamp", "curdate", "now", "localtimestamp", "current_time"),
    *("proctime", "getdate", "sysdate", "systimestamp", "current_timezone", "clock_timestamp"),
)
_RANDOM_FUNCTIONS = (
    *("rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "uniform", "randstr"),
)
# functions of other dialects, and of Spark over types that there are not, with what has their meaning
_MEANINGS = {
    "split_index": "split_part(text, ',', n), whose n counts from 1",
    "split": "split(text, ',')[0] gives one part, and so does split_part(text, ',', 1)",
    "element_at": "element_at(split(text, ','), n) of a text, get_json_object(text, '$[n]') of JSON",
    "str_to_map": "regexp_extract(text, 'key=([^,]*)') gives one value",
    "from_json": "get_json_object(text, '$.a.b') gives one value, to CAST as needed",
    "json_tuple": "get_json_object(text, '$.a') gives one value",
    "json_value": "get_json_object(text, '$.a.b')",
    "json_query": "get_json_object(text, '$.a.b')",
    "regexp_extract_all": "regexp_extract(text, pattern, group) gives the first, regexp_count their number",
    "regexp_split_to_array": "split_part(text, ',', n) gives one part",
    "to_timestamp_ltz": "timestamp_millis(n) or timestamp_seconds(n)",
    "from_unixtime_millis": "timestamp_millis(n)",
    "epoch": "unix_seconds(ts)",
    "epoch_ms": "unix_millis(ts)",
    "to_char": "date_format(ts, 'yyyy-MM-dd')",
    "strftime": "date_format(ts, 'yyyy-MM-dd')",
    "date_bin": "window.start, of GROUP BY window(ts, '10 minutes'), or date_trunc('HOUR', ts)",
    "time_bucket": "window.start, of GROUP BY window(ts, '10 minutes'), or date_trunc('HOUR', ts)",
    **dict.fromkeys(("tumble_start", "tumble"), "window.start, of GROUP BY window(ts, '10 seconds')"),
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
    "hash": "crc32(text), or md5(text)",
    "xxhash64": "crc32(text), or md5(text)",
    "murmur_hash": "crc32(text)",
    "urldecode": "url_decode(text)",
    "urlencode": "url_encode(text)",
    "convert_timezone": "from_utc_timestamp(ts, zone)",
    "size": "json_array_length(text) of a JSON array",
    "cardinality": "json_array_length(text) of a JSON array",
    "levenshtein": "soundex(a) = soundex(b)",
}


def unknown_function(name: str, known: Sequence[str]) -> TypeMismatch:
    """The refusal of a name that is no function.

    >>> refusal = unknown_function("split_index", ["split_part"])
    >>> refusal.message, refusal.hint
    ("there is no function 'split_index'", "split_part(text, ',', n), whose n counts from 1")
    """
    if name in _CLOCK_FUNCTIONS:
        return clock_refusal(name)
    if name in _RANDOM_FUNCTIONS:
        hint = "take something from the row, e.g. crc32(CAST(id AS STRING)) % 100"
        return TypeMismatch(f"{name} is refused: results depend on the input alone", hint=hint)
    if name == "xpath":
        hint = (
            "xpath_string gives the text of the first node, xpath_int(doc, 'count(...)') how many there are"
        )
        return TypeMismatch("xpath gives an array, and there are no arrays", hint=hint)
    return TypeMismatch(f"there is no function '{name}'", hint=_MEANINGS.get(name) or _closest(name, known))


def clock_refusal(name: str) -> TypeMismatch:
    """The refusal of what depends on the time of day, with the event-time way."""
    return TypeMismatch(f"{name} is refused: results depend on event times alone", hint=_EVENT_TIME)


def _closest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    return f"did you mean {', '.join(close)}?" if close else "docs/language.md#functions lists all functions"
