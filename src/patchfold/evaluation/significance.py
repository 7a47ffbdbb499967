"""How sure scores are: intervals over repeated splits, and significance of ranks over data sets.

The tests are those of Friedman, Nemenyi, and Bonferroni and Dunn. :mod:`patchfold.significance`
makes them public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from patchfold.base.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchfold.base.types import Doubles


# The level of significance of comparisons.
ALPHA = 0.05

# Normal values up to NORMAL_RANGE, at NODES nodes, give an integral to twelve digits.
NORMAL_RANGE, NODES = 9.0, 4001

# What scores of repeated halves share: as many test as training rows.
HALVES_OVERLAP = 1.0


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's test that all methods have the same ranks.

    Attributes
    ----------
    statistic : float
        Chi squared with k - 1 degrees of freedom for k methods, corrected for ties.
    p_value : float
    f_statistic : float
        The less conservative F of Iman and Davenport with k - 1 and (k - 1)(N - 1) degrees of
        freedom for N data sets.
    f_p_value : float
    """

    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Friedman's test of some methods, and the test that tells which of them differ.

    Attributes
    ----------
    methods : tuple of str
    n_datasets : int
        Number of rows that were ranked.
    friedman : Friedman
        The test of all methods.
    ranks : tuple of float
        The mean rank of each method.
    difference : float
        How far ranks must be apart to differ at the level 0.05.
    control : str
        The method that Bonferroni and Dunn's test compares the others with; empty where pairs are
        given, or Nemenyi's test compares all pairs.
    p_values : dict
        By pairs of methods, (better, worse); those with the control, the given ones, or all.
    """

    methods: tuple[str, ...]
    n_datasets: int
    friedman: Friedman
    ranks: tuple[float, ...]
    difference: float
    control: str
    p_values: dict[tuple[str, str], float]

    @property
    def chosen(self) -> bool:
        """Whether only some pairs were compared, and none of them for a control."""
        return not self.control and len(self.p_values) < math.comb(len(self.methods), 2)


def compare(
    methods: Sequence[str],
    scores: Any,
    *,
    control: str = "",
    pairs: Sequence[tuple[str, str]] = (),
) -> Comparison:
    """Rank methods over data sets and test which of them differ.

    Parameters
    ----------
    methods : sequence of str
        Their names, at least three.
    scores : array of shape (n_datasets, n_methods)
        Greater is better; at least two data sets.
    control : str, default=""
        Compare the others with this method only, by the test of Bonferroni and Dunn.
    pairs : sequence of pairs of str, default=()
        Compare these methods only, with Bonferroni's correction for their number. Without a
        control and pairs, Nemenyi's test compares all pairs.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> comparison = compare(["a", "b", "c"], [[3, 2, 1]] * 8)
    >>> {pair: round(p, 3) for pair, p in comparison.p_values.items()}
    {('a', 'b'): 0.112, ('a', 'c'): 0.0, ('b', 'c'): 0.112}
    >>> compare(["a", "b", "c"], [[3, 2, 1]] * 8, pairs=[("b", "a")]).p_values
    {('a', 'b'): 0.045...}
    """
    ranks = average_ranks(scores)
    if control:
        check_choice("control", control, methods)
        pairs = [(control, method) for method in methods if method != control]
    asked = {frozenset(check_choice("pairs", name, methods) for name in pair) for pair in pairs}
    p, test = nemenyi(scores), "nemenyi"
    if asked:
        test = "bonferroni-dunn"
        p = np.stack([bonferroni_dunn(scores, i, len(asked)) for i in range(len(ranks))])
    order = np.argsort(ranks, kind="stable")
    return Comparison(
        methods=tuple(methods),
        n_datasets=len(scores),
        friedman=friedman(scores),
        ranks=tuple(float(rank) for rank in ranks),
        difference=critical_difference(
            len(ranks), len(scores), test=test, n_comparisons=len(asked) or None
        ),
        control=control,
        p_values={
            (methods[i], methods[j]): float(p[i, j])
            for i, j in combinations(order, 2)
            if not asked or {methods[i], methods[j]} in asked
        },
    )


def average_ranks(scores: Any) -> Doubles:
    """Return the mean rank of every method; equal scores share the mean of their ranks.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_methods)
        Greater is better.

    Returns
    -------
    array of shape (n_methods,)
        One for the best.

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.7], [0.6, 0.6, 0.5]])
    array([1.25, 1.75, 3.  ])
    """
    ranks: Doubles = stats.rankdata(-_check_scores(scores), axis=1).mean(axis=0)
    return ranks


def friedman(scores: Any) -> Friedman:
    """Test whether methods have the same ranks over data sets.

    ``chi^2 = 12 N / (k (k + 1)) (sum R_j^2 - k (k + 1)^2 / 4)`` over the mean ranks R_j, divided by
    what ties leave of the ranks' variance, and ``F = (N - 1) chi^2 / (N (k - 1) - chi^2)`` (Demšar,
    section 3.2.2). Methods that are equal everywhere have p-values of 1.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_methods)

    Returns
    -------
    Friedman

    Examples
    --------
    >>> test = friedman([[0.9, 0.8, 0.7], [0.8, 0.9, 0.4], [0.7, 0.6, 0.5], [0.9, 0.7, 0.6]])
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (6.5, 0.039)
    """
    scores = _check_scores(scores)
    n, k = scores.shape
    if (scores == scores[:, :1]).all():
        return Friedman(0.0, 1.0, 0.0, 1.0)
    test = stats.friedmanchisquare(*scores.T)
    chi2 = min(float(test.statistic), n * (k - 1.0))  # its bound, up to rounding
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 0 else np.inf
    p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return Friedman(chi2, float(test.pvalue), float(f), p)


def nemenyi(scores: Any) -> Doubles:
    """Return the p-value of every pair of methods, corrected for comparing all pairs.

    ``|R_i - R_j| / sqrt(k (k + 1) / (6 N))`` times the root of two is compared with the studentized
    range of k values (Demšar, section 3.2.2).

    Parameters
    ----------
    scores : array of shape (n_datasets, n_methods)

    Returns
    -------
    array of shape (n_methods, n_methods)
        There are ones on the diagonal.

    Examples
    --------
    >>> nemenyi([[3, 2, 1]] * 8).round(3)
    array([[1.   , 0.112, 0.   ],
           [0.112, 1.   , 0.112],
           [0.   , 0.112, 1.   ]])
    """
    ranks = average_ranks(scores)
    apart = np.abs(ranks[:, None] - ranks) / _standard_error(len(ranks), len(scores))
    p = _beyond_range(np.sqrt(2) * apart, len(ranks))
    np.fill_diagonal(p, 1.0)
    return p


def bonferroni_dunn(scores: Any, control: int, n_comparisons: int | None = None) -> Doubles:
    """Return the p-value of every method against one, corrected for ``n_comparisons``.

    ``|R_i - R_control| / sqrt(k (k + 1) / (6 N))`` is compared with the normal distribution, and
    the p-value multiplied by the number of comparisons (Demšar, section 3.2.2).

    Parameters
    ----------
    scores : array of shape (n_datasets, n_methods)
    control : int
        The column of the one method.
    n_comparisons : int or None
        What the p-values are multiplied by; None means k - 1, all methods but the one.

    Returns
    -------
    array of shape (n_methods,)
        1 at the column ``control`` itself.

    Examples
    --------
    >>> bonferroni_dunn([[3, 2, 1]] * 8, control=0).round(3)
    array([1.   , 0.091, 0.   ])
    """
    ranks = average_ranks(scores)
    apart = np.abs(ranks - ranks[control]) / _standard_error(len(ranks), len(scores))
    count = n_comparisons or len(ranks) - 1
    p: Doubles = np.minimum(2 * count * stats.norm.sf(apart), 1.0)
    p[control] = 1.0
    return p


def critical_difference(
    n_methods: int,
    n_datasets: int,
    *,
    alpha: float = ALPHA,
    test: str = "nemenyi",
    n_comparisons: int | None = None,
) -> float:
    """Return how far two mean ranks must be apart to differ at a level of significance.

    ``q_alpha sqrt(k (k + 1) / (6 N))`` for k methods and N data sets (Demšar, section 3.2.2).

    Parameters
    ----------
    n_methods, n_datasets : int
    alpha : float, default=0.05
        The level of significance.
    test : {"nemenyi", "bonferroni-dunn"}, default="nemenyi"
        By the test of Nemenyi all pairs are compared, by that of Bonferroni and Dunn all methods
        with one, or ``n_comparisons`` pairs.
    n_comparisons : int or None
        None means k - 1.

    Returns
    -------
    float

    Examples
    --------
    >>> round(critical_difference(4, 14, alpha=0.10), 2)  # Demšar's example has 1.12, by q = 2.291
    1.12
    >>> round(critical_difference(4, 14, test="bonferroni-dunn"), 2)
    1.17
    """
    check_choice("test", test, ("nemenyi", "bonferroni-dunn"))
    if test == "nemenyi":
        q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    else:
        q = stats.norm.isf(alpha / (2 * (n_comparisons or n_methods - 1)))
    return float(q) * _standard_error(n_methods, n_datasets)


def groups(ranks: Any, difference: float) -> list[tuple[int, ...]]:
    """Return the largest groups of methods whose mean ranks do not differ, best first.

    Examples
    --------
    >>> groups([1.0, 3.5, 2.0, 2.5], difference=1.5)
    [(0, 2, 3), (2, 3, 1)]
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    reached = 0
    for first in range(len(order)):
        last = first + int(np.sum(ranks[order[first:]] <= ranks[order[first]] + difference))
        if last > max(first + 1, reached):
            found.append(tuple(int(method) for method in order[first:last]))
        reached = max(reached, last)
    return found


