"""Processes that run cases under a limit of time and memory, and are replaced when they end."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from .cases import Case
from .judging import CRASH, HANG, Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

# No case has more than 150 rows: what takes longer, or more memory, never ends or leaks.
SECONDS, ADDRESS_SPACE = 60.0, 8 * 2**30

# The first case of a process waits for imports and for compiled code.
STARTING_SECONDS = 120.0


class Worker:
    """A process that judges one case after another."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
            os.environ.setdefault(name, "1")  # workers share the cores already
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,))
        self.process.start()
        theirs.close()
        self.case: Any = None
        self.allowed = STARTING_SECONDS
        self.deadline = 0.0

    def give(self, case: Case) -> None:
        self.case = case
        self.deadline = time.monotonic() + self.allowed
        self.connection.send(case.id)

    def take(self) -> Verdict:
        """Return what came of the case, after the connection has something to say or has ended."""
        try:
            verdict = Verdict(*self.connection.recv())
        except (EOFError, ConnectionResetError):
            self.process.join()
            return Verdict(CRASH, f"the process ended with {self.process.exitcode}")
        self.allowed = SECONDS
        return verdict

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def verdicts(cases: list[Case], jobs: int) -> Iterator[tuple[Case, Verdict]]:
    """Judge cases in several processes, in any order."""
    waiting = list(reversed(cases))
    workers = [Worker() for _ in range(min(jobs, len(cases)))]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while busy := [worker for worker in workers if worker.case is not None]:
            ready = wait([worker.connection for worker in busy], timeout=1.0)
            for worker in busy:
                late = time.monotonic() > worker.deadline
                if worker.connection not in ready and not late:
                    continue
                if worker.connection in ready:
                    verdict = worker.take()
                else:
                    verdict = Verdict(HANG, f"not done after {worker.allowed:g} s")
                yield worker.case, verdict
                worker.case = None
                if verdict.name in {HANG, CRASH}:
                    worker.end()
                    worker.start()
                if waiting:
                    worker.give(waiting.pop())
    finally:
        for worker in workers:
            worker.end()


def _serve(connection: Any) -> None:
    """Judge the cases that come, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        try:
            name = connection.recv()
        except EOFError:
            return
        connection.send(tuple(judge(Case.from_id(name))))
