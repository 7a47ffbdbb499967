"""A stand-in for a GPU: tensors that claim to be on another device, and refuse to mix with others.

They live in the memory of torch's CPU device, and call themselves "meta". A step that forgets to
move an array, or to say where a new one is to be, fails as it would on a GPU.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

NAME = "meta"
ATEN = torch.ops.aten

# What takes tensors of two devices: copies, and indices that are on the CPU.
MIXING = {ATEN._to_copy, ATEN.copy_, ATEN.index, ATEN.index_put, ATEN.index_put_}


class Elsewhere(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, inner.stride(), inner.storage_offset(), dtype=inner.dtype, device=NAME
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return run(func, args, kwargs or {})

    def __repr__(self):
        return f"Elsewhere({self.inner!r})"


class OtherDevice(TorchDispatchMode):
    """Meanwhile, new tensors on the device "meta" have numbers."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return run(func, args, kwargs or {})


def run(func, args, kwargs):
    flat = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
    there = [x for x in flat if isinstance(x, Elsewhere)]
    here = [x for x in flat if not isinstance(x, Elsewhere) and x.ndim]
    if there and here and func.overloadpacket not in MIXING:
        raise RuntimeError(f"{func} of tensors on two devices")
    device = kwargs.get("device")
    elsewhere = bool(there) if device is None else torch.device(device).type == NAME
    if func.overloadpacket is ATEN.copy_:
        elsewhere = isinstance(args[0], Elsewhere)
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    known = {id(x.inner): x for x in there}
    args, kwargs = tree_map(lambda x: x.inner if isinstance(x, Elsewhere) else x, (args, kwargs))
    if func.overloadpacket is ATEN._to_copy and elsewhere != bool(there):
        kwargs.pop("non_blocking", None)
    result = func(*args, **kwargs)

    def wrapped(x):
        if not isinstance(x, torch.Tensor) or not elsewhere:
            return x
        return known[id(x)] if id(x) in known else Elsewhere(x)

    return tree_map(wrapped, result)
