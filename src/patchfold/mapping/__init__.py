"""Maps of new points into an embedding: kernel ridge regression, GRNN, any regressor."""

from patchfold.mapping.grnn import GRNN
from patchfold.mapping.kernel_ridge import DistanceScaler, kernel_ridge
from patchfold.mapping.regression import MAPS, check_map, fit_map, predict_map

__all__ = ["GRNN", "MAPS", "DistanceScaler", "check_map", "fit_map", "kernel_ridge", "predict_map"]
