"""What a user's type checker sees: options and fitted attributes that do not exist are errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from patchfold import selection
from patchfold.base import types
from patchfold.embedding.methods import METHODS
from patchfold.patches.covariances import ESTIMATES
from patchfold.supervision import RULES

SOURCE = Path(__file__).parents[1] / "src"

START = """
import numpy as np
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold import PatchOutliers, PatchSpace, explore
from patchfold.selection import select_n_neighbors
X = np.zeros((3, 2))
"""
RIGHT = [
    "PatchIsomap(n_neighbors='auto', scaling='classical', landmarks=None).fit(X).embedding_",
    "PatchIsomap(knn=KNeighborsTransformer(), out_of_sample=KNeighborsRegressor()).fit(X)",
    "PatchIsomap(supervision='cut', random_state=np.random.RandomState(0)).fit(X).transform(X)",
    "PatchLLE(patch=GaussianPatch(size=3)).set_params(n_components=3).fit(X).graph_.shape",
    "PatchOutliers(contamination=0.1).fit(X).offset_",
]
WRONG = [
    "PatchIsomap().fit(X).embeding_",
    "PatchIsomap().fit(X).patch_graph_.matrx",
    "PatchSpace().fit(X).graf_",
    "PatchOutliers().fit(X).ofset_",
    "PatchIsomap(scaling='foo')",
    "PatchIsomap(n_neighbors='aut')",
    "PatchIsomap(lengths='cut')",
    "PatchIsomap(knn='fast')",
    "PatchIsomap(engine='thread')",
    "PatchIsomap(out_of_sample='kr')",
    "PatchIsomap(supervision='cutt')",
    "PatchLLE(weights='entropy')",
    "PatchEigenmaps(laplacian='signed')",
    "GaussianPatch(covariance='rigde')",
    "explore(X, methods=['isomp'])",
    "select_n_neighbors(PatchIsomap(), X, criterion='energie')",
]


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        (types.CovarianceName, ESTIMATES),
        (types.CriterionName, selection.NAMES),
        (types.MethodName, METHODS),
        (types.RuleName, RULES),
    ],
    ids=["covariance", "criterion", "methods", "supervision"],
)
def test_every_name_that_is_known_is_declared(declared, known):
    assert get_args(declared) == tuple(known)


@pytest.mark.slow
def test_a_type_checker_finds_misspelt_options_and_attributes(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(START + "\n".join([*RIGHT, *WRONG]), "utf-8")
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--config-file="]
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path}", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
    )
    first = START.count("\n") + len(RIGHT) + 1
    found = [int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error: " in line]
    assert found == list(range(first, first + len(WRONG))), run.stdout + run.stderr
