"""Tasks are computed whatever happens to a worker, and a killed run goes on."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fake_paper
import patchfold
from fake_paper import outcomes
from patchfold import cli
from patchfold.papers.reproduction import PAPERS, load_paper, workers
from patchfold.papers.reproduction.cells import Outcome
from patchfold.papers.reproduction.report import render
from patchfold.papers.reproduction.storage import Store, stamp
from patchfold.papers.reproduction.workers import run

HELPERS = Path(fake_paper.__file__).parent


SOURCE = Path(patchfold.__file__).parents[1]


COMMAND = "patchfold reproduce pelle"


# A machine under load takes long to import everything; nothing is measured by it.
PATIENCE = 120.0


def test_an_unknown_paper_is_named_with_the_nearest():
    with pytest.raises(ValueError, match="paper='isomapkl' is not known; did you mean 'isomap-kl'"):
        load_paper("isomapkl")


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
    outcome = workers._attempt(fake_paper, fake_paper.TROUBLED)
    assert re.match(message, outcome.error)
    assert not outcome.results


def test_workers_are_told_to_use_one_thread_and_the_parent_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with workers._one_thread():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert dict(os.environ) == before


@pytest.mark.slow
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

    monkeypatch.setattr(workers, "_Worker", Worker)
    monkeypatch.setattr(workers.connection, "wait", lambda wires: wires)
    tasks = fake_paper.tasks("1", None, ["published"], False)
    assert len(list(run(fake_paper, tasks))) == len(tasks)
    assert sorted(map(workers.cost, tasks), reverse=True) == [workers.cost(task) for task in order]


def test_no_jobs_are_refused():
    with pytest.raises(ValueError, match="jobs=0 is too small"):
        next(run(fake_paper, [], jobs=0))


def start(folder, jobs, seconds):
    paths = [str(HELPERS), str(SOURCE)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]),
        "FAKE_SECONDS": seconds,
    }
    return subprocess.Popen(  # noqa: S603 - what is run stands here
        [sys.executable, str(HELPERS / "fake_paper.py"), *words(folder, jobs)],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def words(folder, jobs):
    options = f"--account published --jobs {jobs} --output".split()
    return ["reproduce", "pelle", *options, str(folder)]


def finished(folder):
    return len(Store(folder / "pelle.csv", stamp(fake_paper)).load()[0])


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


def kill_a_run(folder, news, *, jobs=1, whole_group=False, later=0.0):
    """Kill a run ``later`` seconds after it has stored some tasks; return how many are stored."""
    at_least = finished(folder) + news
    process = start(folder, jobs, "0.2")
    wait_for(lambda: finished(folder) >= at_least)
    time.sleep(later)
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    wait_for(lambda: not alive_in_group(process.pid))
    assert not (folder / "pelle.html").exists()
    assert finished(folder) >= at_least
    return finished(folder)


def assert_is_undisturbed(folder, messages, stored):
    """Compare the files of a run with those of one that nobody has killed."""
    undisturbed = outcomes(["published"])
    tasks = [outcome.task for outcome in undisturbed]
    expected = render(
        "pelle",
        undisturbed,
        command=f"{COMMAND} --account published",
        stamp=stamp(fake_paper),
        note=fake_paper.NOTE,
    )
    assert 0 < stored < len(tasks)
    assert f"{stored} of {len(tasks)} tasks are stored already" in messages
    files = {path.name for path in folder.iterdir()}
    assert files == {"pelle.csv", *expected}
    assert {name: (folder / name).read_text(encoding="utf-8") for name in expected} == expected
    assert finished(folder) == len(tasks)


looks_for_processes = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


@pytest.mark.slow
@looks_for_processes
def test_a_killed_run_goes_on_and_ends_with_the_report_of_an_undisturbed_one(tmp_path, monkeypatch):
    stored = kill_a_run(tmp_path, 1)
    monkeypatch.setitem(PAPERS, "pelle", "fake_paper")
    result = CliRunner().invoke(cli.app, words(tmp_path, 1))
    assert result.exit_code == 0, result.output
    assert_is_undisturbed(tmp_path, result.stderr, stored)


@pytest.mark.long
@looks_for_processes
def test_a_run_killed_again_and_again_ends_with_the_report_of_an_undisturbed_one(tmp_path):
    moment = random.Random(0)  # noqa: S311 - moments of kills, not secrets
    # While it starts; among its results, all processes at once; the same, but the parent alone.
    kill_a_run(tmp_path, 0, whole_group=True, later=moment.uniform(0, 0.3))
    kill_a_run(tmp_path, 2, jobs=2, whole_group=True, later=moment.uniform(0, 0.3))
    stored = kill_a_run(tmp_path, 3, later=moment.uniform(0, 0.3))
    process = start(tmp_path, 1, "0")
    _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, messages
    assert_is_undisturbed(tmp_path, messages, stored)
