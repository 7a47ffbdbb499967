"""Data sets come from the first source that has them, and only if they are the registered ones."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold import datasets
from patchfold.datasets import loading
from patchfold.datasets.generated import GENERATED
from patchfold.datasets.registry import checksum, registry

PAPERS = {"isomap-kl": 20, "xspace": 12, "pelle": 25, "elap": 35}

# Too large to be read in every run of the tests.
LARGE = {"fashion-mnist", "mnist"}


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path))
    return tmp_path


def write(folder, name, header, rows, categories=None):
    with gzip.open(folder / f"{name}.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    (folder / "categories.json").write_text(json.dumps({name: {"categories": categories or {}}}))


def lupus(n_dead=35):
    rows = [[i, i / 2, -i, "alive" if i < 87 - n_dead else "dead"] for i in range(87)]
    return ["TIME", "DURATION", "LOG", "target"], rows


@pytest.fixture
def known_checksum(monkeypatch):
    """Register the stand-in's values for lupus, as if they were the real ones."""
    header, rows = lupus()
    X = np.array([row[:3] for row in rows], float)
    entry = registry()["lupus"]
    changed = {f: getattr(entry, f) for f in entry.__slots__}
    changed["checksum"] = checksum(X, [row[3] for row in rows])
    monkeypatch.setitem(registry(), "lupus", datasets.Entry(**changed))
    return header, rows


def test_every_paper_has_its_number_of_data_sets():
    used = Counter(paper for entry in registry().values() for paper in entry.papers)
    assert used == PAPERS


def test_registered_class_sizes_sum_to_the_number_of_rows():
    labelled = [entry for entry in registry().values() if entry.classes]
    assert len(labelled) > len(registry()) / 2
    for entry in labelled:
        assert sum(entry.classes.values()) == entry.shape[0], entry.name
        assert len(entry.classes) == entry.n_classes


def test_only_two_sets_have_no_known_checksum():
    unknown = {entry.name for entry in registry().values() if not entry.checksum}
    assert unknown == {"conference_attendance", "corel"}


@pytest.mark.parametrize("name", [*GENERATED, *loading.SHIPPED])
def test_generated_and_shipped_sets_need_no_folder_and_have_the_registered_values(no_folder, name):
    data = datasets.load(name)
    assert data.source == ("generated" if name in GENERATED else "scikit-learn")
    assert checksum(data.X, data.y.tolist()) == registry()[name].checksum
    assert data.labels == tuple(registry()[name].classes)
    assert np.bincount(data.y).tolist() == list(registry()[name].classes.values())
    assert len(data.feature_names) == data.X.shape[1]


@pytest.mark.slow
def test_rules_give_the_classes_of_single_rows(no_folder):
    def classes(name):
        data = datasets.load(name)
        return {tuple(map(int, x)): data.labels[y] for x, y in zip(data.X, data.y, strict=True)}

    assert classes("parity5")[1, 1, 1, 0, 0] == "1"
    assert classes("mux6")[1, 0, 0, 0, 1, 0] == "1"  # address 2
    assert classes("mux6")[0, 1, 1, 0, 1, 1] == "0"  # address 1
    assert classes("corral")[0, 1, 1, 1, 0, 0] == "1"
    assert classes("monks-problems-1")[1, 2, 0, 0, 0, 0] == "1"  # a5 = 1
    assert classes("monks-problems-1")[1, 2, 0, 0, 1, 0] == "0"
    assert classes("balance")[2, 3, 3, 2] == "B"
    assert classes("balance")[2, 4, 3, 2] == "L"
    x, o, b = 2, 1, 0
    assert classes("tic-tac-toe")[x, x, x, o, o, b, b, b, b] == "positive"
    assert classes("tic-tac-toe")[x, o, x, x, o, o, o, x, x] == "negative"  # a draw
    assert (x, x, x, o, o, o, b, b, b) not in classes("tic-tac-toe")  # the game was over before


@pytest.mark.parametrize("name", GENERATED)
def test_generated_sets_are_the_local_files(data_folder, name):
    raw = GENERATED[name]()
    entry = registry()[name]
    local = loading._read_csv(loading._local_file(entry.name), name)
    assert list(raw.feature_names) == list(local.feature_names)
    assert {k: list(v) for k, v in raw.categories.items()} == local.categories
    rows = [[*x, label] for x, label in zip(raw.X.tolist(), raw.labels, strict=True)]
    wanted = [[*x, label] for x, label in zip(local.X.tolist(), local.labels, strict=True)]
    if name == "mux6":  # OpenML has the two copies of the grid shuffled
        rows, wanted = sorted(rows), sorted(wanted)
    assert rows == wanted


