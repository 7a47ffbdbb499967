"""The names of divergences, and how to add one."""

from __future__ import annotations

from typing import Any

from patchfold.base.validation import check_choice
from patchfold.divergences import formulas

_REGISTRY: dict[str, formulas.Divergence] = {
    "kl": formulas.kl,
    "jeffreys": formulas.jeffreys,
    "bhattacharyya": formulas.bhattacharyya,
    "hellinger": formulas.hellinger,
    "jeffreys-riemann": formulas.jeffreys_riemann,
    "bhattacharyya-riemann": formulas.bhattacharyya_riemann,
    "wasserstein": formulas.wasserstein,
    "cauchy-schwarz": formulas.cauchy_schwarz,
    "fisher-rao": formulas.fisher_rao,
    "calvo-oller": formulas.calvo_oller,
    "euclidean": formulas.euclidean,
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
        raise TypeError(f"name={name!r} must be a non-empty string.")
    if not callable(function):
        raise TypeError(f"function={function!r} must be callable as function(a, b) on two Patches.")
    if name in _REGISTRY:
        raise ValueError(
            f"name={name!r} is taken; choose a name that is not one of {', '.join(NAMES)}."
        )
    _REGISTRY[name] = function


def resolve(divergence: str | formulas.Divergence) -> formulas.Divergence:
    """Return the function of a name, or the function itself."""
    if callable(divergence):
        return divergence
    check_choice("divergence", divergence, NAMES)
    return _REGISTRY[divergence]
