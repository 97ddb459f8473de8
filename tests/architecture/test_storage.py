"""What is kept goes through a store: who else renames, appends to, cuts or locks files, and why.

The list may only become shorter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import SOURCE, module_of

# module -> why it has files of its own
USERS_FILES = "files of users, that are read or written where they say"
LOCAL_DISK = "a cache or scratch files of one machine, which are made again"
OF_SPARK = "what Spark keeps in its checkpoint"
NOT_YET = "kept, and not yet in the store"

FILES_OF_THEIR_OWN = {
    "disk_sync": "what the local store is built on",
    "cli.hosting": USERS_FILES,
    "cli.try_command": USERS_FILES,
    "intake.guarded_source": USERS_FILES,
    "intake.intake_state": USERS_FILES,
    "intake.parquet": USERS_FILES,
    "intake.line_reader": USERS_FILES,
    "intake.xml_files": USERS_FILES,
    "run_record": NOT_YET,
    "runtime.folder.relation_watch": USERS_FILES,
    "runtime.output.node_files": LOCAL_DISK,
    "runtime.output.outlets": USERS_FILES,
    "runtime.output.query_files": USERS_FILES,
    "runtime.output.segmented_file": USERS_FILES,
    "sinks.delivery": USERS_FILES,
    "sinks.sink_threads": USERS_FILES,
    "spark.engine": LOCAL_DISK,
    "operators.state.relation_index": LOCAL_DISK,
    "runtime.folder.relation_files": LOCAL_DISK,
    "runtime.output.result_index": LOCAL_DISK,
    "scratch_folder": LOCAL_DISK,
    "spark.bucket_state": LOCAL_DISK,
    "spark.offset_log": OF_SPARK,
    "runtime.folder.sampling": "hints, which may be lost",
    "service.access.audit_log": NOT_YET,
    "service.access.token_file": NOT_YET,
    "service.backup.backup_copy": "a copy of a folder, made and read as files",
    "service.backup.folder_snapshot": "a copy of a folder, made and read as files",
    "service.folder": "the folder of a service, whose lock it holds",
    "service.push_door": NOT_YET,
}
_MODULES = {"os", "fcntl", "shutil"}
_CALLS = {"rename", "replace", "link", "truncate", "ftruncate", "flock", "lockf", "move"}
_WHOLE_FILES = {"write_whole", "whole_file"}
_OF_FILES = {"st_mtime", "st_mtime_ns", "st_ctime", "st_ino"}


def _uses(tree: ast.AST) -> Iterator[str]:
    """What a module does to files that a store has no call for."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in _OF_FILES:
                yield name
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
                yield from {name} & _CALLS
            case ast.Call(func=ast.Attribute(attr="truncate")):
                yield "truncate"
            case ast.Call(func=ast.Name(id=name)) if name in _WHOLE_FILES:
                yield name
            case ast.Call(func=ast.Name(id="open"), args=[_, ast.Constant(value=str(mode)), *_]) if (
                "a" in mode
            ):
                yield "append"


def _of(path: Path) -> set[str]:
    return {*_uses(ast.parse(path.read_text()))}


def test_only_some_modules_have_files_of_their_own() -> None:
    outside = [path for path in SOURCE.rglob("*.py") if "storage" not in path.relative_to(SOURCE).parts]
    users = {module_of(path): _of(path) for path in outside}
    assert {module: uses for module, uses in users.items() if uses and module not in FILES_OF_THEIR_OWN} == {}
    assert [module for module in FILES_OF_THEIR_OWN if not users.get(module)] == [], (
        "these need no place here"
    )


def test_the_local_store_is_found_out() -> None:
    assert {"flock", "replace", "link"} <= _of(SOURCE / "storage" / "local.py")
    assert {*_uses(ast.parse("open('x', 'ab'); f.truncate(3); os.rename(a, b); write_whole(p, c)"))} == {
        *("append", "truncate", "rename", "write_whole")
    }
