"""What is written down twice agrees: the project file, the conda recipe, the citation, the code."""

import re
import runpy
import sys
import tomllib
from pathlib import Path

import patchfold

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def section(text, head):
    """Return the items of one list of the recipe."""
    after = text.split(f"\n  {head}:\n", 1)[1]
    return re.findall(
        r"^    - (.+)$", re.split(r"^ {0,2}\S", after, flags=re.MULTILINE)[0], re.MULTILINE
    )


def test_the_recipe_needs_what_the_project_needs():
    recipe = (ROOT / "recipe" / "meta.yaml").read_text("utf-8")
    wanted = [f"python {PROJECT['requires-python']}"]
    wanted += [re.sub(r"(>=)", r" \1", one) for one in PROJECT["dependencies"]]
    assert section(recipe, "run") == wanted


def test_one_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert patchfold.__version__ == PROJECT["version"]


def test_all_names_every_extra_of_users():
    extras = PROJECT["optional-dependencies"]
    named = set(re.search(r"\[(.+)\]", extras["all"][0])[1].split(","))
    assert named == set(extras) - {"all", "bench", "dev", "docs", "gpu"}


def test_project_urls_lead_to_files():
    for place in PROJECT["urls"].values():
        assert (ROOT / place).is_file(), place


def test_the_first_command_needs_no_file_and_the_smallest_useful_extra():
    readme = (ROOT / "README.md").read_text("utf-8")
    first = re.search(r"```\n.*?^(patchfold [^#\n]+)", readme, re.MULTILINE | re.DOTALL)[1]
    assert first.split() == ["patchfold", "explore", "digits"]
    assert "digits" in {entry.name for entry, _ in patchfold.datasets.available()}
    assert "pip install '.[cli]'" in readme
    start = (ROOT / "docs" / "start.md").read_text("utf-8")
    assert f"patchfold-{PROJECT['version']}-py3-none-any.whl" in start
    extras = set(re.findall(r"`\.\[(\w+)\]`", start))
    assert extras == set(PROJECT["optional-dependencies"]) - {"bench", "dev", "docs"}


def test_the_check_of_archives_finds_every_supported_python_that_runs(capsys):
    check = runpy.run_path(str(ROOT / "recipe" / "check_dist.py"))
    pythons = check["found"]()
    own = ".".join(map(str, sys.version_info[:2]))
    assert own in pythons
    assert all(Path(python).is_file() for python in pythons.values())
    assert f"{', '.join(pythons)} of 3.11, 3.12, 3.13, 3.14" in capsys.readouterr().out
