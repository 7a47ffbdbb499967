"""Messy tables become points in one or two commands, and every decision is said."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from command_line import COORDINATES, done, iris, table, told, tried
from patchfold import datasets
from patchfold.cli._loading import TableOptions, pair_of
from patchfold.tables import TableError


def german(rows=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "Nr": range(1, rows + 1),
            "Datum": pd.date_range("2024-01-28", periods=rows).strftime("%d.%m.%Y"),
            "Umsatz": [
                f"{x:,.2f} €".translate(str.maketrans(",.", ".,"))
                for x in rng.uniform(9, 9e4, rows)
            ],
            "Einwohner": [f"{x:,}".replace(",", ".") for x in rng.integers(100, 99999, rows)],
            "Anteil": [f"{x:.1f} %".replace(".", ",") for x in rng.uniform(0, 99, rows)],
            "Kommentar": [f"Nach dem {row}. Besuch" if row % 7 else None for row in range(rows)],
            "Klasse": ["gut", "schlecht"] * (rows // 2),
        }
    )


def test_a_german_table_is_embedded_by_the_command_that_the_first_one_offers(call, folder):
    german().to_csv("daten.csv", index=False, sep=";", encoding="cp1252")
    result = call("embed", "daten.csv", "-o", "out.csv", "--model", "m.skops")
    assert result.exit_code == 2
    error, *problems, _ = result.stderr.splitlines()
    assert error == "Error: daten.csv: 2 things keep columns from being features."
    assert problems[0].startswith("- column 'Datum' holds dates or times, such as '28.01.2024'; ")
    assert problems[1].startswith("- column 'Kommentar' has 51 different texts in 51 rows, such as")
    result = done(call(*tried(result)))
    for words in (
        "columns are separated by semicolons, decimals by commas",
        "column 'Nr' numbers the rows and is taken for --id (--feature Nr embeds it)",
        "column 'Klasse' seems to hold classes and is taken for --target",
        "read as numbers (decimal comma, points between thousands, in €): 'Umsatz'",
        "read as numbers (points between thousands): 'Einwohner'",
        "read as numbers (decimal comma, in %): 'Anteil'",
        "dates became days since 1970 (day before month): 'Datum'",
        "60 rows, 4 features: 4 of numbers (standardised)",
        "By PatchIsomap(n_components=2, n_neighbors=15, divergence='kl', random_state=0), as in",
    ):
        assert words in result.stderr
    out = pd.read_csv("out.csv")
    assert list(out.columns) == ["Nr", "Klasse", *COORDINATES]
    # New rows are read in the same way.
    done(call("apply", "m.skops", "daten.csv", "-o", "again.csv"))
    assert pd.read_csv("again.csv").equals(out)


def test_what_was_decided_can_be_undone(call):
    german().drop(columns=["Kommentar", "Datum"]).to_csv("daten.csv", index=False, sep=";")
    words = ("embed", "daten.csv", "--json", "-o", "out.csv")
    assert json.loads(done(call(*words)).stdout)["features"] == ["Umsatz", "Einwohner", "Anteil"]
    undone = json.loads(done(call(*words, "--feature", "Nr", "--feature", "Klasse")).stdout)
    assert undone["features"] == ["Nr", "Umsatz", "Einwohner", "Anteil", "Klasse"]
    assert (undone["id"], undone["target"]) == (None, None)
    assert "no column 'Umsat'; did you mean" in told(call(*words[:2], "--feature", "Umsat"))


def test_columns_to_show_are_on_the_page_and_those_left_out_are_not(call, folder):
    table(a2=range(30), note=[f"n {i}" for i in range(30)]).to_csv("data.csv", index=False)
    words = ("--info", "note", "--drop", "a2", "--html", "page.html", "--model", "m.skops")
    done(call("embed", "data.csv", *words))
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert '"name":"note"' in page
    assert '"name":"a2"' not in page
    done(call("apply", "m.skops", "data.csv"))


@pytest.mark.parametrize(
    "command", [("embed",), ("explore", "--no-open", "--neighbors", 10), ("compare", "--halves", 2)]
)
def test_data_sets_are_known_by_their_names(call, quick, command):
    result = done(call(command[0], "iris", *command[1:]))
    assert "Note: 'iris' is the data set of this name, from scikit-learn." in result.stderr
    assert "column 'target' seems to hold classes and is taken for --target" in result.stderr


@pytest.mark.slow
def test_every_listed_data_set_at_hand_becomes_a_table(monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    at_hand = [entry for entry, source in datasets.available() if source not in {"OpenML", ""}]
    assert len(at_hand) >= 4
    for entry in at_hand:
        _, selection = TableOptions(entry.name, missing="impute").load()
        assert selection.features.shape == entry.shape
        assert selection.target.nunique() == entry.n_classes


def test_a_name_that_is_nearly_a_data_set_is_corrected(call):
    assert told(call("embed", "irris")) == (
        "irris: there is no such file; did you mean the data set 'iris'?"
    )
    assert told(call("embed", "irris.csv")) == "irris.csv: there is no such file."


def test_pixels_are_taken_as_they_are_and_other_arrays_are_no_features(call):
    digits = load_digits()
    np.savez("digits.npz", X=digits.images[:60], y=digits.target[:60], is_test=np.arange(60) % 2)
    result = done(call("embed", "digits.npz", "--json", "-o", "out.csv"))
    summary = json.loads(result.stdout)
    assert (summary["standardized"], summary["target"]) == (False, "y")
    assert len(summary["features"]) == 64
    notes = " ".join(summary["notes"])
    assert "the features look like the pixels of images of 8 x 8: they are taken as they" in notes
    assert "arrays beside the points are shown and not embedded: 'is_test'" in notes
    scaled = done(call("embed", "digits.npz", "--json", "--standardize", "-o", "other.csv"))
    assert json.loads(scaled.stdout)["standardized"] is True
    assert not pd.read_csv("other.csv").equals(pd.read_csv("out.csv"))


def test_pixels_in_a_csv_are_seen_too(call):
    digits = load_digits(as_frame=True).frame[:60]
    digits.to_csv("digits.csv", index=False)
    summary = json.loads(done(call("embed", "digits.csv", "--json", "-o", "out.csv")).stdout)
    assert (summary["standardized"], summary["target"]) == (False, "target")


def test_a_spectrum_is_taken_as_it_is_and_what_stands_beside_it_is_shown(call):
    time, place = np.linspace(0, 1, 40), np.arange(400, 500, 2)
    peaks = np.exp(-(((place - 450 - 20 * time[:, None]) / 9) ** 2))
    frame = pd.DataFrame(peaks, columns=place.astype(str))
    frame.insert(0, "minute", 3 * time)
    frame.assign(batch=["a", "b"] * 20).to_csv("spectra.csv", index=False)
    summary = json.loads(done(call("embed", "spectra.csv", "--json", "-o", "out.csv")).stdout)
    assert (summary["standardized"], summary["target"]) == (False, "minute")
    assert summary["features"] == place.astype(str).tolist()
    notes = " ".join(summary["notes"])
    assert "look like a spectrum or another curve, from '400' to '498': they are taken as" in notes
    assert "shown and not embedded, as they stand beside the curve" in notes
    words = ("embed", "spectra.csv", "--json", "-o", "other.csv", "--standardize")
    assert json.loads(done(call(*words)).stdout)["standardized"] is True


def test_counts_become_logarithms_and_wide_tables_get_a_hint(call):
    rng = np.random.default_rng(0)
    reads = rng.poisson(rng.lognormal(0, 1.5, 120), (40, 120))
    pd.DataFrame(reads).add_prefix("gene").to_csv("reads.csv", index=False)
    words = ("embed", "reads.csv", "-o", "out.csv", "--model", "m.skops")
    result = done(call(*words))
    assert "120 features: 120 of numbers (logarithms of counts)" in result.stderr
    assert "the numbers look like counts: every row gets the same sum, then log" in result.stderr
    done(call("apply", "m.skops", "reads.csv", "-o", "again.csv"))
    assert pd.read_csv("again.csv").equals(pd.read_csv("out.csv"))
    pd.DataFrame(np.log1p(reads)).add_prefix("gene").to_csv("log.csv", index=False)
    result = done(call("embed", "log.csv", "-o", "logs.csv"))
    assert "120 columns are standardised, as if each had a unit of its own" in result.stderr


def test_images_are_on_the_page(call, folder):
    rng = np.random.default_rng(0)
    np.savez("photos.npz", X=rng.integers(0, 255, (30, 4, 5, 3), dtype=np.uint8))
    done(call("explore", "photos.npz", "--no-open", "--neighbors", 5, "-o", "page.html"))
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert re.search(r'"images":{[^}]*"channels":3', page)


def test_texts_are_shown_in_full(call, folder):
    table(note=[f"one two three {i}" for i in range(30)]).to_csv("data.csv", index=False)
    words = ("--text", "note", "--no-open", "--neighbors", 5, "-o", "page.html", "--json")
    summary = json.loads(done(call("explore", "data.csv", *words)).stdout)
    assert summary["features"] == ["a", "b", "kind"]
    page = (folder / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert data["columns"][data["text"]]["name"] == "note"


def test_an_index_of_parquet_names_the_rows(call):
    iris().set_index("name").to_parquet("iris.parquet")
    summary = json.loads(done(call("embed", "iris.parquet", "--json", "-o", "out.csv")).stdout)
    assert (summary["id"], summary["target"]) == ("name", "species")


def test_names_with_commas_are_split_where_columns_are():
    assert pair_of("x, y", ["x", "y"]) == ("x", "y")
    assert pair_of("a,b,c", ["a", "b,c"]) == ("a", "b,c")
    with pytest.raises(TableError, match="names one column; give two"):
        pair_of("x", ["x"])
    with pytest.raises(TableError, match="no column 'z'"):
        pair_of("x,z", ["x", "y"])


def test_what_a_note_offers_can_be_pasted(call):
    table().reset_index(names="row of the sheet").to_csv("data.csv", index=False)
    result = done(call("embed", "data.csv", "-o", "out.csv"))
    assert "(--feature 'row of the sheet' embeds it)" in result.stderr


def test_a_page_shows_numbers_as_numbers_however_they_are_written(call, folder):
    words = ("--dates", "--info", "Kommentar", "--drop", "Klasse", "--neighbors", 8, "--no-open")
    frame = german().assign(Art=["neu", "alt", "neu"] * 20)
    frame.to_csv("daten.csv", index=False, sep=";")
    done(call("explore", "daten.csv", *words))
    text = (folder / "daten-explorer.html").read_text(encoding="utf-8")
    columns = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])["columns"]
    kinds = {column["name"]: column["kind"] for column in columns}
    assert kinds["Umsatz"] == kinds["Einwohner"] == kinds["Anteil"] == "number"
    (dates,) = [column for column in columns if column["name"].startswith("Datum")]
    assert dates["time"] == "day"
    assert columns[0]["name"] == "Art"  # the classes to colour by
    assert not [name for name in kinds if "=" in name]  # "Art = neu" would say it again


@pytest.mark.slow
def test_a_column_beside_pixels_holds_classes(call, folder):
    digits = load_digits()
    frame = pd.DataFrame(digits.data[:150].astype(int)).add_prefix("pixel ")
    for place in (0, 64):
        named = frame.copy()
        named.insert(place, "drawn digit", digits.target[:150])
        named.to_csv("digits.csv", index=False)
        words = ("--neighbors", 8, "--no-open", "--json")
        result = done(call("explore", "digits.csv", *words))
        assert "beside the pixels of images of 8 x 8 and is taken for --target" in result.stderr
        assert len(json.loads(result.stdout)["features"]) == 64
        text = (folder / "digits-explorer.html").read_text(encoding="utf-8")
        shown = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])["columns"]
        assert shown[0]["name"] == "drawn digit"
        assert not [column for column in shown if column["name"].startswith("pixel")]
    result = done(call("explore", "digits.csv", "--feature", "drawn digit", *words))
    assert len(json.loads(result.stdout)["features"]) == 65


def test_texts_alone_are_refused_without_a_command_that_leads_nowhere(call, folder):
    texts = [f"A post about the number {row} and more" for row in range(40)]
    pd.DataFrame({"topic": ["a", "b"] * 20, "post": texts}).to_csv("posts.csv", index=False)
    result = call("explore", "posts.csv", "--no-open")
    assert result.exit_code == 2
    assert "Try:" not in result.stderr
    assert "Make numbers of texts first" in result.stderr
