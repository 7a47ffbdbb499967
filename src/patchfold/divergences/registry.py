"""The names of divergences, and how to add one."""

from __future__ import annotations

from typing import Any

from patchfold.base.validation import check_choice
from patchfold.divergences.formulas import (
    Divergence,
    bhattacharyya,
    bhattacharyya_riemann,
    cauchy_schwarz,
    euclidean,
    fisher_rao,
    hellinger,
    jeffreys,
    jeffreys_riemann,
    kl,
    wasserstein,
)

_REGISTRY: dict[str, Divergence] = {
    "kl": kl,
    "jeffreys": jeffreys,
    "bhattacharyya": bhattacharyya,
    "hellinger": hellinger,
    "jeffreys-riemann": jeffreys_riemann,
    "bhattacharyya-riemann": bhattacharyya_riemann,
    "wasserstein": wasserstein,
    "cauchy-schwarz": cauchy_schwarz,
    "fisher-rao": fisher_rao,
    "euclidean": euclidean,
}


NAMES = _REGISTRY.keys()


# Built-in divergences broadcast: one patch on one side is compared with all of the other.
BUILT_IN = frozenset(_REGISTRY.values())


def register(name: Any, function: Any) -> None:
    """Make a function available under a name wherever a divergence is asked for.

    Parameters
    ----------
    name : str
        A new name.
    function : callable
        ``function(a, b)`` takes two :class:`~patchfold.Patches` of equal length and returns one
        finite value a row, none negative. It is called once for every pair, so it should be
        symmetric, and zero for equal patches.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold import Patches, divergences
    >>> def mean_gap(a, b):
    ...     return np.linalg.norm(a.means - b.means, axis=1)
    >>> divergences.register("mean-gap", mean_gap)
    >>> patches = Patches.from_moments([[0.0], [3.0]], [[[1.0]], [[2.0]]])
    >>> divergences.paired(patches, [0], [1], "mean-gap")
    array([3.])
    """
    if not isinstance(name, str) or not name:
        msg = f"name={name!r} must be a non-empty string."
        raise TypeError(msg)
    if not callable(function):
        msg = f"function={function!r} must be callable as function(a, b) on two Patches."
        raise TypeError(msg)
    if name in _REGISTRY:
        msg = f"name={name!r} is taken; choose a name that is not one of {', '.join(NAMES)}."
        raise ValueError(msg)
    _REGISTRY[name] = function


def resolve(divergence: str | Divergence) -> Divergence:
    """Return the function of a name, or the function itself."""
    if callable(divergence):
        return divergence
    check_choice("divergence", divergence, NAMES)
    return _REGISTRY[divergence]
