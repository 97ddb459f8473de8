"""A bucket's segments in Spark's state store, decoded once for all workers of a machine.

Spark's Python workers have no affinity to partitions, so a cache in a worker's memory would
mostly miss. Segments are immutable and have names that are unique for ever: any worker maps the file of
that name if it is there, and fetches it from the state store if it is not. Whether a segment is alive
only the head says, and the head comes from the state store each time.

Files that this process has mapped, by path: to map one anew costs a page fault for each page that is read.

Only for files whose names are never used twice: what is mapped is right for ever.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from pyspark.sql.streaming import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from seine.runtime.folder.handover import Handover, StateHead
from seine.runtime.folder.settings import cache_of_this_machine

if TYPE_CHECKING:
    import pyarrow as pa

    from seine.runtime.folder.segments import Segments


# A file that nobody asked for in so many turns is let go, and so is the disk space of a removed one.
_MOST_TURNS = 16


class Mappings:
    """Mapped files; a turn is a task."""

    def __init__(self) -> None:
        self._turn = 0
        self._buffers: dict[str, tuple[int, pa.Buffer]] = {}

    def next_turn(self) -> None:
        self._turn += 1
        old = [path for path, (turn, _) in self._buffers.items() if turn < self._turn - _MOST_TURNS]
        for path in old:
            del self._buffers[path]

    def get(self, path: str) -> pa.Buffer | None:
        """The mapped file of that path, if there is one."""
        mapping = self._buffers.get(path)
        if mapping is not None:
            self._buffers[path] = self._turn, mapping[1]
        return mapping[1] if mapping else None

    def map(self, path: str) -> pa.Buffer:
        """Map a file that is there."""
        import pyarrow as pa

        buffer = pa.memory_map(path).read_buffer()
        self._buffers[path] = self._turn, buffer
        return buffer

    def forget(self, path: str) -> None:
        self._buffers.pop(path, None)


# Types as objects: Spark would ask the JVM to read each text that names one, in every task.
_NAME = StructType([StructField("name", StringType())])
_BLOB = StructType([StructField("blob", BinaryType())])
_HEAD = ("head",)  # no name of a segment, which is a number in hexadecimal
_mappings = Mappings()  # of this process, whichever bucket it serves next


class StateHandles:
    """The state of a stage: the segments by name, and beside them the head.

    It is one state variable: Spark makes each of them ready anew in every task.
    """

    def __init__(
        self,
        handle: StatefulProcessorHandle,
        cache: str,
        stage: int,
        before: Handover | None,
        stages_before: int = 0,
    ) -> None:
        """`before` has the state that another pipeline, of so many stages, left for this one."""
        self._stage = stage
        self._before, self._stages_before = before, stages_before
        self._blobs = handle.getMapState("blobs", _NAME, _BLOB)
        self._cache = cache_of_this_machine(cache)

    def open(self, bucket: int) -> Segments:
        from seine.runtime.folder.segments import Segments

        _mappings.next_turn()
        record = self._blobs.getValue(_HEAD)
        head = StateHead.unpacked(bytes(record[0])) if record else self._take_over(bucket)
        return Segments(head, self._fetch, bucket)

    def hand_over(self, bucket: int, to: Handover) -> None:
        """Leave the state, as it was saved, for another pipeline."""
        head = StateHead.unpacked(bytes(self._blobs.getValue(_HEAD)[0]))
        to.leave(self._stage, bucket, head, lambda name: self._fetch(name).to_pybytes())

    def _take_over(self, bucket: int) -> StateHead | None:
        """The state that the pipeline before this one left, made our own."""
        if self._before is None:
            return None
        head = self._before.head(self._stage, bucket, self._stages_before)
        if head is None:
            return None
        for name in head.state.segments:
            self._blobs.updateValue((name,), (self._before.segment(head, name),))
        return head.state

    def save(self, segments: Segments) -> None:
        head, added, gone = segments.changes()
        for name, blob in added.items():
            self._blobs.updateValue((name,), (blob,))
        for name, pieces in segments.expanded().items():
            self._remember(name, pieces)
        for name in gone:
            self._blobs.removeKey((name,))
            self._forget(name)
        self._blobs.updateValue(_HEAD, (head.packed(),))

    def _fetch(self, name: str) -> pa.Buffer:
        path = self._path(name)
        if (mapped := _mappings.get(path)) is not None:
            return mapped
        if not os.path.exists(path):
            from seine.runtime.folder.segments import expand_segment

            self._remember(name, expand_segment(bytes(self._blobs.getValue((name,))[0])))
        return _mappings.map(path)

    def _remember(self, name: str, pieces: list[bytes | pa.Buffer]) -> None:
        """Write the file of a segment whole or not at all: another worker may be reading."""
        path = self._path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{uuid.uuid4().hex}"
        with open(temporary, "wb") as file:
            file.writelines(pieces)
        os.rename(temporary, path)

    def _forget(self, name: str) -> None:
        """A removed segment may come back if this attempt fails; then it is fetched again."""
        _mappings.forget(self._path(name))
        try:
            os.remove(self._path(name))
        except FileNotFoundError:
            return

    def _path(self, name: str) -> str:
        return os.path.join(self._cache, name[:2], name)
