"""The estimators by name, and the parameters that make published methods of them."""

from __future__ import annotations

from typing import Any

from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

METHODS: dict[str, Any] = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "tsne": PatchTSNE,
}

# What makes the classical method of an estimator, beside ``divergence="euclidean"``.
CLASSICAL: dict[str, dict[str, Any]] = {"isomap": {"scaling": "classical"}, "lle": {"reg": 1e-3}}

# Labels tell what belongs together better than any stretch does, and their map has to be smooth
# between classes. By default LLE and eigenmaps do not use lengths, which labels change. Isomap is
# scaled as in the paper of SA-Isomap.
_WITH_LABELS: dict[str, dict[str, Any]] = {
    "isomap": {"scaling": "classical"},
    "lle": {"weights": "entropic", "reg": 1e-3},
    "eigenmaps": {"bandwidth": "median"},
}


def divergence_parameters(method: str, divergence: Any) -> dict[str, Any]:
    """Return the parameters that give a method a divergence; ``"euclidean"`` is the classical one.

    Examples
    --------
    >>> divergence_parameters("isomap", "kl")
    {'divergence': 'kl'}
    >>> divergence_parameters("isomap", "euclidean")
    {'divergence': 'euclidean', 'scaling': 'classical'}
    """
    classical = CLASSICAL.get(method, {}) if divergence == "euclidean" else {}
    return {"divergence": divergence, **classical}


def supervised_parameters(method: str) -> dict[str, Any]:
    """Return the parameters that suit a method whose lengths classes change.

    Examples
    --------
    >>> supervised_parameters("isomap")
    {'lengths': 'divergence', 'out_of_sample': 'krr', 'scaling': 'classical'}
    """
    return {"lengths": "divergence", "out_of_sample": "krr", **_WITH_LABELS.get(method, {})}
