"""The page as an object, and the one call that makes it from data."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold import divergences as known
from patchfold.base.files import write_whole
from patchfold.base.row_metric import check_row_metric, in_metric
from patchfold.base.validation import check_choice, check_count, check_points
from patchfold.embedding.methods import METHODS
from patchfold.explorer.columns import (
    best_to_colour,
    numbers_of,
    pack_column,
    pack_ids,
    unused,
    with_text,
)
from patchfold.explorer.embeddings import (
    Fitted,
    choose_k,
    compressed,
    fit_all,
    fit_beside,
    from_estimators,
    slider,
)
from patchfold.explorer.further import Further, pack_further
from patchfold.explorer.given import OFFER, is_anndata, source_of
from patchfold.explorer.images import pack_images, pictures_of
from patchfold.explorer.packing import ArrayStore
from patchfold.explorer.page import assemble, size_of
from patchfold.explorer.tables import column_of, source_of_table
from patchfold.explorer.views import pack_views, views_of
from patchfold.explorer.widget import frame_of, widget_class

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from patchfold.anndata import Expression
    from patchfold.base.types import Auto, Doubles, MethodName, RowMetricName
    from patchfold.explorer.given import Source
    from patchfold.tables import TablePreparation


# Features stand in the table and on the card, like other columns, while there are at most
# MOST_FEATURES, and MOST_VALUES values in all. Of more, each is found by its name and then loaded.
MOST_FEATURES, MOST_VALUES = 100, 5_000_000
# So are numbers in columns beyond this many.
MOST_COLUMNS = 100
# Of more values than this, points are kept in single precision. In double precision, their patches
# would have more bytes than fitting.MOST_BYTES.
MOST_DOUBLE = 2**23
# What comes after the fits.
STAGES = ("patches", "trust")
# What is fitted where nobody says what.
FIRST = ("isomap",)
# Names that a message lists.
MOST_NAMED = 10


class Explorer:
    """A page of embeddings: one HTML text that needs neither a server nor a network.

    Made by :func:`explore`. A notebook shows it inline; with anywidget, :attr:`selection` has the
    rows that are selected there.

    Attributes
    ----------
    html : str
        The page.
    notes : list of str
        What the fits had to say, and which.
    """

    def __init__(
        self, html: str, n_points: int, n_embeddings: int, notes: Iterable[str] = ()
    ) -> None:
        self.html = html
        self._widget: Any = None
        self.notes = list(notes)
        self._counts = n_points, n_embeddings

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        path = Path(path)
        write_whole(path, self.html)
        return path

    @property
    def selection(self) -> list[int]:
        """The rows that are selected on the page, in a notebook with anywidget; they can be set.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from patchfold import explore
        >>> view = explore(load_iris().data, n_neighbors=[15], divergences=["kl"])
        >>> view.selection = [3, 8]  # and in a notebook, what is drawn around on the page
        >>> view.selection
        [3, 8]
        """
        return list(self.widget().selection)

    @selection.setter
    def selection(self, rows: Iterable[int]) -> None:
        self.widget().selection = [int(row) for row in rows]

    def widget(self) -> Any:
        """Return the page as a widget, the same one every time, to combine it with others.

        Returns
        -------
        anywidget.AnyWidget
            Its trait ``selection`` can be observed.
        """
        if self._widget is None:
            self._widget = widget_class()(html=self.html)
        return self._widget

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget where anywidget is installed; the frame is what others show."""
        if find_spec("anywidget") is None:
            return {}
        return self.widget()._repr_mimebundle_(**options)

    def _repr_html_(self) -> str:
        return frame_of(self.html)

    def __repr__(self) -> str:
        n, count = self._counts
        plural = "" if count == 1 else "s"
        return f"Explorer({n} points, {count} embedding{plural}, {self.size})"

    @property
    def size(self) -> str:
        """How large the page is, in words."""
        return size_of(self.html)


