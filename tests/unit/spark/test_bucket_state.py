"""Mapped files: found again while they are used, let go when they are not."""

from __future__ import annotations

from pathlib import Path

from seine.spark.bucket_state import Mappings


def test_a_file_is_mapped_once_while_it_is_used(tmp_path: Path) -> None:
    used, idle = tmp_path / "used", tmp_path / "idle"
    used.write_bytes(b"used")
    idle.write_bytes(b"idle")
    mappings = Mappings()
    assert mappings.get(str(used)) is None
    first = mappings.map(str(used))
    mappings.map(str(idle))
    used.unlink()  # what is mapped stays readable
    for _ in range(40):
        mappings.next_turn()
        mapping = mappings.get(str(used))
        assert mapping is first and mapping.to_pybytes() == b"used"
    assert mappings.get(str(idle)) is None
    mappings.forget(str(used))
    mappings.forget(str(used))
    assert mappings.get(str(used)) is None
