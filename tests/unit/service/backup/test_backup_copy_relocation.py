"""Paths below a folder follow it; all others stay."""

from __future__ import annotations

from seine.service.backup.backup_copy import relocated


def test_only_what_lies_below_the_folder_is_moved() -> None:
    text = '["/a/b/c", "/a/bc", "file:/a/b/x", "/z/a/b"]'
    assert relocated(text, "/a/b", "/new") == '["/new/c", "/a/bc", "file:/new/x", "/z/a/b"]'


def test_paths_that_json_escapes_are_moved_too() -> None:
    assert relocated('"/a/\\u00e9/c"', "/a/é", "/ü") == '"/\\u00fc/c"'
