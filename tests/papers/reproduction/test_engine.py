"""Tasks are computed, kept through any kill and reported beside the printed tables."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import fake_paper
import patchfold
from patchfold.papers import tables
from patchfold.papers.reproduction import PAPERS, engine, sheets
from patchfold.papers.reproduction.cells import ACCOUNTS, Outcome, Result, Task, row_name
from patchfold.papers.reproduction.engine import Stamp, Store, file_name, load_paper, run, stamp
from patchfold.papers.reproduction.report import render
from patchfold.tables.files import UNFINISHED

HELPERS = Path(fake_paper.__file__).parent
SOURCE = Path(patchfold.__file__).parents[1]
COMMAND = "patchfold reproduce pelle"
STAMP = Stamp(1, {"numpy": "2.0"})


def outcomes(accounts=ACCOUNTS, **arguments):
    tasks = fake_paper.tasks("1", arguments.get("datasets"), accounts, arguments.get("quick"))
    return [Outcome(task, tuple(fake_paper.compute(task))) for task in tasks]


def perfect(paper, table, account="published", *, off=0.0):
    """Return outcomes in which every printed number comes out, ``off`` from it."""
    return [
        Outcome(
            Task(paper, table, cell.data_set, cell.column, account),
            (Result(row_name(cell), cell.value + off),),
        )
        for cell in tables.read(paper, table)
        if cell.data_set
    ]


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize(
    ("paper", "table"), [(p, t) for p, ts in tables.TABLES.items() for t in ts]
)
def test_a_row_and_a_column_name_one_printed_cell(paper, table):
    cells = tables.read(paper, table)
    assert len({(row_name(cell), cell.column) for cell in cells}) == len(cells)


def test_an_unknown_paper_is_named_with_the_nearest():
    with pytest.raises(ValueError, match="paper='isomapkl' is not known; did you mean 'isomap-kl'"):
        load_paper("isomapkl")


# ---------------------------------------------------------------- storage


def test_a_stored_outcome_comes_back_to_the_last_digit(tmp_path):
    store = Store(tmp_path / "new" / "folder", STAMP)
    kept = Outcome(fake_paper.TROUBLED, (Result("Parity5", 0.1 + 0.2, 0.1, 1 / 3, "κ=7"),))
    failed = Outcome(replace(fake_paper.TROUBLED, account="honest"), error="ValueError: no")
    store.save(kept)
    store.save(failed)
    assert store.load() == ({kept.task: kept, failed.task: failed}, {})


def test_an_empty_or_missing_folder_holds_nothing(tmp_path):
    assert Store(tmp_path, STAMP).load() == ({}, {})
    assert Store(tmp_path / "missing", STAMP).load() == ({}, {})


def test_every_task_has_a_file_of_its_own():
    names = [
        file_name(Task(paper, table, data_set, method, account))
        for paper in ("pelle", "elap")
        for table in ("I", "i")
        for data_set in ("a b", "a_b", "ä/b", "a/../b")
        for method in ("X", "Y")
        for account in ACCOUNTS
    ]
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[\w.-]+\.json", name, re.ASCII) for name in names)


def stored(tmp_path):
    (outcome,) = outcomes(["published"], datasets=["bolts"])[:1]
    Store(tmp_path, STAMP).save(outcome)
    (path,) = tmp_path.iterdir()
    return path, json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"protocol": 0}, "protocol 0, and 1 is the current one"),
        ({"versions": {"numpy": "1.26"}}, "computed with numpy 1.26, and 2.0 is installed"),
        ({"versions": {}}, "computed with numpy None"),
        ({"versions": []}, "AttributeError"),
        ({"task": {}}, "TypeError"),
        ({"task": asdict(fake_paper.TROUBLED)}, "has another name"),
        ({"results": [{"row": "Bolts"}]}, "TypeError"),
        ({"results": [{"row": "Bolts", "value": "much"}]}, "TypeError"),
        ({"results": [{"row": "Bolts", "value": float("inf")}]}, "leave it out instead"),
        ({"results": [{"row": "bolt", "value": 0.5}]}, "row='bolt' is not known"),
    ],
    ids=str,
)
def test_a_file_of_another_kind_is_ignored_and_said_why(tmp_path, change, reason):
    path, content = stored(tmp_path)
    path.write_text(json.dumps(content | change), encoding="utf-8")
    found, ignored = Store(tmp_path, STAMP).load()
    assert not found
    assert list(ignored) == [path.name]
    assert reason in ignored[path.name]


@pytest.mark.parametrize("damage", ["cut", "empty", "bytes", "list"])
def test_a_damaged_file_is_ignored(tmp_path, damage):
    path, _ = stored(tmp_path)
    whole = path.read_bytes()
    broken = {"cut": whole[:-20], "empty": b"", "bytes": b"\xff\xfe", "list": b"[]"}
    path.write_bytes(broken[damage])
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    found, ignored = Store(tmp_path, STAMP).load()
    assert not found
    assert set(ignored) == {path.name, "notes.txt"}
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_what_a_killed_run_left_unfinished_is_removed(tmp_path):
    path, _ = stored(tmp_path)
    leftover = tmp_path / f"{path.name}abc{UNFINISHED}"
    leftover.write_text("{", encoding="utf-8")
    found, ignored = Store(tmp_path, STAMP).load()
    assert (len(found), ignored) == (1, {})
    assert list(tmp_path.iterdir()) == [path]


def test_the_stamp_has_the_protocol_and_the_versions():
    found = stamp(fake_paper)
    assert found.protocol == fake_paper.PROTOCOL
    assert list(found.versions)[:4] == ["patchfold", "numpy", "scipy", "scikit-learn"]
    assert set(found.versions) <= {"patchfold", *engine.PACKAGES}
    assert found.versions["numpy"] == np.__version__


# ---------------------------------------------------------------- work


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("raise", "ArithmeticError: no neighbours <at all>"),
        ("nan", r"ValueError: row 'Parity5' has the values \[nan\]; leave it out"),
        ("row", "ValueError: row='nowhere' is not known"),
    ],
)
def test_a_task_that_goes_wrong_is_an_outcome_with_the_message(monkeypatch, trouble, message):
    monkeypatch.setenv("FAKE_TROUBLE", trouble)
    outcome = engine._attempt(fake_paper, fake_paper.TROUBLED)
    assert re.match(message, outcome.error)
    assert not outcome.results


def test_an_error_without_words_has_its_name():
    assert engine._message(NotImplementedError()) == "NotImplementedError"


def test_numbers_of_numpy_are_stored_as_plain_ones():
    result = engine._plain(Result("a", np.float64(0.5), np.float32(0.25), np.float32(1), "K=1"))
    assert result == Result("a", 0.5, 0.25, 1.0, "K=1")
    assert [type(x) for x in (result.value, result.low, result.high)] == [float] * 3


def test_workers_are_told_to_use_one_thread_and_the_parent_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with engine._one_thread():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert dict(os.environ) == before


def test_a_process_that_dies_takes_only_its_own_task_along(monkeypatch):
    expected = {outcome.task: outcome for outcome in outcomes()}
    monkeypatch.setenv("FAKE_TROUBLE", "die")
    monkeypatch.setitem(PAPERS, "pelle", "fake_paper")
    found = {outcome.task: outcome for outcome in run(load_paper("pelle"), list(expected))}
    dead = found.pop(fake_paper.TROUBLED)
    assert re.search(r"process died \(exit code 9\).*try fewer jobs", dead.error)
    del expected[fake_paper.TROUBLED]
    assert found == expected


def test_the_longest_tasks_come_first(monkeypatch):
    order = []

    class Worker:
        alive = True

        def __init__(self, module):
            self.wire = self

        def give(self, task):
            order.append(task)

        def take(self):
            return Outcome(order[-1])

        def end(self):
            pass

    monkeypatch.setattr(engine, "_Worker", Worker)
    monkeypatch.setattr(engine.connection, "wait", lambda wires: wires)
    tasks = fake_paper.tasks("1", None, ["published"], False)
    assert len(list(run(fake_paper, tasks))) == len(tasks)
    assert sorted(map(engine.cost, tasks), reverse=True) == [engine.cost(task) for task in order]


def test_no_jobs_are_refused():
    with pytest.raises(ValueError, match="jobs=0 is too small"):
        next(run(fake_paper, [], jobs=0))


# ---------------------------------------------------------------- kills

# A machine under load takes long to import everything; nothing is measured by it.
PATIENCE = 120.0


def start(folder, jobs, seconds):
    paths = [str(HELPERS), str(SOURCE)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
        "FAKE_SECONDS": seconds,
    }
    options = f"--account published --jobs {jobs} --output".split()
    return subprocess.Popen(  # noqa: S603 - what is run stands here
        [
            sys.executable,
            str(HELPERS / "fake_paper.py"),
            "reproduce",
            "pelle",
            *options,
            str(folder),
        ],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder):
    return len(list((folder / "pelle").glob("*.json")))


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive_in_group(group):
    """Whether a process of the group still runs; one that only waits to be collected does not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            return True
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_run_killed_again_and_again_ends_with_the_report_of_an_undisturbed_one(tmp_path):
    undisturbed = outcomes(["published"])
    tasks = [outcome.task for outcome in undisturbed]
    command = f"{COMMAND} --account published"
    expected = render(
        "pelle", undisturbed, command=command, stamp=stamp(fake_paper), note=fake_paper.NOTE
    )

    moment = random.Random(0)  # noqa: S311 - moments of kills, not secrets
    seen = 0
    # While it starts; among its results, all processes at once; the same, but the parent alone.
    for news, jobs, whole_group in ((0, 1, True), (2, 2, True), (3, 1, False)):
        process = start(tmp_path, jobs, "0.2")
        at_least = seen + news
        wait_for(lambda n=at_least: finished(tmp_path) >= n)
        time.sleep(moment.uniform(0, 0.3))
        if whole_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        wait_for(lambda group=process.pid: not alive_in_group(group))
        assert not (tmp_path / "pelle.html").exists()
        assert finished(tmp_path) >= at_least
        seen = finished(tmp_path)

    process = start(tmp_path, 1, "0")
    _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, messages
    assert f"{seen} of {len(tasks)} tasks are stored already" in messages
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"pelle", *expected}
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in expected} == expected
    assert {path.name for path in (tmp_path / "pelle").iterdir()} == set(map(file_name, tasks))


