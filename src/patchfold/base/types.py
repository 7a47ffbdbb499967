"""Names for the types of arrays, and of what the steps hand to each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.floating[Any]]  # of the precision of the data
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Entered with the name of a stage of a fit while it runs: progress, and the time it takes.
Stage: TypeAlias = Callable[[str], AbstractContextManager[None]]
