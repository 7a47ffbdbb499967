"""Fits of data beyond one machine: a Dask cluster whose workers hold parts of the rows.

:func:`fit` fits an estimator, and :func:`gather` brings a fit into this process. Nothing of this
folder is imported by a fit on one machine.

Every part holds the rows of one region of space. A step runs where the rows are, as a pure function
of earlier results, so that a lost worker costs only the work that it held. What a part needs of
others is fetched by tasks. The steps are the functions of one process, on the arrays of a part. The
edges of the graph are put together in one worker, which decides about them.

- ``connection``: tasks, their results, and what can be wrong with workers.
- ``rows``: from the user's chunks into parts of space, by ``planes``, and back.
- ``halo``: rows of other parts; ``searching``: neighbours in all parts.
- ``building``: the steps one after the other; ``patches``: fitting them where they are needed;
  ``weighing``: the edges and their lengths.
- ``graph``: the result, and geodesics in it; ``placing``: new rows.
- ``estimators``: what a fit does with an estimator; ``gathering``: from the cluster to a fit here.
"""

from patchfold.distributed.estimators import fit
from patchfold.distributed.gathering import gather

__all__ = ["fit", "gather"]
