"""Types of numpy's arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
