"""Commands run in a folder of their own."""

from __future__ import annotations

import webbrowser

import pytest
from typer.testing import CliRunner

from command_line import iris
from patchfold import cli
from patchfold.cli import methods


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    iris().to_csv("iris.csv", index=False)
    return tmp_path


@pytest.fixture
def call(folder):
    def call(*words, given=None):
        before = set(folder.iterdir())
        result = CliRunner().invoke(cli.app, [str(word) for word in words], input=given)
        assert isinstance(result.exception, SystemExit | None), result.exception
        if result.exit_code:
            assert set(folder.iterdir()) == before, "a command that fails leaves nothing behind"
        return result

    return call


@pytest.fixture
def quick(monkeypatch):
    """Compare a few methods that take no time."""
    everyone = methods.methods

    def some(n_train, **options):
        own = everyone(n_train, **options, installed=lambda _: False)  # to import UMAP takes long
        return [m for m in own if m.name in {"PCA", "Isomap", "PatchLLE"}]

    monkeypatch.setattr(methods, "methods", some)


@pytest.fixture
def opened(monkeypatch):
    pages = []
    monkeypatch.setattr(webbrowser, "open", lambda page: pages.append(page) or len(pages) < 2)
    return pages
