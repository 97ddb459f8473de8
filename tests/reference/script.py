"""A small reader of scripts: enough for the generator, the case files and the conformance kit.

It knows no errors: what it is given is a right script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MICROSECONDS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86400 * 10**6}


@dataclass(frozen=True)
class Scheme:
    columns: tuple[str, ...]
    lifespan: int | None


@dataclass(frozen=True)
class Table:
    """A stream (it has a time column) or a relation."""

    name: str
    columns: dict[str, str]  # name -> type as written, in upper case
    path: str
    time: str | None = None
    window: int | None = None
    lateness: int = 0
    schemes: tuple[Scheme, ...] = ()
    retractable: bool = False
    valid: tuple[str, str] | None = None

    @property
    def is_stream(self) -> bool:
        return self.time is not None


Edge = tuple[tuple[str, str], tuple[str, str]]  # two tables, with a column of each


@dataclass
class Script:
    tables: dict[str, Table] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)  # name -> SELECT or SEARCH
    edges: list[Edge] = field(default_factory=list)  # of CREATE JOIN


_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$\$.*?\$\$|;|.", re.S)


def statements(text: str) -> list[str]:
    """Cut at semicolons outside quotes, without comments."""
    collected: list[str] = []
    current: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == ";":
            collected.append("".join(current).strip())
            current = []
        elif not token.startswith(("--", "/*")):
            current.append(token)
    return [statement for statement in (*collected, "".join(current).strip()) if statement]


def fold(name: str) -> str:
    """Identifiers ignore case unless quoted."""
    return name[1:-1] if name[:1] in '"`' else name.lower()


_NAME = r'("[^"]*"|`[^`]*`|\w+)'
_CREATE = re.compile(rf"CREATE\s+(STREAM|RELATION)\s+{_NAME}\s*\(", re.I)
_QUERY = re.compile(rf"CREATE\s+QUERY\s+{_NAME}\s+(?:WITH\s*\([^)]*\)\s*)?AS\s+(.*)", re.I | re.S)
_DROP = re.compile(rf"DROP\s+(QUERY|STREAM|RELATION|VIEW)\s+{_NAME}", re.I)
_VIEW = re.compile(rf"CREATE\s+VIEW\s+{_NAME}\s*(\([^)]*\))?\s*AS\s+(.*)", re.I | re.S)
_JOIN = re.compile(rf"(CREATE|DROP)\s+JOIN\s+{_NAME}\.{_NAME}\s*=\s*{_NAME}\.{_NAME}", re.I)


def read_script(text: str) -> Script:
    """Every declaration that the script leaves standing."""
    script = Script()
    views: dict[str, tuple[str, str]] = {}
    for statement in statements(text):
        if match := _CREATE.match(statement):
            table = _table(match.group(1), fold(match.group(2)), statement[match.end() :])
            script.tables[table.name] = table
        elif match := _VIEW.match(statement):
            views[fold(match.group(1))] = (expanded(match.group(3), views), match.group(2) or "")
        elif match := _QUERY.match(statement):
            script.queries[fold(match.group(1))] = expanded(match.group(2), views)
        elif match := _DROP.match(statement):
            holders = {"QUERY": script.queries, "VIEW": views}
            del holders.get(match.group(1).upper(), script.tables)[fold(match.group(2))]
        elif match := _JOIN.match(statement):
            left, left_column, right, right_column = map(fold, match.groups()[1:])
            edge = ((left, left_column), (right, right_column))
            if match.group(1).upper() == "CREATE":
                script.edges.append(edge)
            else:
                script.edges = [other for other in script.edges if {*other} != {*edge}]
        else:
            raise ValueError(f"not a statement this reader knows: {statement[:60]}")
    return script


def expanded(select: str, views: dict[str, tuple[str, str]]) -> str:
    """A SELECT with the texts of views in their place, each with the columns that it names.

    >>> expanded("SELECT a FROM v WHERE a > 1", {"v": ("SELECT a FROM s", "")})
    'SELECT a FROM (SELECT a FROM s) v WHERE a > 1'
    """

    def text(match: re.Match[str]) -> str:
        before, name, alias = match.groups()
        if fold(name) not in views:
            return match.group()
        select, columns = views[fold(name)]
        return f"{before}({select}) {alias or fold(name)}{columns}"

    alias = rf"(?:\s+(?!(?:{_CLAUSES})\b)(\w+))?"
    return re.sub(rf"(\b(?:FROM|JOIN)\s+|,\s*){_NAME}{alias}", text, select, flags=re.I)


_CLAUSES = "FROM|WHERE|GROUP|JOIN|ON|HAVING|UNION|EXCEPT|ORDER|LIMIT|AS"


def _table(kind: str, name: str, rest: str) -> Table:
    end = _closing(rest)
    columns = dict(_column(part) for part in re.split(r",(?![^(]*\))", rest[:end]))
    clauses = rest[end + 1 :]
    path = re.search(r"\bFROM\s+'((?:[^']|'')*)'", clauses, re.I)
    assert path, f"{name} has no FROM"
    if kind.upper() == "RELATION":
        valid = re.search(rf"VALID\s+FROM\s+{_NAME}\s+TO\s+{_NAME}", clauses, re.I)
        interval = (fold(valid.group(1)), fold(valid.group(2))) if valid else None
        return Table(name, columns, path.group(1), valid=interval)
    time = re.search(rf"TIMESTAMP\s+BY\s+{_NAME}", clauses, re.I)
    assert time, f"{name} has no TIMESTAMP BY"
    return Table(
        name,
        columns,
        path.group(1),
        time=fold(time.group(1)),
        window=_length("WINDOW", clauses),
        lateness=_length("LATENESS", clauses) or 0,
        schemes=_schemes(clauses),
        retractable=bool(re.search(r"\bRETRACTABLE\b", clauses, re.I)),
    )


def _closing(text: str) -> int:
    depth = 1
    for position, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return position
    raise ValueError("unbalanced parentheses")


def _column(text: str) -> tuple[str, str]:
    match = re.match(rf"\s*{_NAME}\s+(.*)", text, re.S)
    assert match, f"not a column: {text}"
    return fold(match.group(1)), re.sub(r"\s", "", match.group(2)).upper()


def _length(word: str, clauses: str) -> int | None:
    match = re.search(rf"\b{word}\s+(?:INTERVAL\s+'?(\d+)'?\s+(\w+?)S?\b|(\d+))", clauses, re.I)
    if not match:
        return None
    return (
        int(match.group(3)) if match.group(3) else int(match.group(1)) * MICROSECONDS[match.group(2).lower()]
    )


def _schemes(clauses: str) -> tuple[Scheme, ...]:
    collected = []
    for match in re.finditer(r"PUNCTUATED\s+ON\s*\(([^)]*)\)(\s+LIFESPAN\s+[^)]*)?", clauses, re.I):
        columns = tuple(fold(name.strip()) for name in match.group(1).split(","))
        collected.append(Scheme(columns, _length("LIFESPAN", match.group(2) or "")))
    return tuple(collected)
