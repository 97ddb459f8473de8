"""Short names for the types of numpy arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]  # numbers, times, hashes, positions
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]  # masks
Bytes: TypeAlias = npt.NDArray[np.uint8]  # text
Numbers: TypeAlias = npt.NDArray[Any]  # of any one type
