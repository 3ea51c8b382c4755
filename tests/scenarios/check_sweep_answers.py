#!/usr/bin/env python3
"""One question, one answer: check_sweep_answers.py CORTADO.

A point of a sweep has the rows that the command has with the same flags, those that change the machine included
(--clock, --with, --cap), whatever was asked before it. The best of them is that of the rows that compete.
"""

import collections
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

# Command, name of its argument in a spec, flags that are the same at both points, and one that the second point has.
QUESTIONS = [
    ("overlap", "collective", {"collective": "all-gather", "gemm": "2048x2048x2048", "machine": "mi300x-8"}, ("clock", "fixed")),
    ("bench", "collective", {"collective": "all-gather", "sizes": "64KiB:256KiB", "variant": "all", "machine": "mi300x-8"}, ("with", "multicast,fused-packets")),
    ("model", "model", {"model": "llama-3.1-8b", "tokens": "1024", "tp": "8", "machine": "mi300x-8"}, ("cap", "600")),
    ("kv", "", {"machine": "mi300x-8", "model": "llama-3.1-8b", "tokens": "4096"}, ("with", "indirect")),
    ("serve-sim", "", {"model": "llama-3.1-8b", "requests": "20", "machine": "mi300x-8"}, ("rate", "2")),
    ("power", "collective", {"collective": "all-gather", "bytes": "64MiB", "gemm": "4096x4096x4096", "independent": "true",
                             "machine": "mi300x-8"}, ("cap", "500")),
]


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"check_sweep_answers.py: {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def flat(row, before=""):
    """As a database has it: names with points."""
    cells = {}
    for name, value in row.items():
        if isinstance(value, dict):
            cells.update(flat(value, f"{before}{name}."))
        elif not isinstance(value, list):
            cells[before + name] = value
    return cells


def answer_of_command(cortado, command, argument, flags):
    words = [cortado, command]
    if argument:
        words.append(flags[argument])
    for name, value in flags.items():
        if name != argument:
            words += [f"--{name}"] if value == "true" else [f"--{name}", value]
    words += ["--json"] + (["--on", "sim"] if command == "bench" else [])
    document = json.loads(run(*words))
    table = next(value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict))
    return [flat(row) for row in table]


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return int(a or 0) == int(b or 0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b))  # JSON has fewer digits
    return a == b


# Of every command: what names a row, what decides (less is better, but for serve-sim), which rows compete, and where.
RANKED = {
    "overlap": ("strategy", "time_us", lambda row: not row["bound"], None),
    "bench": ("variant", "time_us", lambda row: True, "bytes"),
    "model": ("system", "time_us", lambda row: row["system"] != "ideal", None),
    "kv": ("strategy", "time_us", lambda row: True, None),
    "serve-sim": ("way", "output_tokens_per_s", lambda row: True, None),
    "power": ("policy", "time_us", lambda row: row["what"] == "both", None),
}


def best_rows(command, rows):
    label, column, competes, within = RANKED[command]
    best = {}
    for row in rows:
        if not competes(row):
            continue
        value = -row[column] if command == "serve-sim" else row[column]
        kind = (row["point"], row[within] if within else None)
        if kind not in best or value < best[kind][0]:
            best[kind] = (value, row)
    return [row for _, row in best.values()]


def check_best(cortado, command, database, rows, axis):
    """sweep show --best, alone and by the axis, against the rows one by one."""
    label, column, _, within = RANKED[command]
    expected = best_rows(command, rows)
    columns = [label, column] + ([within] if within else [])
    shown = json.loads(run(cortado, "sweep", "show", database, "--best", "--columns", ",".join(columns), "--json"))["rows"]
    if sorted((row[label], f"{flat(row)[column]:.6g}") for row in shown) != sorted((row[label], f"{row[column]:.6g}") for row in expected):
        sys.exit(f"check_sweep_answers.py: {command}: the best are {expected}, not {shown}")
    groups = json.loads(run(cortado, "sweep", "show", database, "--best", "--group-by", axis, "--json"))["rows"]
    wins = collections.defaultdict(collections.Counter)
    for row in expected:
        wins[row[f"axis {axis}"]][row[label]] += 1
    for group in groups:
        counts = wins.pop(group[axis])
        most = ", ".join(sorted(name for name in counts if counts[name] == max(counts.values())))
        if (group[label], group["wins"], group["points"]) != (most, max(counts.values()), sum(counts.values())):
            sys.exit(f"check_sweep_answers.py: {command}: groups by {axis} are {groups}, not {counts}")
    if wins:
        sys.exit(f"check_sweep_answers.py: {command}: no groups {list(wins)}")


def check(cortado, folder, command, argument, flags, axis):
    name, value = axis
    spec = folder / f"{command}.toml"
    fixed = "".join(f'{flag} = "{text}"\n' if text != "true" else f"{flag} = true\n" for flag, text in flags.items())
    spec.write_text(f'question = "{command}"\n[fixed]\n{fixed}[axes]\n{name} = ["", "{value}"]\n')
    database = folder / f"{command}.db"
    run(cortado, "sweep", spec, "-o", database, "--threads", "1")
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    compared = 0
    points = [row[0] for row in connection.execute("SELECT point FROM points ORDER BY point")]
    for point, more in zip(points, ({}, {name: value})):
        expected = answer_of_command(cortado, command, argument, {**flags, **more})
        found = [dict(row) for row in connection.execute('SELECT * FROM "rows" WHERE point = ? ORDER BY row', (point,))]
        if len(found) != len(expected):
            sys.exit(f"check_sweep_answers.py: {command}, point {point}: {len(found)} rows, the command has {len(expected)}")
        for ours, theirs in zip(found, expected):
            for column in ours.keys() & theirs.keys():
                compared += 1
                if not same(ours[column], theirs[column]):
                    sys.exit(f"check_sweep_answers.py: {command}, point {point}, {column}: {ours[column]} in the sweep, "
                             f"{theirs[column]} by the command")
    rows = [dict(row) for row in connection.execute(f'SELECT p."{name}" AS "axis {name}", r.* FROM "rows" r JOIN points p USING (point)')]
    connection.close()
    check_best(cortado, command, database, rows, name)
    return compared


def main(arguments):
    with tempfile.TemporaryDirectory() as name:
        for command, argument, flags, axis in QUESTIONS:
            compared = check(arguments[0], pathlib.Path(name), command, argument, flags, axis)
            if compared < 8:
                sys.exit(f"check_sweep_answers.py: {command}: only {compared} cells to compare")
            print(f"{command}: {compared} cells")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
