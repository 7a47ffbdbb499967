"""Choose ``n_neighbors`` or the size of patches, with labels or without: compare candidates.

Neighbours are searched once, for the largest candidate. docs/evidence/choosing-k.md lists the
criteria and how much accuracy each of them loses against a choice by labels.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import clone

from patchfold.base.row_metric import in_metric
from patchfold.base.validation import (
    check_choice,
    check_count,
    check_points,
    collected_warnings,
    is_sparse,
    warn_user,
)
from patchfold.evaluation.criteria import CRITERIA, Setting, agreement
from patchfold.graph.short_circuits import recommended_patch
from patchfold.neighbors import SharedNeighbors
from patchfold.neighbors.given import are_given

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from patchfold.base.types import CriterionName, Floats
    from patchfold.base.validation import Warned

    Own = Callable[[Any, Any], float]

__all__ = ["NAMES", "Selection", "select_n_neighbors", "select_patch_size"]

AGREEMENT = "agreement"

# All criteria with a name.
NAMES = (*CRITERIA, AGREEMENT)

# The default candidates, each twice the one before; and for patches some of X-space's 3 to 25.
CANDIDATES = (5, 10, 20, 40)
SIZES = (3, 5, 7, 10, 15, 20, 25)

# What is chosen, and its name to the user.
DEGREE: Final = "n_neighbors"
SIZE: Final = "patch__size"

# From SAMPLED_FROM points on, "auto" compares candidates on half of the points, and on at most
# MOST_JUDGED: the choice has to be cheap beside the fit.
SAMPLED_FROM, MOST_JUDGED = 400, 1000

# The criterion of "auto": over all estimators it loses least against labels
# (docs/evidence/choosing-k.md).
DEFAULT: Final = "lcmc"


@dataclass(frozen=True, eq=False)
class Selection:
    """The candidates, their scores and the chosen one; printing it shows the table.

    Attributes
    ----------
    n_neighbors : int
        The choice: the candidate with the best score, the smallest if several are equal. After
        :func:`select_patch_size` it is the estimator's own, and ``size`` the choice.
    criterion : str
        The name of the criterion that made the choice.
    candidates : list of int
        In rising order.
    scores : dict
        Maps the name of a criterion to the scores of all candidates. Greater is better; ``-inf``
        marks a candidate that cannot be fitted.
    embeddings : dict
        Maps a candidate to its embedding.
    estimator : estimator
        Fitted with the choice.
    size : int or None
        The neighbours of a patch that :func:`select_patch_size` chose.
    """

    n_neighbors: int
    criterion: str
    candidates: list[int]
    scores: dict[str, Floats]
    embeddings: dict[int, Floats] = field(repr=False)
    estimator: Any = field(repr=False)
    size: int | None = None

    def __str__(self) -> str:
        chosen = self.n_neighbors if self.size is None else self.size
        mark, name = {chosen: "*"}, "n_neighbors" if self.size is None else "size"
        columns = {name: [f"{k}{mark.get(k, ' ')}" for k in self.candidates]}
        columns |= {name: [f"{x:.4f}" for x in column] for name, column in self.scores.items()}
        widths = [max(len(name), 9) for name in columns]
        lines = [tuple(columns), *zip(*columns.values(), strict=True)]
        return "\n".join("  ".join(map(str.rjust, line, widths)) for line in lines)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the scores, see :func:`patchfold.plotting.plot_k_profile`."""
        from patchfold.plotting import plot_k_profile

        if self.size is None:
            return plot_k_profile(self.candidates, self.scores, chosen=self.n_neighbors, ax=ax)
        ax = plot_k_profile(self.candidates, self.scores, chosen=self.size, symbol="m", ax=ax)
        ax.set_xlabel("neighbours in a patch")
        return ax