def explore(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    id: str | None = None,  # noqa: A002 - as the command calls it
    preparation: TablePreparation | None = None,
    embeddings: Mapping[Any, Any] | None = None,
    columns: Mapping[Any, Any] | None = None,
    ids: Any = None,
    feature_names: Iterable[Any] | None = None,
    images: Any = None,
    text: Any = None,
    n_neighbors: Iterable[int | Auto] | None = None,
    methods: Iterable[MethodName] | None = None,
    divergences: Iterable[str] = ("euclidean", "kl"),
    metric: RowMetricName = "euclidean",
    title: str | None = None,
    layer: str | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    progress: Callable[[int, int, str], None] | None = None,
) -> Explorer:
    """Embed data in several ways and make a page to explore them with.

    The page has a slider over k, switches over divergence and method, two linked panes, the patch
    of the point under the pointer, edges coloured by divergence, the geodesic between two points,
    and how far each point can be trusted. It is one file, and works offline.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), data frame, or AnnData
        Points, as for :class:`~patchfold.PatchIsomap`; standardise features in different units. A
        data frame with text, or with a ``target`` or ``id``, is prepared as the command does it:
        see :class:`~patchfold.tables.TablePreparation`. One of numbers alone holds points.
        Of an AnnData the points are ``obsm["X_pca"]``, or up to 50 variables where there is none;
        its coordinates in ``obsm``, such as ``"X_umap"``, are ``embeddings``, its observations are
        columns. ``methods=["isomap"]`` adds a map of patches to them; without any coordinates, maps
        of patches are all it shows. None takes the first of the ``embeddings`` for the points.
    y : array of shape (n_samples,), str or None
        Classes or values to colour the points by; they do not change the embeddings. A name is one
        of the ``columns``, or a gene of an AnnData. None takes a column of at most 20 classes, or
        else one that varies.
    target, id : str or None
        Columns of a data frame: classes or values to colour by, and the names of the rows. They
        are no features. None looks for columns that are called so.
    preparation : TablePreparation or None
        How a data frame becomes points. A fitted one, such as the first step of a model, is used
        as it is. None takes that of the first of ``embeddings`` that is a pipeline with one.
    embeddings : mapping of labels to coordinates, or None
        Coordinates that are computed already, (n_samples, n_components), or fitted estimators of
        any library that have ``embedding_``. They are shown instead of fits, or beside those of
        ``methods`` that you name: the first fit and the first embedding side by side. Edges,
        patches and geodesics are of ``X``, fitted once for all that has none of its own.
    columns : mapping of names to sequences of n_samples values, or None
        What else is known about the points: text, numbers, None for missing. Shown on hover and in
        the table, and to colour and search by. Numbers beyond the first 100 columns are found by
        typing their name.
    ids : sequence of n_samples values, or None
        What the points are called; None means the number of the row, from 0. The name of a series
        is the name of their column, and stands for the one of that name in ``columns``.
    feature_names : sequence of n_features names, or None
        None takes the names of a data frame's columns. Features are columns of the page, too,
        unless ``columns`` has the same name, they are pixels, or they have no names and points have
        a ``text``. More than 100 of them, or more than 5 million values, are found by typing their
        name, if need be only those that follow the map most closely; a note says so.
    images : array of n_samples pictures, sequence of n_samples paths, False or None
        Pictures to show beside the points: an array of shape (n_samples, height, width), with 1, 3
        or 4 channels behind, a table of square pictures, or files. The page holds small ones. None
        takes an ``X`` of such a shape for pictures, and a table of pixels, too; False does not.
    text : str, sequence of n_samples texts, or None
        Texts to read in full beside the points: a name of one of the ``columns``, or the texts.
        Labels on the map take their words from it.
    n_neighbors : sequence of int or "auto", or None
        The steps of the slider. None means 6, 10, 15, 20 and 30; fewer beyond 20 000 points, and
        none above half of the points. ``"auto"`` is the one that
        :func:`~patchfold.selection.select_n_neighbors` chooses for the first method, and the first
        divergence of patches.
    methods : sequence of {"isomap", "lle", "eigenmaps", "tsne"}, or None
        None means isomap, and no fits beside ``embeddings``. Beside these, a method is fitted once,
        with the first divergence of patches and the first of ``n_neighbors``, or 15.
    divergences : sequence of names, default=("euclidean", "kl")
        Of :data:`patchfold.divergences.NAMES`; ``"euclidean"`` is the classical method.
    metric : {"euclidean", "cosine", "correlation"}, default="euclidean"
        How rows are near, in all fits and for trust. Fitted ``embeddings`` with a ``metric`` of
        their own are trusted by that one.
    title : str or None
    layer : str or None
        Where the genes of an AnnData are taken from: one of its layers, or ``"X"``. None takes
        ``.raw`` where there is one, and else ``.X``.
    n_jobs : int or None
        Number of threads.
    random_state : int, default=0
        Seed of t-SNE, of landmarks and of an approximate neighbour search.
    progress : callable or None
        Called as ``progress(done, total, what)`` before every fit and every stage after the fits,
        and once when the page is done.

    Returns
    -------
    Explorer
        Shown inline by a notebook; ``save`` writes it to a file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> explore(X, y, n_neighbors=(10, 20), title="iris")
    Explorer(150 points, 4 embeddings, ... kB)

    Estimators that are fitted already, and coordinates of any origin:

    >>> from sklearn.decomposition import PCA
    >>> from sklearn.manifold import MDS
    >>> both = {"PCA": PCA(2).fit_transform(X), "MDS": MDS(n_init=1, init="random").fit(X)}
    >>> explore(X, y, embeddings=both)
    Explorer(150 points, 2 embeddings, ... kB)
    >>> explore(X, y, embeddings=both, methods=["isomap"])
    Explorer(150 points, 3 embeddings, ... kB)

    A data frame, whose columns are prepared first:

    >>> iris = load_iris(as_frame=True).frame
    >>> page = explore(iris, target="target", n_neighbors=[15])
    """
    target, id = (None if name is None else str(name) for name in (target, id))  # noqa: A001
    shown = column_of(X, text)
    named = {"target": target or column_of(X, y, columns), "id": id, "info": shown and (shown,)}
    source = source_of_table(X, embeddings, named, preparation) or source_of(X, embeddings, layer)
    y = target or source.target if y is None else y
    given = len(source.embeddings) > 0
    pictures = pictures_of(source.points, source.images if images is None else images)
    points = check_points(pictures.points, min_samples=2 if given else 3)
    # Many numbers are kept in half the room, which the eye does not see; others as they are given.
    if points.size > MOST_DOUBLE:
        points = points.astype(np.float32, copy=False)
    known_names = source.feature_names if feature_names is None else feature_names
    names = _feature_names(source.points, points.shape[1], known_names, pictures.names)
    columns = source.columns | dict({} if columns is None else columns)
    frame = hasattr(source.points, "columns")
    parts: dict[str, Any] = {
        "columns": columns if y is None else _coloured(y, columns, source.genes),
        "genes": source.genes,
        "ids": source.ids if ids is None else ids,
        "images": pictures.images,
        "pixels": pictures.pixels,
        "text": text,
        "coloured": y is not None,
        "unread": text is not None and known_names is None and not frame,
        "title": title,
        "notes": [*source.notes, *pictures.notes],
    }
    common = {"n_jobs": n_jobs, "random_state": random_state}
    check_row_metric(metric)
    near = in_metric(points, metric, n_jobs)
    fitted, said, steps = _maps(source, near, methods, divergences, n_neighbors, progress, common)
    offered = is_anndata(X) and methods is None and not embeddings and given
    parts["notes"] += (*said, OFFER) if offered else said
    steps("trust")
    page = _page_of(fitted, near, Further(names, points), parts, n_jobs, random_state)
    steps("page")
    return page