# ---------------------------------------------------------------- the report


class Page(HTMLParser):
    """What a page holds: its texts, its cells with classes, and anything fetched from elsewhere."""

    VOID = ("meta", "rect", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.texts, self.fetched = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.fetched += [value for key, value in attrs if key in {"src", "href"}]
        assert tag not in {"script", "link", "iframe", "img"}
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append([attributes.get("class", ""), attributes.get("title", ""), ""])

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] == "td":
            self.cells[-1][2] += data


def report(paper, some, **arguments):
    return render(paper, some, command=COMMAND, stamp=STAMP, note="What they are.", **arguments)


def test_the_same_outcomes_give_the_same_bytes():
    assert report("pelle", outcomes()) == report("pelle", outcomes())


def test_the_page_is_whole_and_needs_no_other():
    page = report("pelle", outcomes())["pelle.html"]
    parsed = Page(page)
    assert not parsed.fetched
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
    cells = Page(files["pelle.html"]).cells
    assert [text.split(" ")[0] for _, _, text in cells[:4]] == numbers
    assert cells[1][1] == f"{published:.3f} K=7"
    assert "![Critical-difference diagrams of table 1](pelle-1.svg)" in files["pelle.md"]
    assert files["pelle-1.svg"].strip() in files["pelle.html"]


