"""Cells stand side by side, sums follow from them, and reasons belong to printed cells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fake_paper import perfect
from patchfold.papers import tables
from patchfold.papers.reproduction import sheets
from patchfold.papers.reproduction.cells import row_name


@pytest.mark.parametrize(
    ("paper", "names"),
    [("isomap-kl", ["I"]), ("isomap-kl", ["II", "III"]), ("pelle", ["1"]), ("elap", ["I", "II"])],
)
def test_sums_come_out_where_all_cells_do(paper, names):
    built = sheets.build(paper, [cell for name in names for cell in perfect(paper, name)])
    expected = [*names, "IV"] if "II" in names and paper == "isomap-kl" else names
    assert [sheet.table for sheet in built] == expected
    n_sums = 0
    for sheet in built:
        for key, value in sheet.printed.items():
            if key[0] in sheet.sums:
                # The papers' sums are those of their cells to a unit of the last digit.
                assert sheet.computed["published"][key].value == pytest.approx(value, abs=0.0011)
                n_sums += 1
    assert n_sums > 0


def test_sums_are_left_out_where_a_cell_is_missing():
    (sheet,) = sheets.build("pelle", perfect("pelle", "1")[1:])
    there = {column for row, column in sheet.computed["published"] if row in sheet.sums}
    assert there == set(sheet.columns) - {"PCA"}


def test_ranks_are_over_rows_that_all_methods_have_and_never_over_sums():
    (sheet,) = sheets.build("pelle", perfect("pelle", "1")[1:])
    ((title, printed),) = sheets.comparisons(sheet, "printed")
    assert (title, printed.n_datasets) == ("printed", 25)
    ((_, published),) = sheets.comparisons(sheet, "published")
    assert published.n_datasets == 24


def test_numbers_with_the_same_three_digits_share_their_rank():
    some = perfect("pelle", "1")
    (sheet,) = sheets.build("pelle", some)
    ((_, before),) = sheets.comparisons(sheet, "published")
    apart = {"LLE": 0.0004, "ISOMAP": -0.0004}
    for place, outcome in enumerate(some):
        (result,) = outcome.results
        moved = replace(result, value=result.value + apart.get(outcome.task.method, 0.0))
        some[place] = replace(outcome, results=(moved,))
    (sheet,) = sheets.build("pelle", some)
    ((_, after),) = sheets.comparisons(sheet, "published")
    assert after.ranks == before.ranks


def test_a_reason_for_a_cell_that_is_not_printed_is_refused(tmp_path):
    text = '[[reason]]\ntable = "1"\nrows = ["bolts"]\nbecause = "so"'
    (tmp_path / "pelle.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="row='bolts' is not known; did you mean 'Bolts'"):
        sheets.read_reasons("pelle", "1", tmp_path)


@pytest.mark.parametrize(
    ("paper", "table"), [(p, t) for p, ts in tables.TABLES.items() for t in ts]
)
def test_the_shipped_reasons_name_printed_cells(paper, table):
    cells = {(row_name(cell), cell.column) for cell in tables.read(paper, table)}
    assert sheets.read_reasons(paper, table).keys() <= cells


@pytest.mark.parametrize("paper", ["elap", "pelle", "isomap-kl"])
def test_a_paper_with_cells_that_do_not_come_out_has_reasons(paper):
    reasons = [sheets.read_reasons(paper, table) for table in tables.TABLES[paper]]
    assert any(reasons)
    assert all(because for found in reasons for because in found.values())
