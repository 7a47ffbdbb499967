"""Plotting needs matplotlib, and says so."""

from __future__ import annotations

import sys

import pytest

from drawing import CURVE, PLANE, full
from patchfold.metrics import IntrinsicDimension
from patchfold.plotting import plot_embedding, plot_patches, plot_residual_variance, plot_stability


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_patches(full())
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_residual_variance(IntrinsicDimension(3, CURVE))
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_embedding(PLANE)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[plot\]'"):
        plot_stability({"a": [[1]]}, [0], [10])
