"""What one task produces: parcels for later stages, and results."""

from __future__ import annotations

from collections import defaultdict

from seine.runtime.flow.parcels import Parcel
from seine.runtime.output.results import Results


class Emission:
    """Parcels by stage and bucket, and the results of the task."""

    def __init__(self, results: Results) -> None:
        self.parcels: dict[tuple[int, int], list[Parcel]] = defaultdict(list)
        self.results = results
