"""The join state: witnesses of earlier documents, as long as a window can reach them.

A batch enters the state before it is matched, so that documents of one batch meet as well; a document does
not meet itself, for a pair needs 0 < t2 - t1.

    arrival   d5 d6 (batch)          state after hold:   d2 d3 d4 | d5 d6
    window    reaches back to d2                          ^ d1 is purged

Differs: Algorithm 2 appends a timestamp where R_doc and R_bin have a docid, and purges nothing. Here it is
the docid, and what lies before the widest window goes.

Cites: MMQJP 4.3 (Algorithm 2)
"""

from __future__ import annotations

import numpy as np

from benchmarks.template_engines.witness_index import WitnessIndex
from benchmarks.template_engines.witness_relations import DocumentBatch


class JoinState:
    """R_bin, R_doc and R_docTS of the documents that the widest window reaches."""

    def __init__(self, widest: int) -> None:
        self._widest = widest
        self.index: WitnessIndex | None = None

    def hold(self, batch: DocumentBatch) -> WitnessIndex:
        """Take a batch in and purge what it leaves behind; returns its own index (R_binW, R_docW)."""
        arriving = WitnessIndex.of(batch)
        held = arriving if self.index is None else self.index.extended(arriving)
        if (np.diff(held.timestamps) < 0).any():
            raise ValueError("documents come in the order of their timestamps")
        if len(batch.timestamps):
            oldest = int(batch.timestamps[0]) - self._widest
            held = held.since(held.first + int(np.searchsorted(held.timestamps, oldest)))
        self.index = held
        return arriving