@pytest.mark.parametrize("name", [name for name in registry() if name not in LARGE])
def test_local_data_sets_pass_their_checks(data_folder, name):
    entry = registry()[name]
    if loading._source(entry) in {"OpenML", ""}:
        assert name in {"conference_attendance", "corel"}
        return
    data = datasets.load(name)
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()
    assert data.labels == tuple(entry.classes)
    assert np.bincount(data.y).tolist() == list(entry.classes.values())
    assert data.categories.keys() <= set(data.feature_names)


def test_codes_follow_the_declared_order(data_folder):
    car = datasets.load("car")
    assert car.categories["buying"] == ("vhigh", "high", "med", "low")
    assert car.X[0, 0] == 0  # the first row is "vhigh"


def test_a_mistyped_name_gets_the_nearest_one():
    with pytest.raises(ValueError, match=r"name='hayes_roth' is not known; did you mean 'hayes-r"):
        datasets.load("hayes_roth")


def test_a_file_in_the_folder_is_read(folder, known_checksum):
    write(folder, "lupus", *known_checksum)
    data = datasets.load("lupus")
    assert (data.source, data.labels) == ("PATCHFOLD_DATA", ("alive", "dead"))
    assert data.categories == {}
    assert data.X[3].tolist() == [3, 1.5, -3]


def test_other_class_sizes_are_refused(folder):
    write(folder, "lupus", *lupus(n_dead=34))
    with pytest.raises(
        ValueError, match=r"'lupus' from PATCHFOLD_DATA has .*\[34, 53\], but \(87, 3\).*replace it"
    ):
        datasets.load("lupus")


def test_other_values_are_refused(folder):
    write(folder, "lupus", *lupus())
    with pytest.raises(ValueError, match=r"other values \(checksum \w{16}, registered \w{16}\)"):
        datasets.load("lupus")


def test_text_that_is_no_declared_category_is_refused(folder):
    header, rows = lupus()
    rows[5][1] = "long"
    write(folder, "lupus", header, rows)
    with pytest.raises(ValueError, match=r"column 'DURATION' .*'long'.*categories.json"):
        datasets.load("lupus")
    write(folder, "lupus", header, rows, {"DURATION": ["short"]})
    with pytest.raises(ValueError, match=r"column 'DURATION' .*categories.json"):
        datasets.load("lupus")


def test_a_file_without_the_target_last_is_refused(folder):
    header, rows = lupus()
    write(folder, "lupus", [*header[:3], "class"], rows)
    with pytest.raises(ValueError, match=r"lupus.csv.gz has the last column 'class'; put"):
        datasets.load("lupus")


def test_a_folder_that_is_none_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"PATCHFOLD_DATA='.*nowhere' is not a folder"):
        datasets.load("lupus")


def test_larger_sets_are_read_from_arrays(folder):
    (folder / "scale").mkdir()
    entry = registry()["pendigits"]
    y = np.repeat(np.arange(10, dtype=np.uint8), list(entry.classes.values()))
    np.savez(folder / "scale" / "pendigits.npz", X=np.zeros(entry.shape, np.uint8), y=y)
    with pytest.raises(ValueError, match="other values"):  # shape and class sizes are accepted
        datasets.load("pendigits")


def stand_in(monkeypatch, rows, categories=None, names=("TIME", "DURATION", "LOG")):
    """Put a function in the place of scikit-learn's fetch_openml, and return what it was asked."""
    asked = []

    def fetch_openml(name, **options):
        asked.append((name, options))
        return SimpleNamespace(
            data=np.array([row[:-1] for row in rows], float),
            target=np.array([row[-1] for row in rows], object),
            feature_names=list(names),
            categories=categories,
        )

    monkeypatch.setattr(loading.shipped, "fetch_openml", fetch_openml)
    return asked


def test_openml_is_asked_by_name_and_version_where_nothing_is_local(
    no_folder, monkeypatch, known_checksum
):
    _, rows = known_checksum
    asked = stand_in(monkeypatch, rows)
    data = datasets.load("lupus")
    assert (data.source, data.labels) == ("OpenML", ("alive", "dead"))
    options = {"as_frame": False, "parser": "liac-arff", "target_column": "default-target"}
    assert asked == [("lupus", {"version": 1, **options})]


def test_classes_that_openml_spells_differently_are_sorted(no_folder, monkeypatch, known_checksum):
    _, rows = known_checksum
    stand_in(monkeypatch, [[*row[:3], {"alive": "yes", "dead": "no"}[row[3]]] for row in rows])
    data = datasets.load("lupus")
    assert data.labels == ("no", "yes")
    assert np.bincount(data.y).tolist() == [35, 52]


