"""The label rules: how classes, or a measured ``y``, change the lengths of edges.

A rule sees edges, their lengths and how their ends are related, and returns the lengths that the
labels make of them; an infinite one removes the edge. Edges with an unlabelled end stay what they
are without labels; under ``Dissimilarity``, which has lengths without a unit, in proportion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from sklearn.utils import column_or_1d

from patchfold.base.estimators import BaseEstimator
from patchfold.base.validation import check_choice, check_positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from patchfold.base.types import Floats, Indices, Mask

    Codes = Indices
    Kin = NDArray[np.int8]

__all__ = ["Cut", "Dissimilarity", "Edges", "LabelRule", "MinSum"]

# How the two ends of an edge are related.
SAME, UNKNOWN, DIFFERENT = 1, 0, -1

UNLABELLED = -1

# Eq. 1 grows as exp(e^2 / 2 beta). Beyond this share of the largest exponent lengths stop growing:
# squares of them, and their sums over a path, still have to be numbers.
LARGEST_EXPONENT = 0.5


@dataclass(frozen=True, eq=False)
class Edges:
    """What a rule knows about the edges whose lengths it changes.

    Parameters
    ----------
    lengths : array
        What the divergence says, one value per edge, in any shape.
    kin : array of the same shape
        1 where the ends have the same label, -1 where different ones, 0 where one has none. Of a
        measured ``y``: 1 where they are at least half alike.
    distances : callable
        Gives the Euclidean lengths of the same edges; ``lengths`` where there are no others.
    mean : callable
        Gives the mean length of all pairs of fitted points.
    between_patches : bool
        Whether lengths have no unit: divergences of patches, or distances in units of the typical
        one. Otherwise they are distances, Euclidean or given.
    alike : array of the same shape or None
        How alike the measured ``y`` of both ends are, from 0 to 1; None for classes.
    """

    lengths: Floats
    kin: Kin
    distances: Callable[[], Floats]
    mean: Callable[[], float]
    between_patches: bool = False
    alike: Floats | None = None

    def share(self) -> Floats:
        """Return how alike the ends of every edge are: 1 for the same class, 0 for others."""
        return (self.kin == SAME).astype(np.float64) if self.alike is None else self.alike


@runtime_checkable
class LabelRule(Protocol):
    """What ``supervision`` may be beside a name: any object with this method."""

    def lengths(self, edges: Edges) -> Floats:
        """Return the lengths of edges under the labels, infinite for those to be removed."""
        ...


class Dissimilarity(BaseEstimator):
    """Shrink lengths within classes, stretch those between them (SA-Isomap eq. 1).

    A length ``e`` becomes ``sqrt(1 - exp(-e^2 / beta))`` within a class and
    ``sqrt(exp(e^2 / beta) - alpha)`` between two. ``e / sqrt(beta)`` lies between the two for
    ``alpha <= 1``, and tends to the first for short edges: it is the length of an edge with an
    unlabelled end.

    Where lengths are distances the rule depends on their unit, since ``beta`` is no squared length:
    with a mean distance far above one (standardised data have about the root of twice the number of
    features) little but the classes is left in the graph.

    Parameters
    ----------
    alpha : float, default=0.5
        Closes the gap between the shortest edges of the two kinds, which is ``sqrt(1 - alpha)``.
        With more than one the second root has a negative argument for short edges; such edges get
        the length zero, as if their ends were one point.
    beta : float or None
        None is the paper's choice for distances, their mean over all pairs (over a sample of half a
        million, where there are more; over the edges of a given sparse graph). Divergences
        of patches have no unit and a far longer tail, with which the exponential leaves the range
        of numbers; for these ``beta`` is the square of their mean.
    bandwidth : float or None
        For a measured ``y``: points whose ``y`` differ by it are half alike. The square of a length
        is then the mixture of both formulas. None takes the standard deviation of ``y``, and takes
        numbers without a fraction as classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> from patchfold.supervision import Dissimilarity
    >>> X, y = load_iris(return_X_y=True)
    >>> isomap = PatchIsomap(supervision=Dissimilarity(alpha=0.2), divergence="euclidean")
    >>> isomap.fit_transform(X, y).shape
    (150, 2)
    """

    def __init__(
        self, alpha: float = 0.5, beta: float | None = None, bandwidth: float | None = None
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.bandwidth = bandwidth

    def lengths(self, edges: Edges) -> Floats:
        """Apply eq. 1 of the paper."""
        dtype = edges.lengths.dtype
        with np.errstate(over="ignore"):  # of lengths beyond the root of the largest number
            squared = np.square(edges.lengths.astype(np.float64)) / self._beta(edges)
        largest = LARGEST_EXPONENT * float(np.log(np.finfo(dtype).max))
        between = np.expm1(np.minimum(squared, largest)) + (1.0 - self.alpha)
        share = edges.share()
        mixed = share * -np.expm1(-squared) + (1.0 - share) * np.maximum(between, 0.0)
        changed = np.where(edges.kin == UNKNOWN, squared, mixed)
        return np.asarray(np.sqrt(changed), dtype=dtype)

    def check_parameters(self) -> None:
        """Refuse what eq. 1 has no meaning for."""
        alpha: Any = self.alpha
        if not isinstance(alpha, Real) or not 0 <= float(alpha) < math.inf:
            raise ValueError(f"alpha={alpha!r} must be a number of at least 0.")
        if self.beta is not None:
            check_positive("beta", self.beta)

    def _beta(self, edges: Edges) -> float:
        if self.beta is not None:
            return float(self.beta)
        mean = edges.mean()
        # Where all lengths are zero any unit does.
        return (mean**2 if edges.between_patches else mean) or 1.0


class Cut(BaseEstimator):
    """Remove the edges between classes (named as future work by PELLE).

    The graph then falls into parts, which are joined by their closest pairs. Of a measured ``y``,
    edges are removed whose ends differ by more than ``bandwidth``, which is as in
    :class:`Dissimilarity`.
    """

    def __init__(self, bandwidth: float | None = None) -> None:
        self.bandwidth = bandwidth

    def lengths(self, edges: Edges) -> Floats:
        """Make edges between classes infinite."""
        infinite = edges.lengths.dtype.type(np.inf)
        return np.where(edges.kin == DIFFERENT, infinite, edges.lengths)


class MinSum(BaseEstimator):
    """Take the smaller of Euclidean and divergence length within a class, their sum between two.

    Named as future work by ELAP. Where lengths are Euclidean already, or given, both are the same,
    and edges between classes become twice as long.
    Beside divergences, which have no unit, the rule depends on the unit of X. Of a measured ``y``,
    lengths are mixtures of both; ``bandwidth`` is as in :class:`Dissimilarity`.
    """

    def __init__(self, bandwidth: float | None = None) -> None:
        self.bandwidth = bandwidth

    def lengths(self, edges: Edges) -> Floats:
        """Take the minimum, the sum, or the length itself."""
        lengths, distances = edges.lengths, edges.distances()
        share = edges.share()
        mixed = share * np.minimum(lengths, distances) + (1.0 - share) * (lengths + distances)
        return np.where(edges.kin == UNKNOWN, lengths, mixed).astype(lengths.dtype, copy=False)


RULES: dict[str, type[LabelRule]] = {
    "dissimilarity": Dissimilarity,
    "cut": Cut,
    "min-sum": MinSum,
}


def label_rule(supervision: Any) -> LabelRule | None:
    """Return the rule that the parameter ``supervision`` means; None for none."""
    if supervision is None:
        return None
    if isinstance(supervision, str):
        return RULES[check_choice("supervision", supervision, RULES)]()
    if isinstance(supervision, type) or not isinstance(supervision, LabelRule):
        raise TypeError(
            f"supervision={supervision!r} must be one of "
            f"{', '.join(repr(name) for name in RULES)}, a rule of patchfold.supervision, e.g. "
            "Dissimilarity(alpha=0.2), or None."
        )
    if isinstance(supervision, Dissimilarity):
        supervision.check_parameters()
    bandwidth = getattr(supervision, "bandwidth", None)
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth)
    return supervision


def changed_lengths(rule: LabelRule, edges: Edges) -> Floats:
    """Return the lengths a rule makes of edges, or say what is wrong with them."""
    lengths = np.asarray(rule.lengths(edges))
    if lengths.dtype.kind not in "fiub":
        raise TypeError(
            f"supervision={rule!r} returns lengths of type {lengths.dtype}; return real numbers."
        )
    if lengths.dtype.kind != "f":
        lengths = lengths.astype(edges.lengths.dtype)
    if lengths.shape != edges.lengths.shape or not (lengths >= 0).all():
        least = f", the least {lengths.min()}" if lengths.size else ""
        raise ValueError(
            f"supervision={rule!r} returns lengths of shape {lengths.shape}{least} for edges of "
            f"shape {edges.lengths.shape}; give one of at least 0 for each, infinity to remove it."
        )
    return lengths


def targets(y: Any, n_samples: int, estimator: str, rule: LabelRule) -> Any:
    """Return what a rule needs to know of ``y``: classes as codes, or measured values as floats.

    Values are measured if they have fractions, or the rule has a bandwidth. NaN or None stand for a
    value that is not known, and -1 is a value.

    Examples
    --------
    >>> targets([0.5, None, 2.0], 3, "PatchIsomap", Cut())
    array([0.5, nan, 2. ])
    >>> targets([1, 2, 1], 3, "PatchIsomap", Cut())
    array([0, 1, 0])
    """
    kept = column_of(y, n_samples, estimator)
    values = _measured(kept)
    asked = getattr(rule, "bandwidth", None) is not None
    if values is None and asked:
        raise ValueError(
            f"supervision={rule!r} has a bandwidth, and y holds no numbers; give numbers, or, for "
            "classes, a rule without a bandwidth."
        )
    with np.errstate(invalid="ignore"):  # of infinities
        fractions = values is not None and bool((values % 1 > 0).any())
    if values is None or not (asked or fractions):
        return encode(kept, n_samples, estimator)
    if np.isinf(values).any():
        raise ValueError("y has an infinite value; give numbers, or NaN where it is not known.")
    if np.nanmax(values) == np.nanmin(values):
        raise ValueError("y has one value only; supervision needs at least two.")
    return values


def _measured(y: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return ``y`` as numbers, NaN where they are not known; None if it holds other things."""
    if y.dtype.kind in "iuf":
        values = y.astype(np.float64)
    elif y.dtype.kind == "O" and all(_is_missing(value) or _is_number(value) for value in y):
        try:
            values = np.array([float(value) if _is_number(value) else np.nan for value in y])
        except OverflowError:  # of integers beyond all floating point numbers
            return None
    else:
        return None
    return None if np.isnan(values).all() else values


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def likeness(a: Floats, b: Floats, bandwidth: float) -> tuple[Kin, Floats]:
    """Tell how points with these measured values are related, and how alike they are.

    ``2^-((a - b) / bandwidth)^2``: a kernel that is one half for a difference of the bandwidth.

    Examples
    --------
    >>> likeness(np.array([0.0, 0.0, np.nan]), np.array([2.0, 4.0, 0.0]), 2.0)
    (array([ 1, -1,  0], dtype=int8), array([0.5   , 0.0625, 0.    ]))
    """
    with np.errstate(over="ignore"):
        alike = np.exp2(-np.square((a - b) / bandwidth))
    known = ~np.isnan(alike)
    kin = np.where(known, np.where(alike >= 0.5, SAME, DIFFERENT), UNKNOWN).astype(np.int8)
    return kin, np.where(known, alike, 0.0)


