#!/usr/bin/env python3
"""Sweeps in whole processes: check_sweep.py CORTADO [MPIRUN [OPTION...]].

The same database comes out of one thread and of two, of 1 to 4 ranks of MPI, and of a sweep that is killed ten times at
random and resumed. A database that is being written is refused, and a disk that is full loses nothing. Of three ranks one
is killed: with the options that make MPI outlive it the others do its points, without any the sweep ends and is resumed.
"""

import os
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


# Points that take long enough for somebody to die among them.
SLOW_SPEC = """question = "overlap"
[fixed]
collective = "all-gather"
gemm = "{m}x3584x{k}"
[axes]
m = { from = 4096, to = 9728, step = 512 }
k = { from = 2048, to = 5120, step = 1024 }
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
    """Points that are done. Who reads what a killed process left half written has to be able to write."""
    if not path.exists():
        return 0
    database = sqlite3.connect(f"file:{path}?mode=rw", uri=True)
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
            check(refused.returncode == 0 or "is being written by process" in refused.stderr, refused.stderr)
        process.kill()
        process.wait()
        progress.append(states(output))
    check(progress == sorted(progress), f"finished points were lost: {progress}")
    return progress


def rank_of(process):
    """Its rank, if it is one of a sweep that mpirun started."""
    try:
        if b"sweep" not in pathlib.Path(f"/proc/{process}/cmdline").read_bytes():
            return None
        environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return None
    return next((int(one.split(b"=")[1]) for one in environment if one.startswith((b"PMIX_RANK=", b"PMI_RANK="))), None)


def below(process):
    """It and all that it started, and those these started."""
    try:
        started = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return [process]
    return [process] + [one for child in started for one in below(int(child))]


def a_rank_dies(cortado, mpirun, options, folder):
    spec = folder / "slow.toml"
    spec.write_text(SLOW_SPEC)
    whole = folder / "slow.db"
    check(sweep(cortado, spec, whole, "--threads", "2").returncode == 0, "slow points")
    output = folder / "died.db"
    command = [*mpirun, *options, "-n", "3", cortado, "sweep", spec, "-o", output]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while started.poll() is None and states(output) == 0:
        time.sleep(0.02)
    victims = [one for one in below(started.pid) if rank_of(one) == 1]
    check(len(victims) == 1, f"processes of rank 1: {victims}")
    os.kill(victims[0], 9)
    said = started.communicate()[0]
    before = states(output)
    if options:
        check(started.returncode == 0 and "1 rank died; the others did its points" in said, said)
    else:
        check(started.returncode != 0 and 0 < before < 48, f"a rank died, {before} points: {said}")
        print("this MPI ends with the first rank that dies (no ULFM): the sweep ended and was resumed")
        last = subprocess.run(command, capture_output=True, text=True)
        check(last.returncode == 0, last.stderr)
    check(contents(output) == contents(whole), "something else is found after a rank has died")


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

        mpirun = [arguments[1], "--allow-run-as-root", "--oversubscribe"] if len(arguments) > 1 else []
        for ranks in (1, 2, 3, 4) if mpirun else ():
            output = folder / f"mpi{ranks}.db"
            run = sweep(cortado, spec, output, "--threads", "1", before=[*mpirun, "-n", str(ranks)])
            check(run.returncode == 0, run.stderr)
            check(contents(output) == expected, f"{ranks} ranks find something else than one process")
        if mpirun:
            a_rank_dies(cortado, mpirun, arguments[2:], folder)
        print(f"killed at {progress} of {len(expected['points'][1])} points")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