def _beyond_range(q: Doubles, k: int) -> Doubles:
    """Return how likely k normal values have a range above ``q``, down to the least numbers.

    ``k int phi(z) (Phi(z)^(k-1) - (Phi(z) - Phi(z - q))^(k-1)) dz`` over the largest value ``z``.
    ``scipy.stats.studentized_range`` subtracts a sum from one, and gives zero below 1e-16.
    """
    z = np.linspace(-NORMAL_RANGE, NORMAL_RANGE + float(q.max()), NODES)
    below = stats.norm.cdf(z)
    share = np.minimum(stats.norm.cdf(z - q[..., None]) / below, 1.0)
    with np.errstate(divide="ignore"):  # a share of one: nothing is left
        lost = -np.expm1((k - 1) * np.log1p(-share))
    p: Doubles = k * np.trapezoid(stats.norm.pdf(z) * below ** (k - 1) * lost, z, axis=-1)
    return np.minimum(p, 1.0)


def _standard_error(n_methods: int, n_datasets: int) -> float:
    return float(np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def _check_scores(scores: Any) -> Doubles:
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 3:
        raise ValueError(
            f"scores has shape {array.shape}; give at least two data sets (rows) and three methods "
            "(columns)."
        )
    if not np.isfinite(array).all():
        raise ValueError("scores has missing values; leave out data sets that not all methods did.")
    return array


# ---------------------------------------------------------------- intervals


def standard_error(scores: Any, *, overlap: float = 0.0) -> float:
    """Return the standard error of a mean: ``s sqrt(1/J + overlap)`` for J scores.

    Scores of repeated splits of the same data are not independent, and without ``overlap`` the
    error is too small for them. With the ratio of test to training rows it is that of Nadeau and
    Bengio ("Inference for the generalization error", Machine Learning 52, 2003).

    There are at least two scores. For ``overlap`` of halves see :data:`HALVES_OVERLAP`.

    Examples
    --------
    >>> round(standard_error([0.8, 0.9, 0.85]), 4)
    0.0289
    """
    values = np.asarray(scores, dtype=np.float64)
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n / (1 + n * overlap)))


