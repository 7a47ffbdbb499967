"""Which device ``engine`` means, what moves there, and what it has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from array_api_compat import is_torch_array

from patchfold.base.arrays import Array, beside, to_numpy
from patchfold.base.memory import available_memory, check_memory
from patchfold.base.validation import require

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# The device of engine="cuda". Tests take "cpu": the same program on torch's other device.
DEVICE = "cuda"


def device_for(engine: Any, X: Any) -> str | None:
    """Return the device of torch that a fit or a map of ``X`` runs on; None for threads.

    Examples
    --------
    >>> device_for("auto", [[1.0], [2.0]]) is None
    True
    """
    kind = DEVICE.partition(":")[0]
    there = is_torch_array(X) and X.device.type == kind
    if not (isinstance(engine, str) and (engine == "cuda" or (engine == "auto" and there))):
        return None
    torch = require("torch", "engine='cuda'", "gpu")
    if kind == "cuda" and torch.version.cuda is None:
        raise ValueError(
            f"engine='cuda' needs a build of torch for CUDA, and torch {torch.__version__} is one "
            "for the CPU; install the other build, or use engine='threads'."
        )
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "engine='cuda' needs a GPU, and torch finds none (torch.cuda.is_available()); use "
            "engine='threads', or look at the driver."
        )
    if str(getattr(X, "dtype", "")).endswith("float16"):
        raise ValueError(
            f"X has the dtype {X.dtype}, which has too few digits for distances; pass float32, "
            "e.g. X.float()."
        )
    return str(X.device) if there else DEVICE


def on_host(X: Any) -> Any:
    """Return a tensor as an array of numpy, and all else as it is."""
    return to_numpy(X) if is_torch_array(X) and X.device.type != "cpu" else X


def on(device: Any, values: Any) -> Array:
    """Return numbers as a tensor on a device, or as an array of numpy for none."""
    return to_numpy(values) if device is None else put(values, device)


def like(X: Any, values: Any) -> Any:
    """Return an array of numpy as a tensor on the device of ``X`` if that is a tensor."""
    return put(values, X.device) if is_torch_array(X) else values


def put(values: Any, device: Any) -> Array:
    """Return numbers as a tensor on a device."""
    import torch

    return beside(torch.empty(0, device=device), values)


def graph_on(graph: csr_array, device: str) -> tuple[Array, Array, Array]:
    """Return the ``indptr``, indices and lengths of a sparse matrix as tensors on a device."""
    starts, ends = graph.indptr.astype("int64"), graph.indices.astype("int64")
    return put(starts, device), put(ends, device), put(graph.data, device)


def check_room(needed: int, what: str, remedy: str, device: str) -> None:
    """Raise MemoryError unless a device has room for a fit that needs so many bytes in threads.

    There each array is needed once more in another order, and kernels have room of their own.
    """
    from patchfold.gpu.neighbors import WORK_BYTES

    needed = 2 * needed + WORK_BYTES.get(device.partition(":")[0], 0)
    check_memory(needed, f"{what}, on {device},", remedy, available=lambda: free_bytes(device))


def free_bytes(device: str) -> int | None:
    """Return how many bytes can be allocated on a device."""
    import torch

    if torch.device(device).type != "cuda":
        return available_memory()
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + kept)
