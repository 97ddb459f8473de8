"""Network versions, wherever their store is."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from seine.errors import SeineError
from seine.network.network import Network
from seine.runtime.folder.versions import Versions, record_of_version
from seine.storage.local import LocalStore
from seine.storage.log import Register
from seine.storage.memory import MemoryStore

ROWS = pa.record_batch({"c0": [1, 2]})


def saved() -> MemoryStore:
    store = MemoryStore()
    Versions(store).save(Network(), [], {"r": ROWS})
    return store


def test_a_folder_can_be_moved(tmp_path: Path) -> None:
    Versions(LocalStore(str(tmp_path / "before"))).save(Network(), [], {"r": ROWS})
    moved = Versions(LocalStore(str((tmp_path / "before").rename(tmp_path / "after"))))
    assert moved.relations(0)["r"].equals(ROWS)


@pytest.mark.parametrize("place", ["/etc/hostname", "../secret.arrow", "0/../../x.arrow"])
def test_a_version_names_no_object_elsewhere(place: str) -> None:
    store = saved()
    register = Register(store, record_of_version(0))
    form = json.loads(register.read() or b"")
    form["relations"]["r"] = place
    register.write(json.dumps(form).encode())
    with pytest.raises(SeineError, match="damaged"):
        Versions(store).load(0)


def test_versions_that_are_gone_are_damage() -> None:
    with pytest.raises(SeineError, match="the checkpoint is damaged"):
        Versions(MemoryStore()).first()
    with pytest.raises(SeineError, match="the checkpoint is damaged"):
        Versions(MemoryStore()).load(0)


def test_a_version_that_never_became_true_is_written_over() -> None:
    store = saved()
    versions, network = Versions(store), Network()
    network.version = 1
    versions.save(network, [], {"r": ROWS}, [{"reason": "no"}])
    assert versions.dead_letters(1) == [{"reason": "no"}]
    Versions(store).save(network, [], {"r": ROWS.slice(1)})
    assert versions.dead_letters(1) == [] == versions.dead_letters(0)
    assert Versions(store).relations(1)["r"].equals(ROWS.slice(1))


def test_versions_of_processes_that_have_ended_are_forgotten() -> None:
    """Each process writes one whole version; what came before it is not needed by it."""
    store = saved()
    for number in range(1, 5):
        versions, network = Versions(store), Network()
        network.version = number
        versions.save(network, [], {})
        versions.discard_before(number - 1)
        assert [*store.list(record_of_version(number - 1))], "an entry may still be done by it"
        versions.discard_before(number)
        assert {name.split("/")[1] for name in store.list("networks/")} == {f"{number:012d}"}
        assert versions.first() == number


def test_a_relation_is_kept_as_long_as_a_version_names_it() -> None:
    store = saved()
    versions, network = Versions(store), Network()
    relations = versions.relations(0)
    network.version = 1
    versions.save(network, [], relations)
    versions.discard_before(1)
    assert Versions(store).relations(1)["r"].equals(ROWS)
