"""Network versions on disk, wherever their folder is."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from seine.errors import SeineError
from seine.network.network import Network
from seine.runtime.folder.versions import Versions

ROWS = pa.record_batch({"c0": [1, 2]})


def saved(folder: Path) -> Path:
    folder.mkdir()
    Versions(str(folder)).save(Network(), [], {"r": ROWS})
    return folder


def test_a_folder_can_be_moved(tmp_path: Path) -> None:
    moved = saved(tmp_path / "before").rename(tmp_path / "after")
    assert Versions(str(moved)).relations(0)["r"].equals(ROWS)
    version, _ = Versions(str(moved)).load(0)
    assert Path(version.relations["r"]).is_relative_to(moved)


@pytest.mark.parametrize("place", ["/etc/hostname", "../secret.arrow", "0/../../x.arrow"])
def test_a_version_names_no_file_elsewhere(tmp_path: Path, place: str) -> None:
    path = saved(tmp_path / "networks") / f"{0:012d}" / "network.json"
    form = json.loads(path.read_text())
    form["relations"]["r"] = place
    path.write_text(json.dumps(form))
    with pytest.raises(SeineError, match="damaged"):
        Versions(str(tmp_path / "networks")).load(0)


def test_versions_that_are_gone_are_damage(tmp_path: Path) -> None:
    with pytest.raises(SeineError, match="the checkpoint is damaged"):
        Versions(str(tmp_path / "networks")).first()
    (tmp_path / "networks").mkdir()
    with pytest.raises(SeineError, match="the checkpoint is damaged"):
        Versions(str(tmp_path / "networks")).first()


def test_versions_of_processes_that_have_ended_are_forgotten(tmp_path: Path) -> None:
    """Each process writes one whole version; what came before it is not needed by it."""
    folder = saved(tmp_path / "networks")
    for number in range(1, 5):
        versions, network = Versions(str(folder)), Network()
        network.version = number
        versions.save(network, [], {})
        versions.discard_before(number - 1)
        assert (folder / f"{number - 1:012d}").exists(), "an entry may still be done by it"
        versions.discard_before(number)
        assert [int(path.name) for path in folder.iterdir()] == [number]
        assert versions.first() == number


def test_a_relation_is_kept_as_long_as_a_version_names_it(tmp_path: Path) -> None:
    folder = saved(tmp_path / "networks")
    versions, network = Versions(str(folder)), Network()
    relations = versions.relations(0)
    network.version = 1
    versions.save(network, [], relations)
    versions.discard_before(1)
    assert Versions(str(folder)).relations(1)["r"].equals(ROWS)
