"""``patchfold bench`` runs in a checkout alone."""

from __future__ import annotations

from command_line import told
from patchfold.cli import benchmarking


def test_without_a_checkout_there_are_no_benchmarks(call, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarking, "_checkout", lambda: tmp_path)
    assert "not part of an installed package" in told(call("bench"))


def test_benchmarks_run_in_the_checkout_and_their_code_is_ours(call, tmp_path, monkeypatch):
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__main__.py").write_text("import sys; sys.exit(len(sys.argv))", encoding="utf-8")
    monkeypatch.setattr(benchmarking, "_checkout", lambda: tmp_path)
    assert call("bench", "a", "b").exit_code == 3
