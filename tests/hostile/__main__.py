"""The campaign: thousands of hostile cases, each in a process with limits, and a table of verdicts.

``python -m tests.hostile`` in the root of the repository, or ``make hostile``. What is done is kept
in ``studies/hostile-1/`` for this version of the code, and not done again. One case alone:
``python -m tests.hostile --case ID``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from pathlib import Path

import patchfold

from .cases import SHARES, Case, drawn
from .judging import FINE, VERDICTS, Verdict
from .workers import verdicts

KEPT = Path("studies/hostile-1")

Results = dict[str, Verdict]


def main() -> int:
    """Run what is asked for; 1 if a case is neither right nor a clear error."""
    options = _options()
    if options.case:
        case = Case.from_id(options.case)
        [(_, verdict)] = verdicts([case], jobs=1)
        sys.stdout.write(f"{verdict.name}: {verdict.detail}\n")
        return verdict.name not in FINE
    cases = drawn(options.cases, options.seed)
    results = campaign(cases, options.jobs)
    report = table(results) + "\n" + listed(results)
    sys.stdout.write(report)
    if options.report:
        options.report.write_text(report, encoding="utf-8")
    return any(verdict.name not in FINE for verdict in results.values())


def campaign(cases: list[Case], jobs: int) -> Results:
    """Return the verdicts of cases; those that are kept are not run again."""
    path = KEPT / f"{version()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = _read(path)
    left = [case for case in cases if case.id not in done]
    start = time.monotonic()
    with path.open("a", encoding="utf-8") as file:
        for number, (case, verdict) in enumerate(verdicts(left, jobs), 1):
            done[case.id] = verdict
            file.write(json.dumps([case.id, *verdict]) + "\n")
            file.flush()
            if number % 100 == 0:
                took = time.monotonic() - start
                sys.stderr.write(f"{number} of {len(left)} cases, {took:.0f} s\n")
    return {case.id: done[case.id] for case in cases}


def table(results: Results) -> str:
    """Return the counts, one row per kind and one column per verdict."""
    counts = Counter((case.split("/")[0], verdict.name) for case, verdict in results.items())
    rows = ["| kind | cases | " + " | ".join(VERDICTS) + " |", "|---" * (len(VERDICTS) + 2) + "|"]
    for kind in SHARES:
        found = [counts[kind, verdict] for verdict in VERDICTS]
        rows.append(f"| {kind} | {sum(found)} | " + " | ".join(map(str, found)) + " |")
    total = [sum(counts[kind, verdict] for kind in SHARES) for verdict in VERDICTS]
    rows.append(f"| all | {sum(total)} | " + " | ".join(map(str, total)) + " |")
    return "\n".join(rows) + "\n"


def listed(results: Results) -> str:
    """Return the cases that are neither right nor a clear error, with the command of each."""
    lines = []
    for case, verdict in sorted(results.items(), key=lambda item: (item[1].name, item[0])):
        if verdict.name not in FINE:
            lines.append(f"{verdict.name}: {verdict.detail}")
            lines.append(f"    python -m tests.hostile --case '{case}'")
    return "\n".join(lines) + "\n" if lines else ""


def version() -> str:
    """Return a name for the code of the library and of the campaign."""
    digest = hashlib.sha256()
    for folder in (Path(patchfold.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _read(path: Path) -> Results:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    complete = [json.loads(line) for line in lines if line.endswith("]")]
    return {case: Verdict(*verdict) for case, *verdict in complete}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=3600, help="how many (default: 3600)")
    parser.add_argument("--seed", type=int, default=0, help="other cases (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--report", type=Path, help="a file for the table and the list")
    parser.add_argument("--case", help="run this case alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
