"""A table becomes points in Python as in the command, and new rows as the fitted ones."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from patchfold import PatchIsomap
from patchfold.tables import TableError, TablePreparation

WHY = {
    "check_dataframe_column_names_consistency": "columns are found by their names, in any order",
}


@parametrize_with_checks(
    [TablePreparation(), TablePreparation(scale="raw", missing="impute")],
    expected_failed_checks=lambda _: WHY,
)
def test_it_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


def sales(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "Nr": range(1, rows + 1),
            "Umsatz": [f"{euros:.2f} €".replace(".", ",") for euros in rng.uniform(9, 99, rows)],
            "Menge": rng.integers(1, 50, rows),
            "Farbe": rng.choice(["rot", "blau"], rows),
            "Tag": pd.date_range("2024-01-28", periods=rows).strftime("%d.%m.%Y"),
            "Klasse": ["gut", "schlecht"] * (rows // 2),
            "fest": 1,
        }
    )


def test_every_column_is_described():
    prepare = TablePreparation(dates=True, info=["fest"]).fit(sales())
    assert prepare.columns_ == {
        "Nr": "names the rows",
        "Umsatz": "number (decimal comma, in €), standardised",
        "Menge": "number, standardised",
        "Farbe": "2 categories, a column of 0 and 1 each",
        "Tag": "date (day before month) as a number, standardised",
        "Klasse": "target, not embedded",
        "fest": "shown, not embedded",
    }
    assert (prepare.id_, prepare.target_, prepare.scale_) == ("Nr", "Klasse", "standardize")
    names = ["Umsatz", "Menge", "Tag", "Farbe = blau", "Farbe = rot"]
    assert prepare.get_feature_names_out().tolist() == names
    other = TablePreparation(drop=["Tag", "Nr"], feature=["Klasse"], scale="raw").fit(sales())
    assert other.columns_["Tag"] == "left out"
    assert other.columns_["fest"] == "the same in every row, without effect"
    assert other.columns_["Klasse"] == "2 categories, a column of 0 and 1 each"
    assert other.columns_["Menge"] == "number, as it is"


def test_new_rows_become_points_as_the_fitted_ones_did():
    frame = sales()
    prepare = TablePreparation(dates=True, drop=["fest"]).fit(frame)
    points = prepare.transform(frame)
    euros = frame["Umsatz"].str[:-2].str.replace(",", ".").astype(float)
    np.testing.assert_allclose(points[:, 0], (euros - euros.mean()) / euros.std(ddof=0))
    days = np.arange(40)
    np.testing.assert_allclose(points[:, 2], (days - days.mean()) / days.std())
    # In any order, without what is no feature.
    alone = frame[["Tag", "Farbe", "Menge", "Umsatz"]][5:9]
    assert np.array_equal(prepare.transform(alone), points[5:9])
    assert np.array_equal(prepare.transform(frame[5:9]), points[5:9])
    again = pickle.loads(pickle.dumps(prepare))
    assert np.array_equal(again.transform(alone), points[5:9])
    assert clone(prepare).get_params() == prepare.get_params()


def test_names_of_any_letters_are_whole_in_the_words_of_python():
    frame = sales()[["Menge", "Klasse", "Umsatz"]].rename(columns={"Klasse": "cell.type"})
    notes = TablePreparation().fit(frame).notes_
    assert notes[0].endswith("(feature=['cell.type'] embeds it)")


def test_a_few_new_rows_are_read_as_the_fitted_ones_were():
    texts = ["1.234 €", "2.345,50 €", "999 €", "1.100 €"]
    frame = pd.DataFrame({"Preis": texts * 5, "x": np.arange(20.0) ** 2})
    prepare = TablePreparation(scale="raw").fit(frame)
    assert prepare.transform(frame[:1]).tolist() == [[1234, 0]]
    assert prepare.transform(frame[3:4]).tolist() == [[1100, 9]]
    with pytest.raises(TableError, match=r"column 'Preis' should be in €, but is in \$; convert"):
        prepare.transform(frame[:1].assign(Preis="1.234 $"))


PIECES = ["935", "1.275", "66.208", "2.002.364", "12"] * 4


def test_floats_that_were_thousands_are_refused_in_words():
    frame = pd.DataFrame({"Preis": ["1.234,5", "7,25"] * 10, "Stück": PIECES})
    prepare = TablePreparation(scale="raw").fit(frame)
    assert prepare.columns_["Stück"] == "number (points between thousands), as it is"
    points = prepare.transform(frame)
    assert points[:3].tolist() == [[1234.5, 935], [7.25, 1275], [1234.5, 66208]]
    with pytest.raises(
        TableError, match=r"whole numbers with .* row 2 has the number 1\.275; give"
    ):
        prepare.transform(frame[:3].assign(Stück=[935, 1.275, 66.208]))
    for other in (points[:, 1], [text.replace(".", "") for text in PIECES]):
        assert np.array_equal(prepare.transform(frame.assign(Stück=other)), points)
    other = frame.assign(Stück=[text.replace(".", ",") for text in PIECES])
    assert np.array_equal(prepare.transform(other), points)
    assert prepare.transform(frame[:1].assign(Stück=[1000.5])).tolist() == [[1234.5, 1000.5]]


@pytest.mark.parametrize("dash", ["-", "\u2013", "\u2014", "."])
@pytest.mark.parametrize(
    ("values", "filled"),
    [(["yes", "no", "no"] * 8, "no"), ([f"{day}.1.2024" for day in range(1, 25)], "12.1.2024")],
)
def test_a_dash_is_missing_among_dates_and_categories(dash, values, filled):
    frame = pd.DataFrame({"x": np.arange(24.0) ** 2, "when": values})
    holes = frame.assign(when=[*values[:11], dash, *values[12:]])
    prepare = TablePreparation(missing="impute", dates=True, scale="raw").fit(holes)
    assert any("a dash or a point alone counts as missing" in note for note in prepare.notes_)
    points = prepare.transform(holes)
    empty = holes.replace(dash, None)
    assert np.array_equal(points, TablePreparation(**prepare.get_params()).fit_transform(empty))
    assert np.array_equal(points[[11]], prepare.transform(holes[11:12]))
    assert np.array_equal(np.delete(points, 11, 0), prepare.transform(frame.drop(index=11)))
    with pytest.raises(TableError, match=r"1 of 24 rows has a missing value: row 12 \('when'\)"):
        TablePreparation(dates=True).fit(holes)
    if filled in values[:3]:
        alone = prepare.transform(frame[11:12].assign(when=filled))
        assert np.array_equal(points[[11]], alone)


@pytest.mark.parametrize("others", [["x"], ["+"], ["++", "+", "o", "--"]])
def test_a_dash_that_says_no_is_a_category(others):
    kinds = ["-", *others] * 8
    frame = pd.DataFrame({"x": np.arange(float(len(kinds))) ** 2, "kind": kinds})
    prepare = TablePreparation().fit(frame)
    assert prepare.columns_["kind"].startswith(f"{len(set(kinds))} categories")
    assert not any("dash" in note for note in prepare.notes_)
    assert np.array_equal(prepare.transform(frame[:1]), prepare.transform(frame)[:1])


SPELLINGS = {
    "bool": [True, False] * 10,
    "small": ["true", "false"] * 10,
    "great": ["TRUE", "FALSE"] * 10,
    "mixed": ["true", "False", "True", "FALSE", True, False, "TRUE", "false"] * 2
    + ["true", False] * 2,
}


@pytest.mark.parametrize("fitted", SPELLINGS)
@pytest.mark.parametrize("given", SPELLINGS)
def test_true_and_false_are_the_same_however_they_are_spelled(fitted, given):
    frame = pd.DataFrame({"x": np.arange(20.0) ** 2, "ok": SPELLINGS[fitted]})
    prepare = TablePreparation().fit(frame)
    points = prepare.transform(frame.assign(ok=SPELLINGS[given]))
    assert np.array_equal(points, prepare.transform(frame))
    assert points[:, 1:].tolist() == [[0, 1], [1, 0]] * 10
    assert np.array_equal(prepare.transform(frame.assign(ok=SPELLINGS[given])[1:2]), points[1:2])


def test_truth_among_other_words_is_spelled_as_it_was():
    words = pd.Series(["true", "false", "maybe", "true", "false"] * 4)
    frame = pd.DataFrame({"x": np.arange(20.0) ** 2, "ok": words})
    prepare = TablePreparation().fit(frame)
    points = prepare.transform(frame)
    assert np.array_equal(prepare.transform(frame[:2].assign(ok=["True", "FALSE"])), points[:2])
    assert np.array_equal(prepare.transform(frame[:2].assign(ok=[True, False])), points[:2])


def test_columns_are_called_by_their_numbers_where_they_have_no_names():
    frame = sales()[["Menge", "Klasse", "Umsatz", "fest"]].set_axis(range(4), axis=1)
    prepare = TablePreparation(target=1, drop=[3]).fit(frame)
    assert prepare.columns_["1"] == "target, not embedded"
    assert prepare.get_feature_names_out().tolist() == ["0", "2"]


def test_other_columns_and_values_are_named_in_the_words_of_python():
    frame = sales().drop(columns="Tag")
    prepare = TablePreparation(drop=["fest"]).fit(frame)
    with pytest.raises(TableError, match=r"needs the columns 'Menge'; there are 'menge' that it"):
        prepare.transform(frame.rename(columns={"Menge": "menge"}))
    with pytest.raises(TableError, match=r"columns 'neu'; .* with X\.drop\(columns="):
        prepare.transform(frame.assign(neu=1))
    with pytest.raises(TypeError, match=r"drop='Tag' is one text; give a list, drop=\['Tag'\]"):
        TablePreparation(drop="Tag").fit(sales())
    with pytest.raises(TableError, match=r"row 3 \('Menge'\)"):
        prepare.transform(frame.assign(Menge=frame["Menge"].where(frame.index != 2)))
    with pytest.warns(UserWarning, match="'Farbe' has values that the model does not know, such"):
        unknown = prepare.transform(frame.assign(Farbe="gelb"))
    assert unknown[0, -2:].tolist() == [0, 0]
    with pytest.raises(TableError, match=r"dates=True makes numbers of them, info=\['Tag'\]"):
        TablePreparation().fit(sales())
    gaps = frame.assign(Menge=frame["Menge"].where(frame.index != 2))
    with pytest.raises(TableError, match=r'give missing="impute", or leave out such rows'):
        TablePreparation().fit(gaps)
    filled = TablePreparation(missing="impute", scale="raw").fit(gaps)
    assert filled.transform(gaps)[2, 1] == gaps["Menge"].median()
    assert filled.notes_[0].endswith(
        "taken for target, not embedded (feature=['Klasse'] embeds it)"
    )
    with pytest.raises(TableError, match="named twice by target, id, info and drop; decide"):
        TablePreparation(target="Farbe", drop=["Farbe"]).fit(frame)


def test_pixels_are_seen_in_a_frame_and_may_be_standardised():
    frame = load_digits(as_frame=True).frame[:80]
    prepare = TablePreparation().fit(frame)
    assert (prepare.unit_, prepare.scale_, prepare.target_) == ("pixels", "raw", "target")
    assert np.array_equal(prepare.transform(frame), load_digits().data[:80])
    scaled = TablePreparation(scale="standardize").fit_transform(frame)
    expected = StandardScaler().fit_transform(load_digits().data[:80])
    np.testing.assert_allclose(scaled, expected)


def test_an_array_has_features_alone():
    X = np.column_stack([np.arange(30), np.random.default_rng(0).normal(size=30)])
    prepare = TablePreparation().fit(X)
    np.testing.assert_allclose(prepare.transform(X), StandardScaler().fit_transform(X))
    assert list(prepare.columns_) == ["column 1", "column 2"]
    words = np.array([["a", "1"], ["b", "2"], ["a", "3"]], dtype=object)
    assert TablePreparation().fit_transform(words).shape == (3, 5)


def test_a_pipeline_takes_a_frame_to_the_plane():
    iris = load_iris(as_frame=True).frame
    model = make_pipeline(TablePreparation(target="target"), PatchIsomap())
    model.set_output(transform="pandas").fit(iris)
    expected = PatchIsomap().fit(StandardScaler().fit_transform(load_iris().data))
    np.testing.assert_allclose(model[-1].embedding_, expected.embedding_, atol=1e-8)
    assert model[-1].feature_names_in_.tolist() == load_iris().feature_names
    assert list(model.transform(iris[:3]).columns) == ["patchisomap0", "patchisomap1"]


def test_frames_of_polars_are_frames():
    polars = pytest.importorskip("polars")
    frame = sales().drop(columns="Tag")
    points = TablePreparation().fit(frame).transform(frame)
    other = polars.from_pandas(frame)
    assert np.array_equal(TablePreparation().fit(other).transform(other), points)