@pytest.mark.parametrize(
    ("off", "kind", "mark"),
    [
        (0.005, "", ""),
        (-0.005, "", ""),
        (0.006, "up1", " △"),
        (-0.02, "down1", " ▽"),
        (0.021, "up2", " ▲"),
        (-0.3, "down2", " ▼"),
    ],
)
def test_differences_are_coloured_and_marked_by_their_size_and_direction(off, kind, mark):
    files = report("pelle", perfect("pelle", "1", off=off))
    kinds = {cell[0] for cell in Page(files["pelle.html"]).cells[1:50:2]}
    assert kinds == {kind}
    assert f"| {0.75 + off:.3f}{mark} |" in files["pelle.md"]


def test_the_sentence_counts_cells_and_names_the_others():
    some = perfect("pelle", "1")
    for place, off in ((0, 0.01), (1, -0.2)):
        (result,) = some[place].results
        some[place] = replace(some[place], results=(replace(result, value=result.value + off),))
    text = report("pelle", some)["pelle.md"]
    assert (
        "173 of 175 printed cells come out within 0.005 and 174 within 0.02 (account published); "
        "the others are:\n\n- Bolts PCA (0.750, here 0.760), Bolts LLE (0.650, here 0.450): "
        "not yet explained\n" in text
    )
    assert "Within 0.005 by column: PCA 24 of 25, LLE 24 of 25, ISOMAP 25 of 25" in text
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
    assert "(account published or else equations)" in text
    assert "PCA 25 of 25" in text