def column_of(y: Any, n_samples: int, estimator: str) -> NDArray[Any]:
    """Return ``y`` as an array with an entry for each row, or say what is wrong with it."""
    if y is None:
        raise ValueError(
            f"{estimator} requires y to be passed, but the target y is None: supervision needs the "
            "labels of the points, fit(X, y); use supervision=None where there are none."
        )
    if isinstance(y, np.ma.MaskedArray):  # what is masked is not known
        y = [None if label is np.ma.masked else label for label in y]
    shape: Any = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} columns, and y should be a 1d array: one target shapes a map; give "
            "one of the columns."
        )
    # As objects: NumPy would turn the None or NaN of a list with text into text.
    try:
        labels: NDArray[Any] = column_or_1d(
            np.array(y, dtype=object) if isinstance(y, list | tuple) else y, warn=True
        )
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"y is no list of labels ({reason}); give one for each row.") from error
    if len(labels) != n_samples:
        raise ValueError(
            f"y has {len(labels)} labels and X has {n_samples} rows; give one label for each row, "
            "-1 where it is not known."
        )
    return labels


def encode(y: Any, n_samples: int, estimator: str) -> Codes:
    """Return classes as 0, 1, ...; -1 for points without a label (-1, NaN or None in ``y``).

    Examples
    --------
    >>> encode(["a", None, "b", "a"], 4, "PatchIsomap")
    array([ 0, -1,  1,  0])
    """
    labels = column_of(y, n_samples, estimator)
    missing = _missing(labels)
    classes, known = np.unique(_plain(labels[~missing]), return_inverse=True)
    if len(classes) < 2:
        found = f"one class only, {classes[0]!s}" if len(classes) else "no label"
        hint = " (-1 stands for an unknown label, not for a class)" if missing.any() else ""
        raise ValueError(f"y has {found}{hint}; supervision needs at least two classes.")
    if len(classes) == n_samples > 2:
        raise ValueError(
            f"y has {n_samples} different labels for {n_samples} points, so that no two belong "
            "together; give classes, not identifiers. For measurements give a rule with a "
            "bandwidth, e.g. Dissimilarity(bandwidth=10)."
        )
    codes = np.full(n_samples, UNLABELLED, dtype=np.intp)
    codes[~missing] = known
    return codes


