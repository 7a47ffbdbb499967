"""Run every benchmark: ``make bench``, or ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import argparse
from importlib import import_module

NAMES = ("edges", "pairwise", "recall", "candidates", "ridge")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(NAMES))
    chosen = parser.parse_args().names or NAMES
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    for name in chosen:
        print(f"\n== {name} ==", flush=True)
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
