"""Short circuits by curvature: the rule of ORC-ManL, beside the rule of patchfold.

    Saidi, Hickok and Blumberg: Recovering Manifold Structure Using Ollivier-Ricci Curvature.
    ICLR 2025, https://openreview.net/forum?id=aX7X9z3vQS, arXiv:2410.01149.

``python -m benchmarks.curvature`` compares the two. ``orc`` has their rule, ``samples`` their data.

The paper's full text could not be read here, only its abstract and its opening. Thresholds, data
and measures are facts of the authors' repository (https://github.com/TristanSaidi/orcml: README,
``src/orcmanl.py``, ``src/utils/graph_utils.py``, ``scripts/pruning.py``, ``data/``); none of its
code is here. Where versions of the repository differ, or leave something open, this is our choice:

- Hops. Curvature counts every edge as one, as in the script of the pruning experiments
  (``weight="unweighted_dist"``). A later version weights an edge by its epsilon.
- Measures. Both ends leave the other end out. The repository's code means to, and leaves it out at
  one end only.
- Epsilon of a k-nearest-neighbour graph is the larger of the mean distances of the two ends to
  their k nearest neighbours. An earlier version has the mean length of all edges of both ends.
- Angles, and other parameters that the repository takes from an even grid, are drawn at random.
- Geodesics that tell which edges are bad are exact here. The repository takes shortest paths
  through a denser sample without noise.
"""