def select_n_neighbors(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    criterion: CriterionName | Own | Sequence[CriterionName | Own] = DEFAULT,
    candidates: Sequence[int] | None = None,
    cv: Any = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Selection:
    """Choose ``n_neighbors`` of an estimator.

    Neighbours are searched once, for the largest candidate. If the search is exact, the embedding
    of every candidate equals that of a separate fit to the last bit.

    Parameters
    ----------
    estimator : PatchIsomap, PatchLLE, PatchEigenmaps or PatchTSNE
        Its other parameters stay as they are; it is not fitted. A pipeline has no ``n_neighbors``:
        give the last step, and X as it arrives there.
    X : array of shape (n_samples, n_features)
        What the estimator is fitted to.
    y : array of shape (n_samples,) or None
        Classes, for ``"cross-validation"`` and for estimators with ``supervision``; -1, NaN or None
        for points without a label.
    criterion : str, callable or list of these, default="lcmc"
        A name of :data:`NAMES`, or a function of a fitted estimator and X that returns a greater
        value for a better one. Of several, the first chooses and the others are reported.
    candidates : sequence of int or None
        None means those of 5, 10, 20 and 40 that are below half the number of samples.
    cv : int or splitter, default=5
        Folds of ``"cross-validation"``, as in scikit-learn.
    n_jobs : int or None
        Number of threads; None leaves it to the estimator. Results do not depend on it.
    random_state : int, RandomState or None
        Seed of samples and folds; None gives the same ones every time.
    verbose : int, default=0
        1 prints a line a candidate.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from patchfold import PatchIsomap
    >>> X, t = make_swiss_roll(300, random_state=0)
    >>> chosen = select_n_neighbors(PatchIsomap(), X, criterion=["trustworthiness", "lcmc"])
    >>> chosen.n_neighbors in chosen.candidates, list(chosen.scores)
    (True, ['trustworthiness', 'lcmc'])
    >>> labelled = select_n_neighbors(PatchIsomap(), X, t > 9, criterion="cross-validation")
    >>> labelled.estimator
    PatchIsomap(n_neighbors=...)
    """
    _check_estimator(estimator)
    points = check_points(X, accept_sparse=True)
    if is_sparse(points):
        raise TypeError(
            "X is sparse, and the degree of a given graph cannot be chosen; give points, or all "
            "distances as a dense array."
        )
    points = in_metric(points, estimator.metric, n_jobs)
    criteria, setting = _check_criteria(criterion, y), Setting(y, cv, random_state)
    chosen = _check_candidates(candidates, len(points))
    run = _Run(_trial(estimator, n_jobs), X, points, y, SharedNeighbors(estimator.knn), verbose)
    return run.select(chosen, criteria, setting)


def select_patch_size(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    criterion: CriterionName | Own | Sequence[CriterionName | Own] = "energy",
    candidates: Sequence[int] | None = None,
    cv: Any = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Selection:
    """Choose the number of neighbours that make up a patch, X-space's m (section 4.2).

    The default criterion is the paper's: the sum of the leading eigenvalues of the affinity matrix
    of the graph, one more than the embedding has components. The paper takes as many as there are
    clusters. Its scores over the candidates are the curve of Figure 3, at one degree of the graph.

    Parameters
    ----------
    estimator : PatchIsomap, PatchLLE, PatchEigenmaps or PatchTSNE
        Its other parameters stay as they are, ``n_neighbors`` among them; it is not fitted. Without
        a ``patch`` of its own, sizes of the recommended one are compared.
    X, y, criterion, cv, n_jobs, random_state, verbose
        As in :func:`select_n_neighbors`.
    candidates : sequence of int or None
        Sizes. None means those of 3, 5, 7, 10, 15, 20 and 25 that are below half the number of
        samples.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from patchfold import papers
    >>> X = load_wine().data
    >>> chosen = select_patch_size(papers.x_eigenmaps(20, divergence="bhattacharyya"), X)
    >>> chosen.size in chosen.candidates, chosen.n_neighbors, list(chosen.scores)
    (True, 20, ['energy'])
    """
    _check_estimator(estimator)
    points = in_metric(check_points(X), estimator.metric, n_jobs)
    if estimator.divergence in ("euclidean", "precomputed"):
        raise ValueError(
            f"divergence={estimator.divergence!r} has no patches; give an estimator with another "
            "divergence."
        )
    criteria, setting = _check_criteria(criterion, y), Setting(y, cv, random_state)
    sizes = _check_candidates(candidates, len(points), SIZES)
    trial, shared = _trial(estimator, n_jobs), SharedNeighbors(estimator.knn)
    if trial.patch is None:
        trial.set_params(patch=recommended_patch(len(points)))
    return _Run(trial, X, points, y, shared, verbose, parameter=SIZE).select(
        sizes, criteria, setting
    )


def _trial(estimator: Any, n_jobs: int | None) -> Any:
    """Return an estimator to fit, with a number of threads if there is one."""
    return clone(estimator) if n_jobs is None else clone(estimator).set_params(n_jobs=n_jobs)


def fit_best(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    draft: Any = None,
    candidates: Any = None,
    sampled_from: int = SAMPLED_FROM,
) -> Any:
    """Fit a clone of an estimator with the ``n_neighbors`` that the default criterion chooses.

    This is ``n_neighbors="auto"``. Without supervision, data of at least ``sampled_from`` points
    are compared on a sample. ``draft`` is an estimator that is quicker to fit, and compared
    instead; ``candidates`` are the numbers of neighbours to choose from.
    """
    n = X.shape[0]
    ks = _check_candidates(candidates, n)
    run = _Run(estimator, X, X, y, SharedNeighbors(estimator.knn))
    criteria = {DEFAULT: CRITERIA[DEFAULT]}
    judged = run if draft is None else replace(run, estimator=draft, quiet=True)
    if len(ks) > 1 and n >= sampled_from and estimator.supervision is None:
        # What needs more points than the sample, such as a large patch, is compared on all.
        with suppress(ValueError, RuntimeError):
            ks = [judged.sampled().select(ks, criteria, Setting()).n_neighbors]
    if len(ks) == 1:
        return run.fit(ks[0])
    chosen = judged.select(ks, criteria, Setting())
    return chosen.estimator if draft is None else run.fit(chosen.n_neighbors)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A fitted candidate with the warnings of its fit, or the error of a failed one."""

    fitted: Any = None
    warnings: Sequence[Warned] = ()
    failure: Exception | None = None


@dataclass(frozen=True, eq=False)
class _Run:
    """Fits of one estimator to the same data with different values of one parameter."""

    estimator: Any
    X: Any
    points: Any
    y: Any
    shared: SharedNeighbors
    verbose: int = 0
    quiet: bool = False
    parameter: str = DEGREE

    def sampled(self) -> _Run:
        """Return a run on half of the points, at most MOST_JUDGED."""
        n = self.X.shape[0]
        rows = Setting().sample(n, min(n // 2, MOST_JUDGED))
        given = self.estimator.divergence == "precomputed"
        X = self.X[np.ix_(rows, rows)] if given else self.X[rows]
        shared = SharedNeighbors(self.shared.knn)
        return replace(self, X=X, points=X, y=None, shared=shared, quiet=True)

    def select(
        self, candidates: list[int], criteria: dict[str, Any], setting: Setting
    ) -> Selection:
        """Fit and compare all candidates, the largest first: its neighbours serve the others."""
        leading = next(iter(criteria))
        scores: dict[str, Any] = {name: np.full(len(candidates), -np.inf) for name in criteria}
        embeddings: dict[int, Floats] = {}
        best = _Trial()
        for place in reversed(range(len(candidates))):
            trial = self._attempt(candidates[place])
            if trial.fitted is None:
                best = best if best.fitted or best.failure else trial
                continue
            embeddings[candidates[place]] = trial.fitted.embedding_
            for name, value in self._judge(trial.fitted, criteria, setting).items():
                scores[name][place] = value
            # A smaller candidate that is as good takes the place of a larger one.
            if best.fitted is None or scores[leading][place] >= scores[leading].max():
                best = trial
        if best.failure is not None:
            raise best.failure
        if AGREEMENT in criteria:
            scores[AGREEMENT][:] = agreement([embeddings.get(k) for k in candidates], setting)
            if leading == AGREEMENT:
                alike = dict(zip(candidates, scores[AGREEMENT], strict=True))
                best = self._attempt(max(sorted(embeddings), key=lambda k: alike[k]))
        for message, category in () if self.quiet else best.warnings:
            warn_user(message, category)
        k, size = best.fitted.n_neighbors_, None
        if self.parameter == SIZE:
            size = int(best.fitted.patch.size)
        return Selection(int(k), leading, candidates, scores, embeddings, best.fitted, size)

    def _judge(self, fitted: Any, criteria: dict[str, Any], setting: Setting) -> dict[str, float]:
        """Score one fit by all criteria that need no other."""
        scores = {
            name: _number(name, score(fitted, self.points, setting))
            for name, score in criteria.items()
            if score is not None
        }
        if self.verbose:
            told = ", ".join(f"{name}={value:.4f}" for name, value in scores.items())
            name = "patch_size" if self.parameter == SIZE else DEGREE
            value = fitted.get_params()[self.parameter]
            print(f"[select_{name}] {name}={value}: {told}", flush=True)  # noqa: T201
        return scores

    def _attempt(self, k: int) -> _Trial:
        """Fit a candidate. It may fail: it has too few neighbours, or a solver gives up."""
        with collected_warnings() as caught:  # the user sees those of the chosen candidate
            try:
                return _Trial(self.fit(k), caught)
            except (ValueError, RuntimeError) as error:
                return _Trial(failure=error)

    def fit(self, k: int) -> Any:
        """Fit a clone with the candidate ``k`` and the shared neighbours."""
        fitted = clone(self.estimator)
        fitted.set_params(**{self.parameter: k}, knn=self.shared).fit(self.X, self.y)
        # The shared search was for the fit only; the parameter is the user's again.
        return fitted.set_params(knn=self.shared.knn)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise TypeError(
            f"criterion {name!r} returned {value!r}; it has to return a number, greater for a "
            "better embedding."
        )
    return number


def _check_estimator(estimator: Any) -> None:
    usable = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    parameters = estimator.get_params(deep=False) if usable else {}
    if not {"n_neighbors", "n_components", "knn"} <= set(parameters):
        raise TypeError(
            f"estimator={estimator!r} is no embedding with n_neighbors; give a PatchIsomap, "
            "PatchLLE, PatchEigenmaps or PatchTSNE, of a pipeline its last step."
        )
    if are_given(estimator.knn):
        raise ValueError(
            "knn=(indices, distances) are neighbours of one set of rows, and candidates are "
            "compared on several; give an estimator with a search, such as knn='auto'."
        )
    if estimator.radius is not None:
        raise ValueError(
            f"radius={estimator.radius} leaves no n_neighbors to choose; give an estimator with "
            "radius=None."
        )


def _check_criteria(criterion: Any, y: Any) -> dict[str, Any]:
    """Return the functions by name; None stands for agreement, which needs all candidates."""
    asked = [criterion] if isinstance(criterion, str) or callable(criterion) else list(criterion)
    if not asked:
        raise ValueError(f"criterion={criterion!r} is empty; name one of {', '.join(NAMES)}.")
    criteria: dict[str, Any] = {}
    for one in asked:
        if callable(one):
            name = getattr(one, "__name__", type(one).__name__)
            criteria[name] = _without_setting(one)
        else:
            criteria[check_choice("criterion", one, NAMES)] = CRITERIA.get(one)
    if "cross-validation" in criteria and y is None:
        raise ValueError(
            "criterion='cross-validation' needs the labels y; without labels use "
            f"criterion={DEFAULT!r}."
        )
    return criteria


def _without_setting(function: Own) -> Callable[[Any, Any, Setting], float]:
    return lambda estimator, X, _: function(estimator, X)


def _check_candidates(candidates: Any, n: int, default: Sequence[int] = CANDIDATES) -> list[int]:
    if candidates is None:
        return [k for k in default if 2 * k < n] or [max(1, (n - 1) // 2)]
    chosen = sorted({check_count("candidates", k) for k in candidates})
    if not chosen or chosen[-1] >= n:
        raise ValueError(
            f"candidates={list(candidates)!r} have to be numbers of neighbours below the number "
            f"of samples, {n}, and at least one."
        )
    return chosen
