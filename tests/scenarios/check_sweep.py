#!/usr/bin/env python3
"""Sweeps in whole processes: check_sweep.py CORTADO [MPIRUN].

The same database comes out of one thread and of two, of 1 to 4 ranks of MPI, and of a sweep that is killed ten times at
random and resumed. A database that is being written is refused, and a disk that is full loses nothing.
"""

import pathlib
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

SPEC = """question = "bench"
[fixed]
collective = "all-gather"
variant = "pcpy"
prelaunch = true
[axes]
"links.rate_GBps" = [20, 40, 60]
"dma.engines" = [2, 7]
sizes = { sizes = "1KiB:32KiB" }
"""


def contents(path):
    """All that a sweep found: names of columns and rows, in order."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {}
    for table in ("points", "rows", "facts", "failures", "machines", "versions", "columns"):
        names = sorted(row[1] for row in database.execute(f'PRAGMA table_info("{table}")'))
        listed = ", ".join(f'"{name}"' for name in names)
        found[table] = (names, sorted(map(repr, database.execute(f'SELECT {listed} FROM "{table}"'))))
    database.close()
    return found


def states(path):
    if not path.exists():
        return 0
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return database.execute("SELECT count(*) FROM points WHERE state = 'done'").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        database.close()


def sweep(cortado, spec, output, *arguments, before=(), **options):
    return subprocess.run([*before, cortado, "sweep", spec, "-o", output, *arguments], capture_output=True, text=True, **options)


def check(condition, what):
    if not condition:
        sys.exit(f"check_sweep.py: {what}")


def killed_ten_times(cortado, spec, output):
    luck = random.Random(21)
    progress = []
    for _ in range(10):
        process = subprocess.Popen([cortado, "sweep", spec, "-o", output, "--threads", "1"], stderr=subprocess.DEVNULL)
        time.sleep(luck.uniform(0.05, 0.5))
        if process.poll() is None and len(progress) == 3:
            refused = sweep(cortado, spec, output)
            # It may have ended meanwhile; who comes second is refused with the name of the first.
            check(refused.returncode == 0 or "is written by process" in refused.stderr, refused.stderr)
        process.kill()
        process.wait()
        progress.append(states(output))
    check(progress == sorted(progress), f"finished points were lost: {progress}")
    return progress


def main(arguments):
    cortado = arguments[0]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        spec = folder / "spec.toml"
        spec.write_text(SPEC)
        whole = folder / "whole.db"
        done = sweep(cortado, spec, whole, "--threads", "1")
        check(done.returncode == 0, done.stderr)
        expected = contents(whole)
        check(len(expected["points"][1]) == 3 * 2 * 6, "not all points are there")

        two = folder / "two.db"
        check(sweep(cortado, spec, two, "--threads", "2").returncode == 0, "two threads")
        check(contents(two) == expected, "two threads find something else than one")

        parts = folder / "parts.db"
        progress = killed_ten_times(cortado, spec, parts)
        last = sweep(cortado, spec, parts)
        check(last.returncode == 0, last.stderr)
        check(contents(parts) == expected, "a killed and resumed sweep finds something else")

        check(sweep(cortado, spec, whole).returncode == 0, "a finished sweep is resumed")
        check(contents(whole) == expected, "resuming a finished sweep changes it")

        # A disk that is full: here, files that may not grow beyond 64 KiB.
        small = folder / "small.db"
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        full = sweep(cortado, spec, small, preexec_fn=limit)
        check(full.returncode == 2 and "error: sweep.database" in full.stderr, f"a full disk: {full.stderr}")
        check(sweep(cortado, spec, small).returncode == 0, "after a full disk")
        check(contents(small) == expected, "after a full disk something else is found")

        for ranks in (1, 2, 3, 4) if len(arguments) > 1 and arguments[1] else ():
            output = folder / f"mpi{ranks}.db"
            mpirun = [arguments[1], "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
            run = sweep(cortado, spec, output, "--threads", "1", before=mpirun)
            check(run.returncode == 0, run.stderr)
            check(contents(output) == expected, f"{ranks} ranks find something else than one process")
        print(f"killed at {progress} of {len(expected['points'][1])} points")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
