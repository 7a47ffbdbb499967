"""What PELLE's released program computes, and what is printed."""

import numpy as np
import pytest

from patchfold import papers
from patchfold.papers import tables
from patchfold.papers.reproduction import experiment, pelle


def printed(paper, table, data_set, column):
    cells = tables.read(paper, table)
    return next(c.value for c in cells if (c.data_set, c.column) == (data_set, column))


def test_released_pelle_is_the_equations_with_equal_divergences():
    X = np.random.default_rng(2).normal(size=(60, 3))
    equal = papers.pelle(7).set_params(divergence=lambda a, _: np.ones(len(a)))
    ours, theirs = equal.fit_transform(X), pelle.published(X, 7)
    np.testing.assert_allclose(np.abs(np.sum(ours * theirs, axis=0)), 1, atol=1e-8)


@pytest.mark.slow
def test_wine_has_the_printed_accuracy_of_pelle():
    X, y = experiment.standardised("wine")
    trial = experiment.Experiment(X, y, pelle.published, experiment.accuracy)
    value, note = trial.best(range(35, 38))
    assert note == "K=36"
    assert value == pytest.approx(printed("pelle", "1", "wine", "PELLE"), abs=0.03)