def _maps(
    source: Source,
    points: Doubles,
    methods: Iterable[str] | None,
    divergences: Iterable[str],
    n_neighbors: Iterable[int | Auto] | None,
    progress: Callable[[int, int, str], None] | None,
    common: dict[str, Any],
) -> tuple[list[Fitted], tuple[str, ...], _Steps]:
    """Return what the page shows, fitted or given, and what the fits had to say."""
    given = len(source.embeddings) > 0
    wanted = (() if given else FIRST) if methods is None else _listed("methods", methods)
    fits = [check_choice("methods", method, METHODS) for method in wanted]
    divergences = _listed("divergences", divergences)
    divergences = [check_choice("divergences", name, known.NAMES) for name in divergences]
    if given:
        k = None if n_neighbors is None else _listed("n_neighbors", n_neighbors)[0]
        steps = _Steps(progress, len(fits))
        maps, said = fit_beside(source.embeddings, points, fits, divergences, k, steps, **common)
        return from_estimators(maps, points, steps, common["n_jobs"]), said, steps
    ks = _stops(n_neighbors, points, fits, divergences, common)
    fewer, said = compressed(points)
    steps = _Steps(progress, len(fits) * len(divergences) * len(ks))
    return fit_all(fewer, fits, divergences, ks, steps, **common), said, steps


class _Steps:
    """Tells how many of the fits, and of the stages after them, are done."""

    def __init__(self, tell: Callable[[int, int, str], None] | None, fits: int) -> None:
        self._tell, self._done, self._total = tell, 0, fits + len(STAGES)

    def __call__(self, what: str) -> None:
        if self._tell is not None:
            self._tell(self._done, self._total, what)
        self._done += 1


