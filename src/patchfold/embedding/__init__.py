"""The estimators: the space of patches, and the embeddings of its graph."""

from patchfold.embedding.eigenmaps import PatchEigenmaps
from patchfold.embedding.isomap import PatchIsomap
from patchfold.embedding.lle import PatchLLE
from patchfold.embedding.outliers import PatchOutliers
from patchfold.embedding.space import PatchSpace
from patchfold.embedding.tsne import PatchTSNE

__all__ = ["PatchEigenmaps", "PatchIsomap", "PatchLLE", "PatchOutliers", "PatchSpace", "PatchTSNE"]
