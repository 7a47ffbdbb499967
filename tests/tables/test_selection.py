"""Columns become points as the options say, and what cannot be used is named."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from patchfold.tables import (
    ColumnsError,
    TableError,
    check_column,
    check_ending,
    check_rows,
    classes,
    conform,
    encode_table,
    is_continuous,
    preprocessor,
    select,
)

FRAME = pd.DataFrame(
    {
        "x": [1.0, 2.0, 4.0, 8.0],
        "kind": ["b", "a", "b", "b"],
        "yes": [True, False, True, True],
        "name": ["p", "q", "r", "s"],
    }
)


def test_the_target_and_the_names_are_no_features():
    selection = select(FRAME, target="kind", ids="name", drop=["yes"])
    assert list(selection.features.columns) == ["x"]
    assert selection.target.tolist() == ["b", "a", "b", "b"]
    assert selection.ids.tolist() == list("pqrs")
    assert list(selection.others.columns) == ["x", "kind", "name"]
    shown = select(FRAME, target="kind", info=["yes", "name"])
    assert list(shown.features.columns) == ["x"]
    assert list(shown.others.columns) == list(FRAME.columns)


def test_numbers_are_standardised_and_categories_become_columns_of_ones():
    features = select(FRAME, ids="name").features
    points = preprocessor(features).fit_transform(features)
    assert np.array_equal(points[:, :1], StandardScaler().fit_transform(features[["x"]]))
    assert points[:, 1:3].tolist() == [[0, 1], [1, 0], [0, 1], [0, 1]]
    raw = preprocessor(features, scale="raw").fit_transform(features)
    assert raw[:, 0].tolist() == [1, 2, 4, 8]


@pytest.mark.parametrize("missing", [False, True])
def test_true_and_false_weigh_as_much_as_yes_and_no(missing):
    truth = FRAME["yes"].astype("boolean")
    truth = truth.mask(FRAME.index == 3) if missing else FRAME["yes"]
    words = truth.map({True: "yes", False: "no"})
    found = []
    for column in (truth, truth.astype(object), words):
        features = select(FRAME.assign(yes=column)[["x", "yes"]], missing="impute").features
        found.append(preprocessor(features, impute=True).fit_transform(features).tolist())
    assert found[0] == found[1] == found[2]
    assert [row[1:] for row in found[0]] == [[0, 1], [1, 0], [0, 1], [0, 1]]


def test_names_of_features_differ_from_those_of_columns():
    frame = pd.DataFrame({"color": ["red", "blue"], "color_red": [1.0, 2.0]})
    names = preprocessor(frame).fit(frame).get_feature_names_out()
    assert list(names) == ["color_red", "color = blue", "color = red"]
    with pytest.raises(TableError, match="two features would be named 'color = red'"):
        preprocessor(frame.rename(columns={"color_red": "color = red"}))


def test_ids_and_labels_are_as_they_are_written():
    written = pd.DataFrame({"t": ["01", "02", "01", "02"], "name": ["001", "NA", "3", "4"]})
    frame = FRAME.assign(t=[1, 2, 1, 2], name=[1.0, np.nan, 3.0, 4.0])
    selection = select(frame, target="t", ids="name", written=written)
    assert selection.ids.tolist() == ["001", "NA", "3", "4"]
    assert selection.others["name"].tolist() == ["001", "NA", "3", "4"]
    assert selection.label.tolist() == ["01", "02", "01", "02"]
    assert selection.target.tolist() == [1, 2, 1, 2]


def test_ordinal_codes_are_places_in_the_declared_or_alphabetical_order():
    declared = pd.Categorical(FRAME["kind"], categories=["b", "never", "a"])
    for kind, codes in ((FRAME["kind"], [1, 0, 1, 1]), (declared, [0, 1, 0, 0])):
        features = select(FRAME.assign(kind=kind), drop=["x", "yes", "name"]).features
        coder = preprocessor(features, categories="ordinal", scale="raw")
        assert coder.fit_transform(features).ravel().tolist() == codes
        scaled = preprocessor(features, categories="ordinal").fit_transform(features)
        assert abs(scaled.mean()) < 1e-15


def test_numbers_of_any_kind_are_numbers():
    frame = pd.DataFrame(
        {
            "decimal": [Decimal("1.5"), Decimal(2), None],
            "integer": pd.array([1, None, 3], dtype="Int64"),
            "single": np.array([1, 2, 3], dtype=np.float32),
            "category": pd.Categorical([3, 1, 3]),
        }
    )
    features = select(frame, missing="impute").features
    assert set(features.dtypes) == {np.dtype(float)}
    assert features["category"].tolist() == [3, 1, 3]


HOLES = FRAME.assign(x=[1.0, np.nan, 4.0, 8.0], kind=["b", None, None, "b"])


def test_missing_values_are_named_with_their_rows_and_columns():
    with pytest.raises(TableError) as caught:
        select(HOLES, ids="name")
    assert str(caught.value).startswith(
        "2 of 4 rows have a missing value: row 2 ('x', 'kind'), row 3 ('kind'); choose --missing "
    )


def test_rows_with_missing_values_are_left_out_on_request():
    selection = select(HOLES, ids="name", missing="drop")
    assert selection.rows.tolist() == [0, 3]
    assert selection.ids.tolist() == ["p", "s"]
    assert selection.n_rows == 4
    (note,) = selection.notes
    assert note.startswith("2 of 4 rows have a missing value and were left out: row 2")


def test_missing_values_become_the_median_and_the_most_frequent_category():
    selection = select(HOLES, ids="name", drop=["yes"], missing="impute")
    coder = preprocessor(selection.features, scale="raw", impute=True)
    assert coder.fit_transform(selection.features)[:, 0].tolist() == [1, 4, 4, 8]
    assert coder.fit_transform(selection.features)[:, -1].tolist() == [1, 1, 1, 1]
    assert selection.notes == [
        "3 missing values imputed (median, most frequent category) in 'x', 'kind'"
    ]


def test_a_target_may_be_missing_and_is_then_noted():
    selection = select(FRAME.assign(t=[1, 2, None, 1]), target="t", drop=["name"])
    assert selection.notes == ["the target 't' is missing in 1 of 4 rows"]


N = 40
LONG = pd.DataFrame({"x": np.arange(N, dtype=float)})


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([None] * N, "column 'c' has no values; leave it out with --drop 'c'"),
        (pd.date_range("2020", periods=N), "column 'c' holds dates"),
        ([f"2020-01-{day % 31:02}" for day in range(N)], "column 'c' holds dates"),
        (["3/12/2020", "13/1/2020"] * (N // 2), "column 'c' holds dates or times"),
        (["1.12.2020", "1.1.21 12:30"] * (N // 2), "column 'c' holds dates or times"),
        (["12:30", "7:05 pm"] * (N // 2), "column 'c' holds dates or times"),
        (["1,23,4", "999"] * (N // 2), "row 1 has '1,23,4'; write it with a decimal point and"),
        (["2 kg", "500 g"] * (N // 2), "different units ('kg', 'g'), write one; show it with --i"),
        (["7%", "8"] * (N // 2), "column 'c' has numbers with different units ('%', 'no unit')"),
        (["30.2.2020"] * N, "column 'c' holds dates"),
        (["1.1", "1.2", "l.3", "1.4"] * (N // 4), "seems to hold numbers, but row 3 has 'l.3'"),
        (
            [f"person {i}" for i in range(N)],
            "has 40 different texts in 40 rows, such as 'person 0'",
        ),
        ([*map(str, range(N - 1)), "much"], "seems to hold numbers, but row 40 has 'much'"),
        (["2020-01-01", "2020-02-01"] * (N // 2), "column 'c' holds dates"),
        ([*range(N - 1), np.inf], "column 'c' is infinite in row 40"),
        ([1j] * N, "column 'c' holds complex numbers"),
        ([[1, 2]] * N, "column 'c' should hold numbers, but row 1 has '[1, 2]'"),
        (["two\nlines " * 99 + str(i) for i in range(N)], "such as 'two lines two lines"),
    ],
)
def test_a_column_that_is_neither_number_nor_category_is_named(column, words):
    with pytest.raises(TableError) as caught:
        select(LONG.assign(c=column))
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_all_problems_are_named_at_once_with_what_settles_them():
    frame = LONG.assign(
        day=[f"2020-01-{day % 28 + 1:02}" for day in range(N)],
        note=[f"person {i}" for i in range(N)],
        empty=[None] * N,
        gap=[np.nan, *range(N - 1)],
    )
    with pytest.raises(ColumnsError) as caught:
        select(frame)
    assert [problem.options for problem in caught.value.problems] == [
        ("--dates",),
        ("--info", "note"),
        ("--drop", "empty"),
        ("--missing", "impute"),
    ]
    found = select(frame, dates=True, info=["note"], drop=["empty"], missing="impute")
    assert list(found.features.columns) == ["x", "day", "gap"]
    assert found.dates == {"day": "year first"}
    assert found.notes[0] == "dates became days since 1970 (year first): 'day'"


def test_numbers_that_are_written_otherwise_are_read_and_noted():
    frame = LONG.assign(a=["1,234", "999"] * (N // 2), b=["7%", "8%"] * (N // 2))
    found = select(frame)
    assert found.features["a"].tolist()[:2] == [1234, 999]
    assert found.features["b"].tolist()[:2] == [7, 8]
    assert found.notes == [
        "read as numbers (commas between thousands): 'a'",
        "read as numbers (in %): 'b'",
    ]
    new = pd.DataFrame({"a": ["2,345", "1"], "day": ["3.1.2020", None]})
    rows = conform(
        new, numbers=["a", "day"], categories={}, dates={"day": "day first"}, missing="drop"
    )
    assert rows.features.iloc[0].tolist() == [2345, 18264]
    with pytest.raises(TableError, match="'day' should hold dates, but has 'soon'"):
        conform(new.assign(day="soon"), numbers=["day"], categories={}, dates={"day": "day first"})


def test_few_texts_are_categories_and_too_many_are_not():
    many = pd.DataFrame({"c": [f"t{i // 3}" for i in range(3 * 1001)]})
    with pytest.raises(TableError, match="1001 different texts"):
        select(many)
    assert select(many[:3000]).features["c"].nunique() == 1000
    assert len(select(FRAME).features) == 4
    digits = pd.DataFrame({"c": ["1", "2"] * 20}, dtype=object)  # text by its type
    assert select(digits).features["c"].tolist() == ["1", "2"] * 20
    codes = pd.DataFrame({"c": ["01", "02", "0A"] * 10})
    assert select(codes).features["c"].nunique() == 3
    declared = pd.DataFrame({"c": pd.Categorical(["1", "2", "3+"] * 10)})
    assert select(declared).features["c"].nunique() == 3
    with pytest.raises(TableError, match="40 different texts"):
        select(pd.DataFrame({"c": list(map(str, range(40)))}, dtype=object))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME[:1], "no arranging of 1 row alone"),
        (FRAME.assign(x=1.0)[["x"]], "no column varies ('x')"),
    ],
)
def test_features_that_say_nothing_are_refused(frame, words):
    with pytest.raises(TableError) as caught:
        check_rows(select(frame))
    assert words in str(caught.value)


def test_constant_columns_are_noted():
    selection = select(pd.concat([FRAME.assign(c=1)] * 13, ignore_index=True), ids="name")
    check_rows(selection)
    assert selection.notes == ["the same in every row, and so without effect: 'c'"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a"] * 4, "one value only, 'a'"),
        ([None] * 4, "no values"),
        ([[1], [2], [1], [2]], "'t' holds lists"),
    ],
)
def test_a_target_that_says_nothing_is_refused(values, words):
    with pytest.raises(TableError, match=words):
        select(FRAME.assign(t=values), target="t")


def test_a_name_that_is_no_column_is_refused_with_the_nearest():
    assert check_column("x", ["x", "y"]) == "x"
    with pytest.raises(TableError, match="no column 'speces'; did you mean 'species'"):
        check_column("speces", ["species", "x"])
    with pytest.raises(TableError, match="there are 'a', 'b'"):
        check_column("zzz", ["a", "b"])
    with pytest.raises(TableError, match="'x' is named twice by --target, --id, --info and --drop"):
        select(FRAME, target="x", drop=["x"])
    with pytest.raises(TableError, match="no column is left as a feature"):
        select(FRAME[["x", "kind"]], target="kind", drop=["x"])


def test_classes_are_codes_and_measurements_are_none():
    codes, names = classes(pd.Series([2.0, 1.0, np.nan]))
    assert (codes.tolist(), names) == ([1, 0, -1], ["1", "2"])
    assert classes(pd.Series([True, False]))[1] == ["False", "True"]
    assert classes(pd.Series(["x" * 1_000_000, *map(str, range(9999))]))[0].max() == 9999
    with pytest.raises(TableError, match=r"'t' holds measurements, such as 1\.5"):
        classes(pd.Series([1.5, 2.0], name="t"))
    assert is_continuous(pd.Series([0.5, 1.0]))
    assert not is_continuous(pd.Series([0.0, 1.0, np.nan]))
    assert not is_continuous(pd.Series(["a", "b"]))


# ---------------------------------------------------------------- new rows


def test_new_rows_take_the_kinds_of_the_fitted_ones():
    frame = pd.DataFrame({"code": [1.0, 2.0, np.nan], "x": ["1", "2", "3"], "t": list("uvw")})
    selection = conform(
        frame, numbers=["x"], categories={"code": ["1", "2"]}, target="t", missing="drop"
    )
    assert selection.features["x"].tolist() == [1.0, 2.0]
    assert selection.features["code"].tolist() == ["1", "2"]
    assert selection.target.tolist() == ["u", "v"]


def test_new_rows_with_text_for_a_number_or_an_unknown_category_are_named():
    frame = pd.DataFrame({"x": [1, "much"], "kind": ["a", "new"]})
    with pytest.raises(TableError, match="'x' should hold numbers, but row 2 has 'much'"):
        conform(frame, numbers=["x"], categories={})
    for missing in ("error", "drop"):
        with pytest.raises(TableError) as caught:
            conform(pd.DataFrame({"x": [None]}), numbers=["x"], categories={}, missing=missing)
        assert "--drop" not in str(caught.value)
        assert "choose --missing impute" not in str(caught.value)
    (note,) = conform(frame, numbers=[], categories={"kind": ["a", "b"]}).notes
    assert note == "column 'kind' has values that the model does not know, such as 'new' in row 2"


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"])
def test_a_written_table_is_read_again_to_the_last_digit(tmp_path, ending):
    from patchfold.tables import read_table

    frame = pd.DataFrame({"name": ["a,b", 'c"d'], "x": [0.1, 1 / 3]})
    path = tmp_path / f"table{ending}"
    assert check_ending(path) == ending
    path.write_bytes(encode_table(frame, ending))
    found = read_table(path).frame
    assert found.to_dict("list") == frame.to_dict("list")
    assert encode_table(frame, ending) == encode_table(frame, ending)


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"'table.xlsx' is not known; use .csv or"):
        check_ending(tmp_path / "table.xlsx")


def test_a_whole_number_beyond_the_largest_float_is_located(read):
    frame = read(f"x\n1\n{'9' * 400}\n").frame
    with pytest.raises(TableError, match=r"'x' has a number beyond 1.8e\+308 in row 2; correct it"):
        select(frame)