def _page_of(
    fitted: list[Fitted],
    X: Doubles,
    all_features: Further,
    parts: dict[str, Any],
    n_jobs: int | None,
    random_state: Any,
) -> Explorer:
    n, ids, images = len(X), parts["ids"], parts["images"]
    store = ArrayStore()
    given = getattr(ids, "name", None)
    columns, text = with_text(parts["text"], parts["columns"])
    columns = {name: cells for name, cells in columns.items() if given is None or name != given}
    shown = {given, *columns}
    columns, further = _split(columns, text, n)
    if parts["genes"] is not None:
        genes = Further(parts["genes"].titles, parts["genes"].values).without(shown)
        shown |= {*genes.names}
        further.append(genes)
    if not (parts["pixels"] or parts["unread"]):
        # Others may have a feature, or the category that it is 1 for, as in "colour = red".
        features = all_features.without(shown)
        if X.size <= MOST_VALUES and X.shape[1] <= MOST_FEATURES:
            values = features.values.astype(np.float64, copy=False)  # quick to pack
            columns = columns | dict(zip(features.names, values.T, strict=True))
        else:
            further.append(features)
    if not parts["coloured"]:
        columns = best_to_colour(columns, n)
    known = next((one.known for one in fitted if one.known), {})
    columns = columns | {k: v for k, v in known.items() if k not in {given, *columns}}
    key = str(given)
    if given is None:
        key = unused("row" if ids is None else "id", set(map(str, columns)), " number")
    # One of many pixels says nothing by itself.
    named = not (parts["unread"] or (parts["pixels"] and X.shape[1] > MOST_FEATURES))
    views = views_of(fitted, X, named=named, n_jobs=n_jobs, random_state=random_state)
    found, said = pack_further(further, fitted[0].graph, store)
    description = {
        "title": "patchfold" if parts["title"] is None else str(parts["title"]),
        "n": n,
        "ids": pack_ids(key, np.arange(n) if ids is None else ids, n, store),
        "columns": [pack_column(name, cells, n, store) for name, cells in columns.items()],
        "further": found,
        "text": list(columns).index(text) if text in columns else None,
        "images": None if images is None else pack_images(images, n, store),
        **pack_views(views, all_features.names, store),
    }
    notes = [*parts["notes"], *said, *_notes(fitted)]
    return Explorer(assemble(description, store), n, len(fitted), notes)


def _split(columns: dict[Any, Any], text: Any, n: int) -> tuple[dict[Any, Any], list[Further]]:
    """Return the columns that a page always has, and numbers beyond the first MOST_COLUMNS."""
    numbers = {
        name: found
        for name in list(columns)[MOST_COLUMNS:]
        if name != text and (found := numbers_of(name, columns[name], n)) is not None
    }
    near = {name: cells for name, cells in columns.items() if name not in numbers}
    if not numbers:
        return near, []
    return near, [Further([str(name) for name in numbers], np.column_stack([*numbers.values()]))]


def _notes(fitted: list[Fitted]) -> list[str]:
    """Return every note once, with the first fit that had it and how many others."""
    said: dict[str, list[str]] = {}
    for one in fitted:
        for note in one.notes:
            fit = f"{one.method}, {one.divergence}, k = {one.k}"
            said.setdefault(note, []).append(one.method if one.k is None else fit)
    more = {note: f" and {len(fits) - 1} more" * (len(fits) > 1) for note, fits in said.items()}
    return [f"{fits[0]}{more[note]}: {note}" for note, fits in said.items()]


def _stops(
    n_neighbors: Iterable[int | Auto] | None,
    X: Doubles,
    methods: list[str],
    divergences: list[str],
    common: dict[str, Any],
) -> list[int]:
    """Return the values of k of the slider."""
    values = slider(len(X)) if n_neighbors is None else _listed("n_neighbors", n_neighbors)
    if "auto" in values:
        chosen = choose_k(X, methods, divergences, **common)
        values = [chosen if k == "auto" else k for k in values]
    ks = sorted({check_count("n_neighbors", k) for k in values})
    if ks[-1] >= len(X):
        raise ValueError(
            f"n_neighbors={ks[-1]} needs more than {ks[-1]} samples, got {len(X)}; give values of "
            f"at most {len(X) - 1}."
        )
    return ks


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        values = [values]
    result = list(dict.fromkeys(values))
    if not result:
        raise ValueError(f"{name} is empty; give at least one.")
    return result


def _feature_names(
    X: Any, m: int, given: Iterable[Any] | None, pixels: Iterable[str] | None
) -> list[str]:
    if given is None:
        given = getattr(X, "columns", pixels)
    names = [f"feature {place}" for place in range(m)] if given is None else list(map(str, given))
    if len(names) != m:
        raise ValueError(f"feature_names has {len(names)} names for {m} features; give one each.")
    return names


def _coloured(y: Any, columns: dict[Any, Any], genes: Expression | None) -> dict[Any, Any]:
    """Put what colours the points before the other columns: values, or one of these by its name.

    A name may also be that of a gene.
    """
    if not isinstance(y, str):
        name = getattr(y, "name", None)
        name = unused("target" if name is None else str(name), columns, " (target)")
        return {name: y, **columns}
    if y not in columns and genes is not None and y in genes:
        return {y: genes.column(y), **columns}
    if y not in columns:
        known = ", ".join(repr(str(name)) for name in list(columns)[:MOST_NAMED]) or "none"
        raise ValueError(f"y={y!r} is none of the columns ({known}); give one, or the values.")
    return {y: columns[y], **columns}