def test_a_table_of_which_nothing_was_computed_says_so():
    some = [o for o in perfect("isomap-kl", "II") if o.task.dataset == "iris"]
    more = [o for o in perfect("isomap-kl", "III") if o.task.dataset == "servo"]
    assert "0 of 0" not in report("isomap-kl", [*some, *more])["isomap-kl.md"]


def test_without_the_published_account_the_equations_are_judged_and_honesty_never_is():
    assert "(account equations)." in report("pelle", perfect("pelle", "1", "equations"))["pelle.md"]
    assert "come out" not in report("pelle", perfect("pelle", "1", "honest"))["pelle.md"]


def test_failures_and_odd_names_are_shown_as_plain_text():
    task = replace(fake_paper.TROUBLED, method="<b>|x|")
    some = [*outcomes(["published"]), Outcome(task, error="E: <script>alert(1)</script>\n| a_b")]
    files = report("pelle", some)
    assert r"<b>|x| published: E: \<script" not in files["pelle.md"]
    assert r"\<script\>alert(1)\</script\> \| a\_b" in files["pelle.md"]
    parsed = Page(files["pelle.html"])
    assert any("<script>alert(1)</script>" in text for text in parsed.texts)
    assert "<b>|x|" in parsed.texts


def test_an_interval_is_shown_beside_its_mean():
    some = [
        replace(outcome, results=tuple(replace(r, low=0.1, high=0.9) for r in outcome.results))
        for outcome in outcomes(["honest"])
    ]
    files = report("pelle", some)
    assert r" \[0.100, 0.900\]" in files["pelle.md"]
    assert Page(files["pelle.html"]).cells[1][1].endswith(" [0.100, 0.900] K=7")


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


def test_the_x_space_is_compared_by_score_and_learner_with_its_own_column():
    (sheet,) = sheets.build("xspace", perfect("xspace", "2"))
    tests = dict(sheets.comparisons(sheet, "published"))
    assert len(tests) == 12
    assert tests["published, NMI, X-LEM"].methods == ("Euc", "PCA", "LEM", "X-LEM")
    assert tests["published, NMI, X-LEM"].n_datasets == 12
    assert "Bonferroni and Dunn" in report("xspace", perfect("xspace", "2"))["xspace.md"]


def test_ranks_are_over_rows_that_all_methods_have_and_never_over_sums():
    (sheet,) = sheets.build("pelle", perfect("pelle", "1")[1:])
    ((title, printed),) = sheets.comparisons(sheet, "printed")
    assert (title, printed.n_datasets) == ("printed", 25)
    ((_, published),) = sheets.comparisons(sheet, "published")
    assert published.n_datasets == 24


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


# ---------------------------------------------------------------- reasons


def test_a_reason_stands_with_its_cells(tmp_path, monkeypatch):
    write_reasons(
        tmp_path,
        monkeypatch,
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
    )
    text = report("pelle", perfect("pelle", "1", off=0.1)[:3])["pelle.md"]
    assert (
        "- Bolts PCA (0.750, here 0.850), Bolts ISOMAP (0.862, here 0.962) because the program's "
        "forests are not seeded\n- Bolts LLE (0.650, here 0.750) because of \\*one\\* column\n"
    ) in text


def test_a_reason_for_a_cell_that_is_not_printed_is_refused(tmp_path, monkeypatch):
    write_reasons(
        tmp_path, monkeypatch, '[[reason]]\ntable = "1"\nrows = ["bolts"]\nbecause = "so"'
    )
    with pytest.raises(ValueError, match="row='bolts' is not known; did you mean 'Bolts'"):
        sheets.read_reasons("pelle", "1")


def write_reasons(folder, monkeypatch, text):
    (folder / "pelle.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sheets, "REASONS", folder)


@pytest.mark.parametrize(
    ("paper", "table"), [(p, t) for p, ts in tables.TABLES.items() for t in ts]
)
def test_the_shipped_reasons_name_printed_cells(paper, table):
    cells = {(row_name(cell), cell.column) for cell in tables.read(paper, table)}
    assert sheets.read_reasons(paper, table).keys() <= cells
