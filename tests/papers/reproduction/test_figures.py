"""The papers' figures are drawn from data at hand, and the page says what they show."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_score

from patchfold import datasets, papers
from patchfold.evaluation.document import plain
from patchfold.papers.reproduction import elap, experiment, figures
from patchfold.selection import select_patch_size

# Graphs in parts and kernels without weight are what some figures show.
in_parts = pytest.mark.filterwarnings("ignore::UserWarning")

PAGE = Path(__file__).parents[3] / "docs" / "reproduction" / figures.PAGE


def numbers(drawn):
    """Return the rows of a figure's table as numbers, by their first cell."""
    _, (_, *rows) = drawn
    return {name: [float(cell.rstrip("%")) for cell in cells] for name, *cells in rows}


@pytest.mark.slow
def test_a_page_has_the_figures_of_the_data_sets_asked_for_and_names_the_others(tmp_path):
    files = figures.draw_all(tmp_path, ["corral", "parity5"])
    assert files == ["figures.md", "figure-pelle-1.png", "figure-elap-3.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    page = (tmp_path / "figures.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.*)\)", page) == files[1:]
    left_out = page.rpartition("Not drawn: ")[2]
    assert all(name in left_out for name in ("mfeat-fourier", "texture", "X-space", "Figure 1"))


def test_a_quick_page_leaves_out_what_takes_long(tmp_path, monkeypatch):
    drawn = []

    def draw(name):
        drawn.append(name)
        return figures.maps([("", np.eye(3))], np.array([0, 1, 1]))

    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    plates = [
        figures.Plate(name, name, (name,), "", "", lambda name=name: draw(name))
        for name in ("iris", "digits")
    ]
    monkeypatch.setattr(figures, "PLATES", plates)
    figures.draw_all(tmp_path, quick=True)
    assert drawn == ["iris"]
    figures.draw_all(tmp_path)
    assert drawn == ["iris", "iris", "digits"]


@in_parts
def test_classes_of_parity5_are_told_apart_by_the_program_and_not_by_the_equations():
    rows = numbers(figures._parity(2))
    X, y = experiment.standardised("parity5")
    names = ("Laplacian eigenmaps, K = 2", "ELAP, authors' program", "ELAP, equations")
    assert tuple(rows) == names
    assert [rows[name][1] for name in names[:2]] == [100, 0]
    silhouettes = [silhouette_score(elap.published(X, 2), y)]
    silhouettes.append(silhouette_score(papers.elap(2).fit_transform(X), y))
    np.testing.assert_allclose([rows[name][0] for name in names[1:]], silhouettes, atol=5e-4)
    assert silhouettes[0] > 0.3
    assert silhouettes[1] < 0


@in_parts
def test_most_points_of_parity5_fall_on_one_place_by_the_equations():
    X, _ = experiment.standardised("parity5")
    plane = papers.elap(2).fit_transform(X)
    middle = np.median(plane, axis=0)
    assert (np.abs(plane - middle).max(axis=1) < 1e-6).sum() == 28


def test_classes_of_corral_overlap_less_with_pelle():
    rows = numbers(figures._corral(14))
    lle, program, equations = (overlap for _, overlap in rows.values())
    assert program < equations < lle


def test_overlap_is_the_share_of_points_beside_another_class():
    rng = np.random.default_rng(0)
    plane, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    D = cdist(plane, plane)
    np.fill_diagonal(D, np.inf)
    assert figures.overlap(plane, y) == np.mean(y[D.argmin(axis=1)] != y)


@in_parts
def test_each_laplacian_finds_the_smaller_of_the_cuts_it_approximates():
    X = figures.two_groups()
    plain_side, ratio, normalised = figures.halved(X, "unnormalized")
    side, other_ratio, other_normalised = figures.halved(X, "random-walk")
    assert ratio < other_ratio
    assert other_normalised < normalised
    assert min(plain_side.sum(), (~plain_side).sum()) == 1
    dense, sparse = side[: figures.GROUP].mean(), side[figures.GROUP :].mean()
    assert abs(dense - sparse) > 0.7
    assert 40 <= min(side.sum(), (~side).sum()) <= 60


def test_cuts_are_the_sums_of_the_equations():
    X = figures.two_groups()
    side, ratio, normalised = figures.halved(X, "random-walk")
    D = cdist(X, X)
    nearest = np.argsort(D, axis=1)[:, 1 : figures.NEIGHBORS + 1]
    W = np.zeros(D.shape)
    np.put_along_axis(W, nearest, 1.0, axis=1)
    W = np.where((W + W.T) > 0, np.exp(-(D**2) / figures.T), 0.0)
    between = sum(W[i, j] for i in np.flatnonzero(side) for j in np.flatnonzero(~side))
    degrees = W.sum(axis=1)
    for value, sizes in ((ratio, np.ones(len(X))), (normalised, degrees)):
        expected = 0.5 * (between / sizes[side].sum() + between / sizes[~side].sum())
        np.testing.assert_allclose(value, expected, rtol=1e-9)


@in_parts
def test_the_energy_is_that_of_the_preset_and_the_loss_that_of_the_closest_centres():
    gained, lost = figures.energy_and_loss("iris", [5, 20], [10])
    X = datasets.load("iris").X
    chosen = select_patch_size(papers.x_eigenmaps(10, n_components=2), X, candidates=[5, 20])
    np.testing.assert_allclose(gained[:, 0], chosen.scores["energy"], rtol=1e-9)
    assert gained.shape == lost.shape == (2, 1)
    # Two eigenvectors of unit length have a sum of squares of 2, and clusters explain part of it.
    assert (lost > 0).all()
    assert (lost < 2).all()


def test_the_committed_page_has_every_figure_and_the_sentences_of_the_code():
    page = PAGE.read_text(encoding="utf-8")
    for plate in figures.PLATES:
        assert f"## {plain(plate.title)}\n\n{plain(f'The paper: {plate.paper}')}\n\n" in page
        assert f"\n\n{plain(f'Ours: {plate.ours}')}\n" in page
        assert f"(figure-{plate.name}.png)" in page
        assert (PAGE.parent / f"figure-{plate.name}.png").is_file()
    assert plain(figures.INTRODUCTION) in page
    assert "Not drawn" not in page
