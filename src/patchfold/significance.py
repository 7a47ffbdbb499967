"""Do methods differ over data sets? Tests of ranks, and the critical-difference diagram.

The tests are those that Demšar recommends (Journal of Machine Learning Research 7, 2006) and that
four of the five papers use: Friedman's for all methods, then Nemenyi's for all pairs, or that of
Bonferroni and Dunn against one method.
"""

from patchfold.evaluation.diagram import critical_difference_svg
from patchfold.evaluation.significance import (
    Comparison,
    Friedman,
    average_ranks,
    bonferroni_dunn,
    compare,
    critical_difference,
    friedman,
    nemenyi,
)

__all__ = [
    "Comparison",
    "Friedman",
    "average_ranks",
    "bonferroni_dunn",
    "compare",
    "critical_difference",
    "critical_difference_svg",
    "friedman",
    "nemenyi",
]
