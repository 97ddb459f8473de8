"""A folder of format 8, in which files were replaced and folders renamed, as the objects of a store.

    settings.json, failures.json         registers
    functions/index.json, <name>.json    one register
    networks/<v>/network.json, dead.json registers
    journal/entries/<n>/, punctuations/  an object each
    retained/<first>-<last>/             an object each
    handover/<n>/<stage>-<bucket>/       a register, and the segments
    output.json, tally-<n>.jsonl         a record of the log
    topics.json, sinks.json, sinks/      registers; a service had the last beside the pipeline's folder

Law: what is new lies beside what was there until the mark of the format is written; only then the old goes,
`settings.json` last. So whoever is killed in between is followed by one that does it again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from seine.intake.bundle import bundle
from seine.intake.journal import (
    DEAD,
    EntryRecord,
    Journal,
    entry_name,
    file_name,
    punctuations_part,
    replayed_part,
    rows_part,
    run_place,
)
from seine.intake.retained_entries import RetainedSegment, compressed, segment_name
from seine.rows.arrow_ipc import Piece, ipc_pieces
from seine.runtime.folder.failures import FAILURES
from seine.runtime.folder.handover import HANDOVERS, Handover, StateHead
from seine.runtime.folder.kept_functions import (
    FUNCTIONS,
    INDEX,
    FunctionIndex,
    KeptFunctions,
    PickledFunction,
)
from seine.runtime.folder.settings import FORMAT, SETTINGS, damaged, read_record
from seine.runtime.folder.versions import dead_of_version, record_of_version
from seine.storage.log import Log, Register
from seine.storage.store import Store
from seine.typed_json import typed_value, write_json

_BY_NODE = ("state_rows", "port_rows", "memory", "group_rows", "punctuation_rows")


def carry_from_8(store: Store) -> None:
    """Let a folder of format 8 have format 9."""
    _carry_failures(store)
    _carry_functions(store)
    _carry_versions(store)
    _carry_journal(store)
    _carry_retained(store)
    _carry_handovers(store)
    _carry_counts(store)
    _carry_sinks(store)
    _write(store, SETTINGS, {**_json(settings_of_8(store)), "format": FORMAT})
    remove_8(store)


def settings_of_8(store: Store) -> str:
    """The file that says that a folder has format 8, or an older one."""
    return _path(store, "settings.json")


def remove_8(store: Store) -> None:
    """Remove what was carried over, `settings.json` at last."""
    functions = [name for name in store.list(f"{FUNCTIONS}/") if name.endswith(".json")]
    ends = ("/network.json", "/dead.json", ".index")
    networks = [name for name in store.list("networks/") if name.endswith(ends)]
    tallies = [name for name in os.listdir(store.place) if name.startswith("tally-")]
    registers = ["failures.json", "output.json", "topics.json", "sinks.json"]
    store.delete([*registers, *tallies, *functions, *networks])
    for path in _progress(store):
        os.remove(path)
    for folder in [*_handovers(store), "journal/entries", "journal/punctuations", "retained"]:
        shutil.rmtree(_path(store, folder), ignore_errors=True)
    store.delete(["settings.json"])


def _carry_failures(store: Store) -> None:
    path = _path(store, "failures.json")
    if os.path.exists(path):
        _write(store, FAILURES, _json(path))


def _carry_sinks(store: Store) -> None:
    for name, register in (("topics.json", "topics"), ("sinks.json", "sink_identities")):
        if os.path.exists(_path(store, name)):
            _write(store, register, _json(_path(store, name)))
    for path in _progress(store):
        identity = os.path.basename(path).removesuffix(".json")
        _write(store, f"sink_progress/{identity}", _json(path))


def _progress(store: Store) -> list[str]:
    """The files that say how far sinks have come."""
    folders = [_path(store, "sinks")]
    if os.path.exists(_path(store, "..", "catalog.db")):
        folders.append(_path(store, "..", "sinks"))
    return [os.path.join(at, name) for at in folders for name in _names(at) if name.endswith(".json")]


def _carry_functions(store: Store) -> None:
    path = _path(store, FUNCTIONS, "index.json")
    if os.path.exists(path):
        kept = read_record(path, KeptFunctions)
        pickled = {
            one.name: read_record(_path(store, FUNCTIONS, f"{one.name}.json"), PickledFunction)
            for one in kept.functions
            if not one.module
        }
        _write(store, INDEX, FunctionIndex(kept, pickled))


def _carry_versions(store: Store) -> None:
    """Relations are objects as they are."""
    for name in store.list("networks/"):
        number, _, kind = name.removeprefix("networks/").partition("/")
        if kind == "network.json":
            _write(store, record_of_version(int(number)), _json(_path(store, name)))
        elif kind == "dead.json":
            _write(store, dead_of_version(int(number)), _json(_path(store, name)))


def _carry_journal(store: Store) -> None:
    runs = _path(store, "journal", "punctuations")
    for name in _names(runs):
        place = name.removesuffix(".arrow")
        store.put(run_place(place), ipc_pieces(_batch(os.path.join(runs, name))))
    entries = _path(store, "journal", "entries")
    for name in _names(entries):
        if name.isdigit():
            _carry_entry(store, int(name), os.path.join(entries, name))


def _carry_entry(store: Store, number: int, folder: str) -> None:
    path = os.path.join(folder, "entry.json")
    form = _json(path)
    form["runs"] = {name: name for name in form.get("runs", ())}
    try:
        record = typed_value(form, EntryRecord)
    except ValueError:
        raise damaged(path) from None

    def rows(kind: str, stream: str) -> list[Piece]:
        return ipc_pieces(_batch(os.path.join(folder, f"{kind}-{file_name(stream)}.arrow")))

    parts: dict[str, list[Piece]] = {DEAD: [_content(os.path.join(folder, "dead.jsonl"))]}
    parts |= {rows_part(stream): rows("s", stream) for stream in record.rows}
    parts |= {punctuations_part(stream): rows("p", stream) for stream in record.punctuation_counts}
    for i, replay in enumerate(record.replays):
        parts |= {replayed_part(i, stream): rows(f"r{i}", stream) for stream in replay.rows}
    store.put(entry_name(number), bundle(write_json(record), parts))
    journal = Journal(store)
    for name in _names(folder):
        if name.startswith("withheld-"):
            journal.withhold(number, _json(os.path.join(folder, name)))
        elif name == "offered":
            journal.offer(number)


def _carry_retained(store: Store) -> None:
    top = _path(store, "retained")
    for name in _names(top):
        if not name.startswith("."):
            folder = os.path.join(top, name)
            segment = read_record(os.path.join(folder, "segment.json"), RetainedSegment)
            parts = {
                rows_part(stream): compressed(_batch(os.path.join(folder, f"s-{file_name(stream)}.arrow")))
                for stream in segment.rows
            }
            store.put(segment_name(segment), bundle(write_json(segment), parts))


def _carry_handovers(store: Store) -> None:
    for folder in [*_handovers(store)]:
        entry, _, place = folder.removeprefix(HANDOVERS).partition("/")
        stage, _, bucket = place.partition("-")
        path = _path(store, folder)
        head = StateHead.unpacked(_content(os.path.join(path, "head")))
        left = Handover(store, int(entry))
        left.leave(int(stage), int(bucket), head, partial(_beside, path))


def _carry_counts(store: Store) -> None:
    """What counts is in the records of a log since."""
    path = _path(store, "output.json")
    if os.path.exists(path):
        log = Log(store, "log")
        if not log.begin():
            log.append(_first_record(store.place, _json(path)), whole=True)


def _first_record(folder: str, output: dict[str, Any]) -> bytes:
    """The whole record of what `output.json` and the log of counts that it names say."""
    for name in _BY_NODE:
        output[name] = {int(node): value for node, value in output.get(name, {}).items()}
    held = {tuple(map(tuple, one["places"])): one for one in output.pop("held")}
    output["held"] = {places: one["rows"] for places, one in held.items()}
    output["held_peak"] = {places: one["peak"] for places, one in held.items()}
    counts = _counts(folder, output.pop("tally"))
    return msgspec.msgpack.encode({"totals": output, "change": counts})


def _counts(folder: str, place: dict[str, Any] | None) -> dict[str, dict[str, float]]:
    """The sums of a log of counts by query, and of their importance."""
    sums: dict[str, dict[str, float]] = {"added": {}, "importance": {}}
    if place is None:
        return sums
    path = os.path.join(folder, place["name"])
    with open(path, "rb") as file:
        content = file.read(place["bytes"])
    if len(content) < place["bytes"]:
        raise damaged(path)
    for line in content.splitlines():
        change = json.loads(line)
        for kind, known in sums.items():
            for query in change["gone"]:
                known.pop(query, None)
            for query, more in change[kind].items():
                known[query] = known.get(query, 0) + more
    return sums


def _handovers(store: Store) -> Iterator[str]:
    """The folders of stages and buckets that left a head."""
    for name in store.list(HANDOVERS):
        folder, _, last = name.rpartition("/")
        if last == "head":
            yield folder


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _batch(path: str) -> pa.RecordBatch:
    return pa.ipc.open_file(pa.memory_map(path)).get_batch(0)


def _write(store: Store, name: str, record: object) -> None:
    content = write_json(record, indent=1)
    Register(store, name).change(lambda _: content)


def _json(path: str) -> Any:
    try:
        return json.loads(_content(path))
    except ValueError:
        raise damaged(path) from None


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _beside(folder: str, name: str) -> bytes:
    return _content(os.path.join(folder, name))


def _path(store: Store, *parts: str) -> str:
    return os.path.join(store.place, *parts)
