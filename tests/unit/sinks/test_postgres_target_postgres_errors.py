"""No line of an error has a value of a row, whatever the language of the server."""

from __future__ import annotations

import psycopg
import pytest

from seine.sinks.postgres_target import error_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('invalid input syntax for type bigint: "horse"', "invalid input syntax for type bigint"),
        ("ungültige Eingabesyntax für Typ bigint: »horse«", "ungültige Eingabesyntax für Typ bigint"),
        ("syntaxe en entrée invalide pour le type bigint : « horse »", "le type bigint"),
        ('型bigintの入力構文が不正です: "horse"', "不正です"),
        ("nieprawidłowa składnia dla typu bigint: „horse”", "dla typu bigint"),
        ("value too long for type character varying(3)", "character varying(3)"),
    ],
)
def test_values_are_cut_off(text: str, line: str) -> None:
    shown = error_line(psycopg.errors.InvalidTextRepresentation(f"{text}\nCONTEXT: COPY t: horse"))
    assert shown.rstrip(" :").endswith(line) and "horse" not in shown


def test_other_errors_keep_their_first_line() -> None:
    error = psycopg.errors.UndefinedTable('relation "x" does not exist\nLINE 1: ...')
    assert error_line(error) == 'relation "x" does not exist'