def test_other_values_on_openml_are_a_warning(no_folder, monkeypatch):
    stand_in(monkeypatch, lupus()[1])
    with pytest.warns(UserWarning, match=r"'lupus' from OpenML has the right .* results can dif"):
        datasets.load("lupus")


def test_another_shape_on_openml_is_refused(no_folder, monkeypatch):
    stand_in(monkeypatch, lupus()[1][:-1])
    with pytest.raises(ValueError, match=r"'lupus' from OpenML has shape \(86, 3\)"):
        datasets.load("lupus")


def test_columns_that_number_the_rows_are_dropped(no_folder, monkeypatch):
    entry = registry()["synthetic_control"]
    labels = np.repeat(list(entry.classes), list(entry.classes.values()))
    rows = [[i, *np.zeros(60), label] for i, label in enumerate(labels)]
    names = ["index", *(f"Time_{i}" for i in range(60))]
    stand_in(monkeypatch, rows, {"index": [str(i) for i in range(600)]}, names)
    with pytest.warns(UserWarning, match="other values"):
        data = datasets.load("synthetic_control")
    assert (data.X.shape, data.categories) == ((600, 60), {})
    assert "index" not in data.feature_names


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("timed out")])
def test_without_a_connection_the_error_says_what_to_do(no_folder, monkeypatch, error):
    def offline(*_, **__):
        raise error

    monkeypatch.setattr(loading.shipped, "fetch_openml", offline)
    with pytest.raises(
        ConnectionError,
        match=r"'conference_attendance' is on OpenML .*version 1.*connect .*or set PATCHFOLD_DATA",
    ):
        datasets.load("conference_attendance")


def test_a_set_that_is_nowhere_says_where_to_put_it(no_folder):
    with pytest.raises(FileNotFoundError, match=r"'corel' is not on OpenML; .*corel.csv.gz"):
        datasets.load("corel")


def test_a_set_of_which_only_the_number_of_classes_is_known_can_be_added(folder):
    rows = [[i] * 36 + [f"class {i % 5}"] for i in range(500)]
    header = [*(f"f{i}" for i in range(36)), "target"]
    write(folder, "corel", header, rows)
    assert datasets.load("corel").labels == tuple(f"class {i}" for i in range(5))
    write(folder, "corel", header, [[*row[:-1], "a"] for row in rows])
    with pytest.raises(ValueError, match=r"but .* and 5 classes are registered"):
        datasets.load("corel")


def test_every_set_is_listed_with_the_source_it_would_come_from(folder):
    write(folder, "lupus", *lupus())
    sources = {entry.name: source for entry, source in datasets.available()}
    assert sources.keys() == registry().keys()
    wanted = {"parity5": "generated", "wine": "scikit-learn", "lupus": "PATCHFOLD_DATA"}
    wanted |= {"kc1": "OpenML", "corel": ""}
    assert {name: sources[name] for name in wanted} == wanted


@pytest.mark.slow
@given(st.data())
def test_checksums_ignore_order_and_names_and_see_every_value(data):
    rows = data.draw(
        st.lists(
            st.tuples(st.integers(-3, 3), st.integers(0, 2), st.sampled_from("abc")),
            min_size=2,
            max_size=8,
        )
    )
    X = np.array([row[:2] for row in rows], float)
    y = [row[2] for row in rows]
    order = data.draw(st.permutations(range(len(rows))))
    names = dict(zip("abc", data.draw(st.permutations("xyz")), strict=True))
    assert checksum(X, y) == checksum(X[order], [names[y[i]] for i in order])
    changed = X.copy()
    changed[0, 0] += 0.5
    assert checksum(X, y) != checksum(changed, y)


@pytest.mark.parametrize(
    "content",
    [
        b"not compressed",
        gzip.compress(b"a,target\n1,x\n", mtime=0)[:-9],
        gzip.compress(b"", mtime=0),
        gzip.compress(b"a,target\n1\n", mtime=0),
        gzip.compress(b"\xff\xfe,target\n1,x\n", mtime=0),
    ],
    ids=["plain", "cut off", "empty", "ragged", "not text"],
)
def test_a_local_file_that_cannot_be_read_is_named(content, monkeypatch, tmp_path):
    (tmp_path / "servo.csv.gz").write_bytes(content)
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"servo\.csv\.gz in .* cannot be read: .* Replace"):
        datasets.load("servo")
