"""Build the wheel and the sdist, and install each in an empty environment of every Python at hand.

``python recipe/check_dist.py``, or ``make dist``. The archives are in ``dist/``. Pythons are those
of the supported versions on PATH and in pyenv; which were used, and what an installation takes, is
printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
# Without what would find this checkout.
CLEAN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
# What has to work without any extra.
ALONE = """
from sklearn.datasets import load_digits
from patchfold import PatchIsomap, explore
X, y = load_digits(return_X_y=True)
model = PatchIsomap().fit(X[:300])
assert model.transform(X[300:305]).shape == (5, 2)
explore(X[:300], y[:300], n_neighbors=[15]).save("digits.html")
"""
# What has to work with the smallest useful extra.
COMMANDS = (
    ("explore", "digits", "--neighbors", "15", "--no-open"),
    ("embed", "iris", "-o", "plane.csv", "--model", "iris.skops"),
    ("apply", "iris.skops", "flowers.csv", "-o", "again.csv"),
)
TABLE = """
import skops.io
from sklearn.datasets import load_iris
flowers = load_iris(as_frame=True).data
flowers.to_csv("flowers.csv", index=False)
model = skops.io.load("iris.skops", trusted=skops.io.get_untrusted_types(file="iris.skops"))
assert model.transform(flowers[:5]).shape == (5, 2)
"""


def main() -> None:
    """Build, install, try; end with an error where something does not work."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", DIST, cwd=ROOT)
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    for version, python in found().items():
        print(f"Python {version}: {tried(python, wheel, sdist)}", flush=True)
    print(f"{wheel.name} and {sdist.name} are in {DIST.name}/")


def found() -> dict[str, str]:
    """Return a Python that runs of every supported version at hand."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    pythons = {}
    for version in versions:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        for python in (f"python{version}", sys.executable, *map(str, pyenv)):
            place = shutil.which(python)
            if place is None:
                continue
            code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
            said = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
            if said.stdout.strip() == version:
                pythons[version] = place
                break
    print(f"Pythons at hand: {', '.join(pythons)} of {', '.join(versions)}", flush=True)
    return pythons


def tried(python: str, wheel: Path, sdist: Path) -> str:
    """Install the wheel, try it, and install the sdist in its place; say how large it all is."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run(python, "-m", "venv", folder / "env", cwd=folder)
        own, command = (folder / "env" / "bin" / name for name in ("python", "patchfold"))
        pip = (own, "-m", "pip", "--quiet")
        run(*pip, "install", wheel, cwd=folder)
        run(own, "-c", ALONE, cwd=folder)
        without = size(folder / "env")
        run(*pip, "install", f"{wheel}[cli]", cwd=folder)
        run(*pip, "check", cwd=folder)
        run(command, *COMMANDS[0], cwd=folder)
        run(command, *COMMANDS[1], cwd=folder)
        run(own, "-c", TABLE, cwd=folder)
        run(command, *COMMANDS[2], cwd=folder)
        whole, files = size(folder / "env"), installed(folder / "env")
        run(*pip, "uninstall", "--yes", "patchfold", cwd=folder)
        run(*pip, "install", f"{sdist}[cli]", cwd=folder)
        run(command, "--version", cwd=folder)
        if installed(folder / "env") != files:
            sys.exit(f"{sdist.name} installs other files than {wheel.name}.")
        return f"both work; {without} alone, {whole} with [cli]"


def installed(environment: Path) -> dict[str, bytes]:
    """Return the files of the installed package."""
    (package,) = environment.glob("lib/python*/site-packages/patchfold")
    files = (path for path in sorted(package.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(package)): path.read_bytes()
        for path in files
        if "__pycache__" not in path.parts
    }


def size(environment: Path) -> str:
    """Count the packages of an environment without pip, and their bytes."""
    packages = next(environment.glob("lib/python*/site-packages"))
    count = len(list(packages.glob("*.dist-info"))) - 1
    total = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    return f"{count} packages of {total / 2**20:.0f} MB"


def run(*words: object, cwd: Path) -> None:
    """Run a program in a folder; show what it said if it fails."""
    told = [str(word) for word in words]
    done = subprocess.run(told, cwd=cwd, capture_output=True, text=True, check=False, env=CLEAN)
    if done.returncode:
        sys.exit(f"{' '.join(told)[:200]} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
