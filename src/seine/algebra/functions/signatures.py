"""Signatures of the functions whose argument and result types are fixed, as a table.

A parameter is a type, `?` marks one that may be left out and `*` one that repeats. Arguments
of other types are cast as Spark's ANSI mode does for functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Call, Expression
from seine.algebra.functions.casting import TypeMismatch, implied_cast
from seine.algebra.types import Type

_SIGNATURE_TABLE = """
upper            string                        -> string
lower            string                        -> string
initcap          string                        -> string
trim             string string?                -> string
ltrim            string string?                -> string
rtrim            string string?                -> string
length           string                        -> int
octet_length     string                        -> int
bit_length       string                        -> int
ascii            string                        -> int
chr              bigint                        -> string
space            int                           -> string
substring        string int int?               -> string
substring_index  string string int             -> string
left             string int                    -> string
right            string int                    -> string
concat           string*                       -> string
concat_ws        string string*                -> string
replace          string string string?         -> string
translate        string string string          -> string
instr            string string                 -> int
locate           string string int?            -> int
reverse          string                        -> string
repeat           string int                    -> string
lpad             string int string?            -> string
rpad             string int string?            -> string
startswith       string string                 -> boolean
endswith         string string                 -> boolean
contains         string string                 -> boolean
split_part       string string int             -> string
md5              string                        -> string
sha1             string                        -> string
sha2             string int                    -> string
crc32            string                        -> bigint
base64           string                        -> string
bin              bigint                        -> string
soundex          string                        -> string
find_in_set      string string                 -> int
luhn_check       string                        -> boolean
parse_url        string string string?         -> string
url_encode       string                        -> string
url_decode       string                        -> string
get_json_object  string string                 -> string
json_array_length string                       -> int
json_object_keys string                        -> array<string>
levenshtein      string string int?            -> int
jaro_winkler_similarity string string          -> double
quote            string                        -> string
mask             string string? string? string? string? -> string
conv             string int int                -> string
split            string string int?            -> array<string>
regexp_extract_all string string int?          -> array<string>
array_contains   array<string> string          -> boolean
array_position   array<string> string          -> bigint
array_join       array<string> string string?  -> string
array_distinct   array<string>                 -> array<string>
array_compact    array<string>                 -> array<string>
array_sort       array<string>                 -> array<string>
sort_array       array<string> boolean?        -> array<string>
array_max        array<string>                 -> string
array_min        array<string>                 -> string
array_remove     array<string> string          -> array<string>
array_append     array<string> string          -> array<string>
array_prepend    array<string> string          -> array<string>
array_repeat     string int                    -> array<string>
array_union      array<string> array<string>   -> array<string>
array_intersect  array<string> array<string>   -> array<string>
array_except     array<string> array<string>   -> array<string>
arrays_overlap   array<string> array<string>   -> boolean
slice            array<string> int int         -> array<string>
element_at       array<string> int             -> string
get              array<string> int             -> string
regexp_replace   string string string          -> string
regexp_count     string string                 -> int
regexp_extract   string string int?            -> string
regexp_instr     string string                 -> int
regexp_substr    string string                 -> string
isnan            double                        -> boolean
sign             double                        -> double
sqrt             double                        -> double
cbrt             double                        -> double
exp              double                        -> double
expm1            double                        -> double
ln               double                        -> double
log10            double                        -> double
log2             double                        -> double
log1p            double                        -> double
power            double double                 -> double
hypot            double double                 -> double
rint             double                        -> double
sin              double                        -> double
cos              double                        -> double
tan              double                        -> double
asin             double                        -> double
acos             double                        -> double
atan             double                        -> double
atan2            double double                 -> double
sinh             double                        -> double
cosh             double                        -> double
tanh             double                        -> double
degrees          double                        -> double
radians          double                        -> double
asinh            double                        -> double
acosh            double                        -> double
atanh            double                        -> double
cot              double                        -> double
sec              double                        -> double
csc              double                        -> double
factorial        int                           -> bigint
width_bucket     double double double bigint   -> bigint
bitmap_bit_position bigint                     -> bigint
bitmap_bucket_number bigint                    -> bigint
year             date                          -> int
quarter          date                          -> int
month            date                          -> int
day              date                          -> int
dayofweek        date                          -> int
weekday          date                          -> int
dayofyear        date                          -> int
weekofyear       date                          -> int
hour             timestamp                     -> int
minute           timestamp                     -> int
second           timestamp                     -> int
date_add         date int                      -> date
date_sub         date int                      -> date
datediff         date date                     -> int
add_months       date int                      -> date
months_between   timestamp timestamp boolean?  -> double
last_day         date                          -> date
next_day         date string                   -> date
dayname          date                          -> string
monthname        date                          -> string
make_timestamp   int int int int int decimal(16,6) -> timestamp
from_utc_timestamp timestamp string            -> timestamp
to_utc_timestamp timestamp string              -> timestamp
make_date        int int int                   -> date
unix_date        date                          -> int
date_from_unix_date int                        -> date
unix_seconds     timestamp                     -> bigint
unix_millis      timestamp                     -> bigint
unix_micros      timestamp                     -> bigint
timestamp_seconds bigint                       -> timestamp
timestamp_millis bigint                        -> timestamp
timestamp_micros bigint                        -> timestamp
"""


@dataclass(frozen=True)
class Signature:
    """A function signature: parameter types, of which the last may repeat, and the result type."""

    parameters: tuple[Type, ...]
    required: int
    variadic: bool
    result: Type

    def bind(self, name: str, args: Sequence[Expression]) -> Call:
        """The typed call, every argument cast to its parameter; refuses a wrong number or type."""
        check_arity(name, args, self.required, None if self.variadic else len(self.parameters))
        parameters = [self.parameters[min(i, len(self.parameters) - 1)] for i in range(len(args))]
        pairs = enumerate(zip(args, parameters, strict=True), 1)
        cast = tuple(implied_cast(arg, type_, f"argument {i} of {name}") for i, (arg, type_) in pairs)
        return Call(name, cast, self.result)


def check_arity(name: str, args: Sequence[Expression], least: int, most: int | None) -> None:
    """Refuse a number of arguments outside of [least, most]; `most` None is no upper bound."""
    if len(args) >= least and (most is None or len(args) <= most):
        return
    wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
    raise TypeMismatch(f"{name} takes {wanted} arguments, not {len(args)}")


def _parse(line: str) -> tuple[str, Signature]:
    left, result = line.split("->")
    name, *parameters = left.split()
    types = tuple(Type.parse(p.rstrip("?*").upper()) for p in parameters)
    optional = sum(p[-1] in "?*" for p in parameters)
    variadic = parameters[-1].endswith("*")
    return name, Signature(types, len(types) - optional, variadic, Type.parse(result.strip().upper()))


SIGNATURES: dict[str, Signature] = dict(_parse(line) for line in _SIGNATURE_TABLE.strip().splitlines())
