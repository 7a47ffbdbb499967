"""Any regressor maps new points, and one that cannot is told so."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from patchfold.mapping import DistanceScaler, check_map, fit_map, predict_map
from smooth_maps import NEW, X, Y


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize(
    "out_of_sample",
    ["krr", "grnn", KNeighborsRegressor(3), MultiOutputRegressor(SVR()), KernelRidge()],
    ids=str,
)
def test_every_map_has_a_column_a_component(out_of_sample, n_components):
    if n_components == 1 and isinstance(out_of_sample, MultiOutputRegressor):
        out_of_sample = out_of_sample.estimator
    regressor = fit_map(out_of_sample, X, Y[:, :n_components])
    assert regressor is not out_of_sample
    assert predict_map(regressor, NEW, n_components).shape == (20, n_components)


def test_threads_reach_the_network():
    assert fit_map("grnn", X, Y, n_jobs=2).n_jobs == 2


@pytest.mark.parametrize("regressor", [SVR(), GradientBoostingRegressor()], ids=str)
def test_a_regressor_of_one_output_is_told_what_to_do(regressor):
    with pytest.raises(ValueError, match=r"fitted to 2 outputs .*MultiOutputRegressor"):
        fit_map(regressor, X, Y)


class Flat:
    """A regressor without scikit-learn, which only ever predicts one column."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_too_few_predicted_columns_are_noticed():
    with pytest.raises(ValueError, match=r"shape \(20,\) for 20 points .*MultiOutputRegressor"):
        predict_map(fit_map(Flat(), X, Y), NEW, 2)


@pytest.mark.parametrize(
    "value", ["nystrom", "krr", "grnn", SVR(), Flat()], ids=lambda value: type(value).__name__
)
def test_names_and_regressors_are_maps(value):
    assert check_map(value) is value


def test_what_is_no_map_is_refused():
    with pytest.raises(ValueError, match="out_of_sample='nystroem' is not known; did you mean"):
        check_map("nystroem")
    for value in (None, 3, SVR, DistanceScaler()):
        with pytest.raises(TypeError, match=r"out_of_sample=.* is neither one of 'nystrom', 'krr'"):
            check_map(value)
