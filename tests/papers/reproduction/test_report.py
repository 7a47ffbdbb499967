"""The report has every account beside the printed number, and says what does not come out."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import fake_paper
from fake_paper import outcomes, perfect
from patchfold.papers import tables
from patchfold.papers.reproduction import PAPERS, load_paper, sheets
from patchfold.papers.reproduction.cells import ACCOUNTS, Outcome, Result, Task
from patchfold.papers.reproduction.report import render
from patchfold.papers.reproduction.storage import Stamp, Store

COMMAND = "patchfold reproduce pelle"
PAGES = Path(__file__).parents[3] / "docs" / "reproduction"

STAMP = Stamp(1, {"numpy": "2.0"})


class Page(HTMLParser):
    """What a page holds: its texts, its cells, and the names of files that it leads to."""

    VOID = ("meta", "rect", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.texts, self.files = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.files += [value for key, value in attrs if key in {"src", "href"}]
        assert tag not in {"script", "link", "iframe", "img"}
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def report(paper, some, **arguments):
    return render(paper, some, command=COMMAND, stamp=STAMP, note="What they are.", **arguments)


@pytest.mark.slow
def test_the_same_outcomes_give_the_same_bytes():
    assert report("pelle", outcomes()) == report("pelle", outcomes())


def test_the_page_is_whole_and_needs_no_other():
    page = report("pelle", outcomes())["pelle.html"]
    parsed = Page(page)
    assert parsed.files == ["pelle.csv"]
    assert "url(" not in page
    assert "@import" not in page
    assert COMMAND in parsed.texts
    assert "Versions: numpy 2.0; protocol 1." in parsed.texts


def test_all_accounts_stand_beside_the_printed_number():
    files = report("pelle", outcomes())
    published, equations, honest = (
        fake_paper.value(Task("pelle", "1", "bolts", "PCA", account)) for account in ACCOUNTS
    )
    (line,) = re.findall(r"\| Bolts \| PCA \|.*", files["pelle.md"])
    numbers = re.findall(r"-?\d\.\d{3}", line)
    assert numbers == [f"{x:.3f}" for x in (0.75, published, equations, honest)]
    cells = Page(files["pelle.html"]).cells[:6]
    assert cells[:2] == ["Bolts", "PCA"]
    assert [text.split(" ")[0] for text in cells[2:]] == numbers
    assert "![Critical-difference diagrams of table 1](pelle-1.svg)" in files["pelle.md"]
    assert files["pelle-1.svg"].strip() in files["pelle.html"]


@pytest.mark.parametrize(
    ("off", "mark"),
    [
        (0.005, ""),
        (-0.005, ""),
        (0.006, " △"),
        (-0.02, " ▽"),
        (0.021, " ▲"),
        (-0.3, " ▼"),
    ],
)
def test_differences_are_marked_by_their_size_and_direction(off, mark):
    files = report("pelle", perfect("pelle", "1", off=off))
    assert f"| {0.75 + off:.3f}{mark} |" in files["pelle.md"]


def test_the_page_has_the_cells_of_the_papers_own_method_and_the_sums_of_all():
    page = report("pelle", perfect("pelle", "1"), own=("PELLE",))["pelle.md"]
    assert "| Bolts | PELLE |" in page
    assert "| Bolts | PCA |" not in page
    assert "| Average | PCA |" in page


def test_the_sentence_counts_cells_and_names_the_others():
    some = perfect("pelle", "1")
    for place, off in ((0, 0.01), (1, -0.2)):
        (result,) = some[place].results
        some[place] = replace(some[place], results=(replace(result, value=result.value + off),))
    text = report("pelle", some)["pelle.md"]
    assert (
        "173 of 175 printed cells come out within 0.005 and 174 within 0.02 (column published). "
        "These are more than 0.005 off:\n\n- Bolts PCA (0.750, here 0.760), Bolts LLE (0.650, "
        "here 0.450); reason: not known yet\n" in text
    )
    assert "Within 0.005 by method: PCA 24 of 25, LLE 24 of 25, ISOMAP 25 of 25" in text
    assert "not computed" not in text


def test_cells_that_were_not_computed_are_named_by_row_or_one_by_one():
    some = perfect("pelle", "1")
    text = report("pelle", some[8:])["pelle.md"]
    assert "167 of 167 printed cells come out" in text
    assert "Printed, but not computed: Bolts, Parity5 PCA." in text


def test_where_there_is_no_released_program_the_equations_are_judged():
    published = [o for o in perfect("pelle", "1") if o.task.method == "PCA"]
    equations = perfect("pelle", "1", "equations", off=0.01)
    text = report("pelle", [*published, *equations])["pelle.md"]
    assert "25 of 175 printed cells come out within 0.005 and 175 within 0.02" in text
    assert "(column published, or equations where that is empty)." in text
    assert "PCA 25 of 25" in text


def test_a_table_of_which_nothing_was_computed_says_so():
    some = [o for o in perfect("isomap-kl", "II") if o.task.dataset == "iris"]
    more = [o for o in perfect("isomap-kl", "III") if o.task.dataset == "servo"]
    assert "0 of 0" not in report("isomap-kl", [*some, *more])["isomap-kl.md"]


def test_without_the_published_account_the_equations_are_judged_and_honesty_never_is():
    assert "(column equations)." in report("pelle", perfect("pelle", "1", "equations"))["pelle.md"]
    assert "come out" not in report("pelle", perfect("pelle", "1", "honest"))["pelle.md"]


def test_failures_and_odd_names_are_shown_as_plain_text():
    task = replace(fake_paper.TROUBLED, method="<b>|x|")
    some = [*outcomes(["published"]), Outcome(task, error="E: <script>alert(1)</script>\n| a_b")]
    files = report("pelle", some)
    assert r"<b>|x| published: E: \<script" not in files["pelle.md"]
    assert r"\<script\>alert(1)\</script\> \| a\_b" in files["pelle.md"]
    parsed = Page(files["pelle.html"])
    assert any("<script>alert(1)</script>" in text for text in parsed.texts)
    assert any("<b>|x|" in text for text in parsed.texts)


def test_an_interval_is_shown_beside_its_mean():
    some = [
        replace(outcome, results=tuple(replace(r, low=0.1, high=0.9) for r in outcome.results))
        for outcome in outcomes(["honest"])
    ]
    files = report("pelle", some)
    assert r" \[0.100, 0.900\]" in files["pelle.md"]
    assert Page(files["pelle.html"]).cells[3].endswith(" [0.100, 0.900] K=7")


def test_the_x_space_is_compared_by_score_and_learner_with_its_own_column():
    (sheet,) = sheets.build("xspace", perfect("xspace", "2"))
    tests = dict(sheets.comparisons(sheet, "published"))
    assert len(tests) == 3 * (4 + 1)
    assert len(tests["published, NMI, all ten"].methods) == 10
    assert len(tests["published, NMI, all ten"].p_values) == 4
    assert tests["published, NMI, X-LEM"].methods == ("Euc", "PCA", "LEM", "X-LEM")
    assert tests["published, NMI, X-LEM"].n_datasets == 12
    text = report("xspace", perfect("xspace", "2"))["xspace.md"]
    assert "Bonferroni and Dunn" in text
    assert "X-ISM before ISM (0.146)" in text


def test_few_rows_are_not_tested_and_rows_without_a_number_are_not_shown():
    names = [cell.data_set for cell in tables.read("pelle", "1") if cell.column == "PCA"]
    some = [outcome for outcome in perfect("pelle", "1") if outcome.task.dataset in names[:4]]
    page = report("pelle", some)["pelle.md"]
    assert "| published |" in page
    (sheet,) = sheets.build("pelle", some)
    assert not sheets.comparisons(sheet, "published")
    shown = {line.split(" | ")[0].strip("| ") for line in page.splitlines() if " | PCA | " in line}
    assert len(shown) == 4


def test_a_paper_without_printed_tables_is_reported_too():
    some = [
        Outcome(Task("new", "all", name, method, "honest"), (Result(name, value),))
        for name in ("iris", "wine", "car", "sonar", "wdbc")
        for method, value in (("A", 0.1), ("B", 0.2), ("C", 0.3))
    ]
    files = report("new", some)
    assert files["new.md"].startswith("# New\n")
    assert "A mark says" not in files["new.md"]
    assert "| row | method | honest |" in files["new.md"]
    assert "C 1.00, B 2.00, A 3.00" in files["new.md"]
    assert "printed" not in files["new.md"].split("## Table all")[1]
    Page(files["new.html"])


def test_a_table_that_no_paper_prints_ends_with_the_mean_of_every_complete_method():
    some = [
        Outcome(Task("new", "all", name, method, "honest"), (Result(name, value, 0.0, 1.0, "K=5"),))
        for name, values in {"iris": (0.1, 0.2), "wine": (0.2, 0.4), "car": (0.6, 0.5)}.items()
        for method, value in zip("AB", values, strict=True)
    ]
    files = report("new", some)
    assert r"| car | B | 0.500 \[0.000, 1.000\] K=5 |" in files["new.md"]
    assert files["new.md"].endswith("| Mean | A | 0.300 |\n| Mean | B | 0.367 |\n")
    without = report("new", some[:-1])["new.md"]
    assert without.endswith("| Mean | A | 0.300 |\n")


def test_the_mean_is_not_ranked_and_printed_tables_have_only_their_own_sums():
    some = [
        Outcome(Task("new", "all", name, method, "honest"), (Result(name, value),))
        for name in ("iris", "wine", "car", "sonar", "wdbc")
        for method, value in (("A", 0.1), ("B", 0.2), ("C", 0.3))
    ]
    (sheet,) = sheets.build("new", some)
    ((_, comparison),) = sheets.comparisons(sheet, "honest")
    assert comparison.n_datasets == 5
    (printed,) = sheets.build("xspace", perfect("xspace", "2"))
    assert sheets.MEAN not in printed.rows


def test_a_reason_stands_with_its_cells(tmp_path):
    (tmp_path / "pelle.toml").write_text(
        """
        [[reason]]
        table = "1"
        because = "the program's forests are not seeded"

        [[reason]]
        table = "1"
        rows = ["Bolts"]
        columns = ["LLE"]
        because = "of *one* column"

        [[reason]]
        table = "2"
        because = "nothing"
        """,
        encoding="utf-8",
    )
    text = report("pelle", perfect("pelle", "1", off=0.1)[:3], reasons=tmp_path)["pelle.md"]
    assert (
        "- Bolts PCA (0.750, here 0.850), Bolts ISOMAP (0.862, here 0.962); reason: the program's "
        "forests are not seeded\n- Bolts LLE (0.650, here 0.750); reason: of \\*one\\* column\n"
    ) in text


@pytest.mark.parametrize("paper", PAPERS)
def test_the_committed_page_is_that_of_the_committed_results(paper):
    module, path = load_paper(paper), PAGES / f"{paper}.csv"
    (first, _) = path.read_text(encoding="utf-8").split("\n", 1)
    versions, protocol = re.fullmatch(r"# (.*); protocol (\d+)", first).groups()
    stamp = Stamp(int(protocol), dict(version.split() for version in versions.split(", ")))
    assert stamp.protocol == module.PROTOCOL
    found, problem = Store(path, stamp).load()
    assert not problem
    command = f"patchfold reproduce {paper}"
    how = {"command": command, "stamp": stamp, "note": module.NOTE, "own": module.OWN}
    for name, text in render(paper, list(found.values()), **how).items():
        if not name.endswith(".html"):
            assert (PAGES / name).read_text(encoding="utf-8") == text
