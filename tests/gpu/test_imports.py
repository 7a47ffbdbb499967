"""Who has no tensors does not wait for torch."""

import subprocess
import sys

import pytest

FIT = (
    "import sys, patchfold; patchfold.PatchIsomap(n_neighbors=3).fit([[i, 0.0] for i in range(9)])"
    "; sys.exit(not {'torch', 'triton'}.isdisjoint(sys.modules))"
)


@pytest.mark.slow
def test_a_fit_of_arrays_imports_neither_torch_nor_triton():
    subprocess.run([sys.executable, "-c", FIT], check=True)  # noqa: S603
