"""The streaming schema of a keyword search: streams, and the join conditions between them.

Cites: SKWS 3.1
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StreamingSchema:
    """A graph of streams: a condition is a pair of stream numbers, an edge of the graph.

    Any graph will do: cycles, several conditions between two streams, a condition of a stream with itself.
    Every condition is many-to-many: `CREATE JOIN movie.did = director.did` says nothing of keys.

        streams ("s", "t", "u", "v")                  S   U
        conditions ((0, 1), (2, 1), (3, 1))            \\ /
                                                        T --- V
    """

    streams: tuple[str, ...]
    conditions: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        outside = [one for one in self.conditions if not all(0 <= end < len(self.streams) for end in one)]
        if outside:
            raise ValueError(f"the condition {outside[0]} names a stream that is not there")
