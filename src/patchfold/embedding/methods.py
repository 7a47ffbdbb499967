"""The estimators by name, and what they are given where classes change lengths."""

from __future__ import annotations

from typing import Any

from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

METHODS: dict[str, Any] = {
    "isomap": PatchIsomap,
    "lle": PatchLLE,
    "eigenmaps": PatchEigenmaps,
    "tsne": PatchTSNE,
}

# Labels tell what belongs together better than any stretch does, and their map has to be smooth
# between classes. By default LLE and eigenmaps do not use lengths, which labels change.
_WITH_LABELS: dict[str, dict[str, Any]] = {
    "lle": {"weights": "entropic"},
    "eigenmaps": {"bandwidth": "median"},
}


def supervised_parameters(method: str) -> dict[str, Any]:
    """Return the parameters that suit a method whose lengths classes change.

    Examples
    --------
    >>> supervised_parameters("isomap")
    {'lengths': 'divergence', 'out_of_sample': 'krr'}
    """
    return {"lengths": "divergence", "out_of_sample": "krr", **_WITH_LABELS.get(method, {})}