def kinship(a: Codes, b: Codes) -> Kin:
    """Tell how points with these codes are related: 1 the same class, -1 different, 0 unknown."""
    known = (a != UNLABELLED) & (b != UNLABELLED)
    return np.where(known, np.where(a == b, SAME, DIFFERENT), UNKNOWN).astype(np.int8)


def _missing(labels: NDArray[Any]) -> Mask:
    if labels.dtype.kind in "iuf":
        return np.asarray((labels == UNLABELLED) | np.isnan(labels))
    if labels.dtype.kind == "O":
        return np.array([_is_missing(label) for label in labels], dtype=bool)
    return np.zeros(len(labels), dtype=bool)


def _is_missing(label: Any) -> bool:
    # pandas.NA compares as neither true nor false; it is known by its name alone.
    if label is None or type(label).__name__ == "NAType":
        return True
    if isinstance(label, Integral):  # one beyond all floating point numbers is no NaN
        return bool(label == UNLABELLED)
    return isinstance(label, Real) and (math.isnan(label) or label == UNLABELLED)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers or as text, where they are classes."""
    if labels.dtype.kind == "O":
        if any(isinstance(label, list | tuple | set | dict | np.ndarray) for label in labels):
            raise ValueError("y is no list of labels (it holds lists); give one for each row.")
        texts = {isinstance(label, str) for label in labels}
        if len(texts) > 1:
            raise ValueError("y mixes text and numbers; give labels of one kind.")
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("y has an infinite label; give classes, or NaN where it is not known.")
    if labels.dtype.kind == "f" and (labels != np.trunc(labels)).any():
        raise ValueError(
            f"Unknown label type: y is continuous, it has the value {labels[labels % 1 != 0][0]}; "
            "classes are needed here, e.g. bins by sklearn.preprocessing.KBinsDiscretizer."
        )
    return labels
