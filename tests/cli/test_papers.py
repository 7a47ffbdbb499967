"""The papers' commands compute what is missing, say what they do and end with the right code."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import fake_paper
from patchfold import cli, datasets
from patchfold.cli import papers
from patchfold.papers.reproduction import PAPERS, cells, figures, storage, workers


@pytest.fixture
def computed(monkeypatch):
    """Compute in this process, with the fake paper; return the list of computed tasks."""
    done = []

    def run(paper, tasks, *, jobs):
        for task in tasks:
            done.append(task)
            yield workers._attempt(paper, task)

    monkeypatch.setitem(PAPERS, "pelle", "fake_paper")
    monkeypatch.setattr(workers, "run", run)
    return done


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli.app, list(words))


def texts(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_help_shows_examples_line_by_line(call):
    result = call("reproduce", "--help")
    assert result.exit_code == 0
    assert re.search(r"\n +patchfold reproduce isomap-kl --quick\n", result.stdout)
    for option in ("--table", "--datasets", "--account", "--jobs", "--quick", "--output"):
        assert option in result.stdout


def test_data_sets_are_listed_with_papers_and_source(call, monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    result = call("datasets")
    assert result.exit_code == 0
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(lines) == 1 + len(datasets.available())
    assert ["wine", "178", "13", "3", "isomap-kl, xspace, pelle", "scikit-learn"] in lines
    assert "its authors" in {line[-1] for line in lines}


def test_data_sets_are_listed_for_programs(call, monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    listed = {entry["name"]: entry for entry in json.loads(call("datasets", "--json").stdout)}
    wine = listed["wine"]
    assert (wine["rows"], wine["features"], wine["classes"]) == (178, 13, 3)
    assert wine["source"] == "scikit-learn"
    assert None in {entry["source"] for entry in listed.values()}


def test_what_help_names_is_what_there_is():
    assert tuple(PAPERS) == papers.PAPERS
    assert cells.ACCOUNTS == papers.ACCOUNTS


def test_data_sets_are_a_table_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stdout", screen)
    papers.list_datasets()
    assert re.search(r"wine +178 +13 +3 ", screen.getvalue())


def test_the_report_lies_beside_the_results_and_its_name_is_printed(call, computed, tmp_path):
    result = call("reproduce", "pelle", "--quick", "--account", "published")
    assert result.exit_code == 0, result.output
    folder = Path("reproduction")
    assert result.stdout.split() == [str(folder / "pelle.md"), str(folder / "pelle.html")]
    assert set(texts(folder)) == {"pelle.md", "pelle.html", "pelle-1.svg", "pelle.csv"}
    assert len((folder / "pelle.csv").read_text().splitlines()) == 2 + len(computed) == 16
    assert "14/14 1 parity5 PELLE published, about 0 s left" in result.stderr
    assert "\npatchfold reproduce pelle --account published --quick\n" in (
        folder / "pelle.md"
    ).read_text(encoding="utf-8")


def test_programs_are_told_the_report_and_what_failed(call, computed):
    result = call("reproduce", "pelle", "--quick", "--account", "published", "--json")
    told = json.loads(result.stdout)
    assert (told["tasks"], told["failed"]) == (14, 0)
    assert told["outputs"]
    assert all(Path(page).is_file() for page in told["outputs"])


@pytest.mark.slow
def test_a_second_run_computes_nothing_and_writes_the_same_bytes(call, computed, tmp_path):
    words = ("reproduce", "pelle", "--table", "1", "--output", "out")
    assert call(*words, "--jobs", "1").exit_code == 0
    first, n = texts(tmp_path / "out"), len(computed)
    again = call(*words, "--jobs", "3")
    assert (again.exit_code, len(computed)) == (0, n)
    assert f"{n} of {n} tasks are stored already." in again.stderr
    assert texts(tmp_path / "out") == first


@pytest.mark.slow
def test_what_several_commands_compute_becomes_one_report(call, computed):
    call("reproduce", "pelle", "--quick", "--account", "published")
    other = call("reproduce", "pelle", "--quick", "--account", "equations")
    assert "results of other commands, too" in other.output
    page = Path("reproduction/pelle.md").read_text(encoding="utf-8")
    assert "| row | method | printed | published | equations |" in page
    assert "# and others, into the same folder" in page
    stale = Path("reproduction/pelle-9.svg")
    stale.write_text("")
    call("reproduce", "pelle", "--quick")
    assert not stale.exists()


def test_only_what_is_asked_for_and_in_the_table_is_computed(call, computed):
    words = ["--datasets", "parity5,corral", "--account", "honest", "--account", "published"]
    assert call("reproduce", "pelle", *words).exit_code == 0
    assert {task.dataset for task in computed} == {"parity5", "corral"}
    assert {task.account for task in computed} == {"honest", "published"}
    report = Path("reproduction/pelle.md").read_text(encoding="utf-8")
    assert f"\npatchfold reproduce pelle {' '.join(words)}\n" in report


@pytest.mark.slow
def test_figures_are_drawn_and_their_files_named(call):
    result = call("reproduce", "figures", "--datasets", "corral", "--output", "drawn")
    assert result.exit_code == 0, result.output
    files = [str(Path("drawn") / name) for name in ("figures.md", "figure-pelle-1.png")]
    assert result.stdout.split() == files
    assert all(Path(file).is_file() for file in files)


def test_programs_are_told_which_figures_were_drawn(call, monkeypatch):
    monkeypatch.setattr(figures, "PLATES", figures.PLATES[4:5])
    told = json.loads(call("reproduce", "figures", "--quick", "--json").stdout)
    assert told["paper"] == "figures"
    assert [Path(file).name for file in told["outputs"]] == ["figures.md", "figure-elap-1.png"]


def test_a_failure_is_told_stored_reported_and_tried_again(call, computed, monkeypatch):
    monkeypatch.setenv("FAKE_TROUBLE", "raise")
    result = call("reproduce", "pelle", "--account", "published")
    assert result.exit_code == cli.FAILED
    message = "1 parity5 LLE published failed: ArithmeticError: no neighbours <at all>"
    assert message in result.stderr
    assert "1 of 28 tasks failed; the report says why." in result.stderr
    report = Path("reproduction/pelle.md").read_text(encoding="utf-8")
    assert r"parity5 LLE published: ArithmeticError: no neighbours \<at all\>" in report
    monkeypatch.delenv("FAKE_TROUBLE")
    computed.clear()
    assert call("reproduce", "pelle", "--account", "published").exit_code == 0
    assert computed == [fake_paper.TROUBLED]
    assert "ArithmeticError" not in Path("reproduction/pelle.md").read_text(encoding="utf-8")


def test_results_of_another_protocol_are_set_aside_and_computed_anew(call, computed, monkeypatch):
    words = ("reproduce", "pelle", "--quick", "--account", "published")
    call(*words)
    computed.clear()
    monkeypatch.setattr(fake_paper, "PROTOCOL", 2)
    result = call(*words)
    assert (result.exit_code, len(computed)) == (0, 14)
    said = " ".join(result.stderr.split())
    assert re.search(r"pelle.csv is not used, because .*protocol 1, .* It is now .*old\.csv", said)
    for name, protocol in (("pelle.csv", 2), ("pelle.old.csv", 1)):
        text = Path("reproduction", name).read_text(encoding="utf-8")
        assert text.splitlines()[0].endswith(f"protocol {protocol}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pele"], "paper='pele' is not known; did you mean 'pelle'?"),
        (["pelle", "--table", "2"], "--table='2' is not known"),
        (["pelle", "--account", "honnest"], "did you mean 'honest'?"),
        (["pelle", "--datasets", "bolts,irys"], "--datasets='irys' is not known; did you"),
        (["pelle", "--datasets", "iris"], "nothing to compute with these options"),
        (["pelle", "--jobs", "0"], "--jobs"),
        (["figures", "--table", "1"], "figures have no --table; leave it out"),
        (["figures", "--datasets", "corrall"], "did you mean 'corral'?"),
        (["pelle", "--output", "file"], "--output"),
        ([], "PAPER"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_named_and_nothing_is_written(call, computed, words, message):
    Path("file").touch()
    result = call("reproduce", *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not Path("reproduction").exists()


def test_a_paper_whose_packages_are_missing_says_so(call, monkeypatch):
    monkeypatch.setitem(PAPERS, "pelle", "no_such_module")
    result = call("reproduce", "pelle")
    assert result.exit_code == cli.FAILED
    assert "pelle cannot be computed here: No module named 'no_such_module'" in result.stderr


def test_a_stopped_run_says_how_to_go_on(call, computed, monkeypatch):
    work = workers.run

    def stopped(paper, tasks, *, jobs):
        yield next(work(paper, tasks, jobs=jobs))
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "run", stopped)
    result = call("reproduce", "pelle")
    assert result.exit_code == cli.STOPPED
    assert "Stopped. The same command goes on from what is in " in result.stderr
    assert len(Path("reproduction/pelle.csv").read_text().splitlines()) == 2 + 1
    assert not Path("reproduction/pelle.md").exists()


def test_a_terminal_shows_a_bar_with_the_remaining_time(computed, tmp_path):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, markup=False)
    tasks = fake_paper.tasks("1", None, ["published"], True)
    store = storage.Store(tmp_path / "pelle.csv", storage.stamp(fake_paper))
    outcomes = papers._complete(fake_paper, tasks, store, 1, console)
    assert set(outcomes) == set(tasks)
    assert "14/14 1 parity5 PELLE published" in screen.getvalue()
    assert re.search(r"\d:\d\d:\d\d", screen.getvalue())
    assert "left" not in screen.getvalue()


def test_a_data_folder_that_is_none_is_named_without_a_traceback(monkeypatch, tmp_path):
    monkeypatch.setenv("PATCHFOLD_DATA", str(tmp_path / "nowhere"))
    for words in (["datasets"], ["reproduce", "elap", "--datasets", "parity5"]):
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code == 2
        assert "nowhere" in result.output
        assert isinstance(result.exception, SystemExit)


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file" / "sub", tmp_path / "file"):
        words = ["reproduce", "elap", "--datasets", "parity5", "--output", str(output)]
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code == 2
        assert "published" not in result.output  # no task was begun


@pytest.mark.slow
def test_data_sets_without_a_task_are_named_and_an_empty_list_is_refused(tmp_path):
    words = ["reproduce", "isomap-kl", "--table", "I", "--account", "published"]
    options = ["--datasets", "iris,sonar", "--output", str(tmp_path), "--jobs", "1"]
    result = CliRunner().invoke(cli.app, words + options)
    assert result.exit_code == 0
    assert "Nothing to compute for sonar" in result.output
    result = CliRunner().invoke(cli.app, [*words, "--datasets", ","])
    assert result.exit_code == 2
    assert "names none" in result.output
