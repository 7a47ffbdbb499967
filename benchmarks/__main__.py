"""Run the benchmarks but the long studies: ``python -m benchmarks``; or those that are named."""

from __future__ import annotations

import argparse
from importlib import import_module

NAMES = (
    "edges",
    "pairwise",
    "recall",
    "candidates",
    "mapping",
    "geodesics",
    "selection",
    "dimension",
    "fisher_rao",
)
# These take long, and run only when they are named.
STUDIES = (
    "supervised",
    "regret",
    "stability",
    "real",
    "bridges",
    "strangers",
    "frames",
    "pages",
    "cluster",
    "inverse",
    "loadings",
    "spectra",
    "growing",
    "ablation",
    "degree",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = (*NAMES, *STUDIES)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(known))
    chosen = parser.parse_args().names or NAMES
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(known)}")
    for name in chosen:
        print(f"\n== {name} ==", flush=True)
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