def mean_interval(
    scores: Any, *, overlap: float = 0.0, level: float = 1 - ALPHA
) -> tuple[float, float, float]:
    """Return the mean of repeated scores, and Student's interval for it.

    Return mean, lower and upper end: ``m -+ t e`` with e the :func:`standard_error`. The interval
    should cover the mean as often as ``level`` says. There are at least two scores.

    Examples
    --------
    >>> [round(number, 3) for number in mean_interval([0.8, 0.9, 0.85])]
    [0.85, 0.726, 0.974]
    """
    mean = float(np.mean(np.asarray(scores, dtype=np.float64)))
    t = float(stats.t.ppf((1 + level) / 2, len(scores) - 1))
    half = standard_error(scores, overlap=overlap) * t
    return mean, mean - half, mean + half


def score_range(scores: Any, *, tail: float = ALPHA / 2) -> tuple[float, float]:
    """Return between which two quantiles most of some repeated scores lie.

    The range leaves out the share ``tail`` of the scores at each end. It says how far single scores
    are spread, and does not shrink with their number. How sure their mean is says
    :func:`mean_interval`.

    Examples
    --------
    >>> [round(number, 2) for number in score_range(range(101), tail=0.05)]
    [5.0, 95.0]
    """
    low, high = np.quantile(np.asarray(scores, dtype=np.float64), [tail, 1 - tail])
    return float(low), float(high)
