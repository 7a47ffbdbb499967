"""Fits of data beyond one machine: a Dask cluster whose workers hold parts of the points.

Every part holds the rows of one region of space. A step runs where the rows are, as a pure function
of earlier results, so that a lost worker costs only the work that it held. What a part needs of
others, its *halo*, is fetched by tasks (:mod:`~patchfold.distributed.halo`). Every step calls
the same functions on arrays as a fit on one machine, and gives the same bits.

- ``connection``: tasks, their results, and what can be wrong with workers.
- ``rows``: from the user's chunks into parts of space, and back; ``halo``: rows of other parts.
- ``building``: the steps, one after the other: ``searching`` neighbours, ``fitting`` patches,
  ``links`` (the edges of a part), ``learning`` what is typical, ``judging`` short circuits by the
  ``ways`` around them, ``joining`` ``components``; the result is the ``graph``.
- ``estimators``: what an embedding does where it is fitted on a cluster.
- ``triangulating``: landmark Isomap, by ``geodesics``; ``placing``: new rows.
"""
