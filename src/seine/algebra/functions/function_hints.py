"""Refusals of functions that are not there, each with the one that has the meaning, or the event-time way.

Functions of Spark that are not there, by group: why, and what has their meaning.

Law: each function of Spark's registry is one of ours, an operator, or in one of these groups.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from seine.algebra.functions.casting import TypeMismatch

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


@dataclass(frozen=True)
class LeftOut:
    """A group of functions that are left out: the reason, what to do instead, and their names."""

    title: str
    reason: str
    hint: str
    names: tuple[str, ...]


_GROUPS = (
    (
        "time of day",
        "results depend on event times alone",
        "use the stream's timestamp column; to group by time, a window of it, e.g. window(ts, '10 seconds')",
        "curdate current_date current_time current_timestamp current_timezone localtime localtimestamp now",
    ),
    (
        "chance",
        "results depend on the input alone",
        "take something from the row, e.g. crc32(CAST(id AS STRING)) % 100",
        "rand randn random randstr shuffle uniform uuid monotonically_increasing_id",
    ),
    (
        "session and cluster",
        "results depend on the input alone",
        "write a constant, or have it in the input",
        """current_catalog current_database current_path current_schema current_user input_file_block_length
        input_file_block_start input_file_name session_user spark_partition_id user version""",
    ),
    (
        "code and errors",
        "an expression neither stops a query nor runs code of others",
        "WHERE leaves rows out; functions of your own are given by --udf",
        "assert_true java_method raise_error reflect try_reflect",
    ),
    (
        "rows of rows",
        "a function gives one value for a row",
        "get_json_object(text, '$.a') and split(text, ',')[0] give one value",
        """explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack
        sql_keywords python_worker_logs variant_explode variant_explode_outer range collations""",
    ),
    (
        "functions of functions",
        "there are no functions as arguments",
        "array_contains, array_remove, array_except and regexp_replace; or a function of your own, by --udf",
        """aggregate exists filter forall map_filter map_zip_with reduce transform transform_keys
        transform_values zip_with""",
    ),
    (
        "maps and structs",
        "values are scalars, and arrays of texts within expressions",
        "columns of their own; get_json_object(text, '$.a.b'), to_json(named_struct('a', x))",
        """map map_concat map_contains_key map_entries map_from_arrays map_from_entries map_keys map_values
        named_struct str_to_map struct from_csv to_csv schema_of_csv schema_of_json from_xml to_xml
        schema_of_xml""",
    ),
    (
        "other arrays",
        "arrays are what texts and JSON need",
        "greatest(a, b), least(a, b), x IN (a, b); the first by xpath_string, their number by count(...)",
        "array_insert arrays_zip collect_union flatten sentences sequence xpath",
    ),
    (
        "bytes",
        "there is no BINARY",
        "md5, sha2, crc32, hex, base64 of texts; url_encode",
        """aes_decrypt aes_encrypt binary bitmap_count encode from_base32 hmac to_base32 to_binary
        try_aes_decrypt try_to_binary unbase64 unhex""",
    ),
    (
        "other types",
        "types are BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL, STRING, DATE, TIMESTAMP and XML",
        "INT, DOUBLE, TIMESTAMP and xpath_int, xpath_double; from_utc_timestamp(ts, zone) for other clocks",
        """float make_interval make_time smallint time time_diff time_from_micros time_from_millis
        time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc timestamp_nanos
        tinyint to_time to_timestamp_ntz try_make_interval try_to_time unix_nanos xpath_float
        xpath_short""",
    ),
    (
        "variants",
        "there is no VARIANT",
        "get_json_object(text, '$.a.b'), or from_json(text, 'a STRUCT<b: INT>').a.b",
        """is_valid_variant is_variant_null parse_json schema_of_variant schema_of_variant_agg
        to_variant_object try_parse_json try_variant_array_append try_variant_get
        try_variant_insert try_variant_set variant_array_append variant_delete variant_get
        variant_insert variant_set variant_strip_nulls""",
    ),
    (
        "collations",
        "texts compare by code points",
        "lower(text), upper(text)",
        "collate collation",
    ),
    (
        "vectors, places, other formats",
        "values are scalars",
        "a function of your own, by --udf",
        """st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid vector_avg vector_cosine_similarity
        vector_inner_product vector_l2_distance vector_norm vector_normalize vector_sum from_avro
        from_protobuf schema_of_avro to_avro to_protobuf""",
    ),
    (
        "sketches",
        "they cannot take back what a window has ended",
        "approx_count_distinct(x), approx_percentile(x, 0.9), mode(x); COUNT(*) with ORDER BY ... LIMIT n",
        """approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate bitmap_and_agg
        bitmap_construct_agg bitmap_or_agg count_min_sketch histogram_numeric""",
    ),
    (
        "other window functions",
        "it is of counters that begin anew",
        "x - LAG(x) OVER (...)",
        "counter_diff",
    ),
    (
        "measures",
        "there are no metric views",
        "SUM, AVG and the other aggregates",
        "measure",
    ),
)
_SKETCH_FAMILIES = ("hll_", "kll_", "theta_", "tuple_")

LEFT_OUT = tuple(LeftOut(title, reason, hint, tuple(names.split())) for title, reason, hint, names in _GROUPS)
_BY_NAME = {name: group for group in LEFT_OUT for name in group.names}


def left_out(name: str) -> LeftOut | None:
    """The group of a function of Spark that is left out; None for any other name.

    >>> left_out("explode").reason
    'a function gives one value for a row'
    >>> left_out("hll_union").title, left_out("upper")
    ('sketches', None)
    """
    if name.startswith(_SKETCH_FAMILIES):
        return next(group for group in LEFT_OUT if group.title == "sketches")
    return _BY_NAME.get(name)
