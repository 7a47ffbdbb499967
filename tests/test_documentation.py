"""README and site: every block of code runs, every link leads somewhere, and words are British."""

import re
import shlex
import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from typer.main import get_command
from typer.testing import CliRunner

import patchfold
from patchfold import PatchIsomap
from patchfold.cli import app
from patchfold.divergences import registry
from patchfold.evaluation.sampling import folds

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# What a build writes is no page of ours.
WRITTEN = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "gallery", "reproduction"} & set(path.relative_to(DOCS).parts)
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
EXAMPLES = sorted((ROOT / "examples" / "gallery").rglob("*.py"))
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = {"", "bash", "console", "sh", "text"}
LINK = re.compile(r"\]\(([^)\s]+)\)")

AMERICAN = {
    "analyze": "analyse",
    "behavior": "behaviour",
    "center": "centre",
    "centered": "centred",
    "color": "colour",
    "colored": "coloured",
    "colors": "colours",
    "favor": "favour",
    "gray": "grey",
    "labeled": "labelled",
    "license": "licence",
    "modeling": "modelling",
    "neighbor": "neighbour",
    "neighbors": "neighbours",
    "neighborhood": "neighbourhood",
    "neighborhoods": "neighbourhoods",
    "normalize": "normalise",
    "normalized": "normalised",
    "optimize": "optimise",
    "optimized": "optimised",
    "organize": "organise",
    "recognize": "recognise",
    "regularized": "regularised",
    "standardize": "standardise",
    "standardized": "standardised",
    "summarize": "summarise",
    "symmetrized": "symmetrised",
    "unlabeled": "unlabelled",
    "visualize": "visualise",
}


@pytest.fixture
def own_names():
    """Forget the divergences that a page has registered."""
    known = dict(registry._REGISTRY)
    yield
    for name in registry._REGISTRY.keys() - known:
        del registry._REGISTRY[name]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks(path, language):
    return [body for kind, body in FENCE.findall(path.read_text("utf-8")) if kind == language]


def prose(path):
    """Return a page, or the text of an example, without code, addresses and directives."""
    text = FENCE.sub("", path.read_text("utf-8"))
    if path.suffix == ".py":
        text = "\n".join(re.findall(r'^# .*$|"""(?s:.*?)"""', text, re.MULTILINE))
    text = re.sub(r"`[^`]*`", "", text)
    return re.sub(r"\]\([^)]*\)|https?://\S+", "", text)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "python")], ids=name_of)
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("own_names")
def test_code_of_a_page_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for body in blocks(path, "python"):
        exec(compile(body, name_of(path), "exec"), names)  # noqa: S102  # our own pages
    for body in blocks(path, "bash"):
        for line in filter(None, map(str.strip, body.splitlines())):
            assert line.startswith("patchfold "), line
            result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            assert result.exit_code == 0, f"{line}\n{result.output}"


def commands(path):
    """Return the lines of a page that call the command, in blocks that are not Python's."""
    shown = [body for kind, body in FENCE.findall(path.read_text("utf-8")) if kind in SHELL]
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    return [line for line in lines if re.match(r"\$? ?patchfold ", line)]


@pytest.mark.parametrize("path", [path for path in PAGES if commands(path)], ids=name_of)
def test_commands_of_a_page_exist_with_their_options(path):
    known = get_command(app).commands
    for line in commands(path):
        words = shlex.split(line.removeprefix("$ "), comments=True)[1:]
        if words[0].startswith("-"):
            continue
        assert words[0] in known, line
        options = {one for option in known[words[0]].params for one in option.opts}
        options |= {one for option in known[words[0]].params for one in option.secondary_opts}
        asked = {word.partition("=")[0] for word in words[1:] if re.match("--?[a-z]", word)}
        assert asked <= options | {"--help"}, line


def by_the_build(file):
    """Return whether the build of the site writes this file."""
    if file.is_relative_to(DOCS / "gallery"):
        example = ROOT / "examples" / file.relative_to(DOCS).with_suffix(".py")
        return file.stem == "index" or example.exists()
    return file.parent == DOCS / "api" and file.stem in {"index", *patchfold.__all__}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_of_a_page_lead_to_files(path):
    text = FENCE.sub("", path.read_text("utf-8"))
    for target in LINK.findall(text):
        place = target.partition("#")[0]
        if place and not re.match(r"[a-z]+:", place):
            file = (path.parent / place).resolve()
            assert file.exists() or by_the_build(file), f"{name_of(path)} links to {target}"


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=name_of)
def test_words_are_british(path):
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", prose(path))}
    assert {word: AMERICAN[word] for word in words & set(AMERICAN)} == {}


@pytest.mark.slow
def test_readme_tells_the_share_of_digits():
    """Two per cent may change with the defaults; more needs a new picture and new words."""
    X, y = load_digits(return_X_y=True)
    text = (ROOT / "README.md").read_text("utf-8")
    told = re.search(r"(\d\d) % after Isomap, (\d\d) % after `PatchIsomap`", text)
    for method, share in zip((Isomap(n_neighbors=15), PatchIsomap()), told.groups(), strict=True):
        plane = method.fit_transform(X)
        named = cross_val_score(KNeighborsClassifier(7), plane, y, cv=folds(y, 5)).mean()
        assert named == pytest.approx(int(share) / 100, abs=0.02)


def test_the_gallery_has_enough_examples_and_each_ends_with_a_page():
    assert len(EXAMPLES) >= 15
    assert sum(path.parent.name == "1_real_data" for path in EXAMPLES) >= 8
    for path in EXAMPLES:
        text = path.read_text("utf-8")
        assert re.search(r"^ *page = ", text, re.MULTILINE), name_of(path)
        assert text.endswith("\npage\n"), name_of(path)


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 90


@pytest.mark.slow
def test_the_page_about_one_fit_tells_what_a_fit_calls_and_in_which_order() -> None:
    page = (ROOT / "docs" / "development" / "one-fit.md").read_text("utf-8")
    tree = page.split("```text\n")[1].split("```")[0]
    told = [tuple(line.split()) for line in tree.splitlines()]
    called: dict[tuple[str, str], None] = {}
    package = Path(patchfold.__file__).parent

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and package in path.parents:
            called.setdefault((path.relative_to(package).as_posix(), frame.f_code.co_name))

    X = np.random.default_rng(0).normal(size=(60, 3))
    sys.setprofile(note)
    try:
        PatchIsomap(n_jobs=1).fit(X)
    finally:
        sys.setprofile(None)
    assert [call for call in called if call in told] == told
    assert len({module for module, _ in told}) <= 12
