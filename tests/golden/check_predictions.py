#!/usr/bin/env python3
"""The one golden table of predictions: predictions.csv has command lines and what each row of their answers must be, digit for
digit. A change of a constant or of the simulator shows here first.

Usage: check_predictions.py [--update] CORTADO PREDICTIONS
"""
import csv
import io
import json
import shlex
import subprocess
import sys

FIELDS = ["command", "row", "time_us", "energy_J"]


def rows_of(cortado, command):
    """Name, time and energy of every row of the answer."""
    words = shlex.split(command)
    done = subprocess.run([cortado, *words[1:], "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    for row in answer.get("rows", [answer]):
        name = row.get("strategy") or " ".join(str(row[key]) for key in ("bytes", "variant", "prelaunch") if key in row)
        energy = row.get("energy_J")
        yield {"command": command, "row": name, "time_us": f"{row['time_us']:.3f}",
               "energy_J": "" if energy is None else f"{energy:.6g}"}  # sums of floating-point numbers: not the last digits


def main():
    update = sys.argv[1] == "--update"
    cortado, path = sys.argv[-2:]
    with open(path, newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    actual = [row for command in dict.fromkeys(row["command"] for row in expected) for row in rows_of(cortado, command)]
    if update:
        text = io.StringIO()
        writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(actual)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.getvalue())
        return 0
    different = [(old, new) for old, new in zip(expected, actual) if old != new]
    for old, new in different:
        print(f"{new['command']}\n  expected {old['row']}: {old['time_us']} us, {old['energy_J']} J\n"
              f"  actual   {new['row']}: {new['time_us']} us, {new['energy_J']} J")
    if len(expected) != len(actual):
        print(f"{len(expected)} rows expected, {len(actual)} printed")
    if different or len(expected) != len(actual):
        print("if this is meant: tools/update_golden predictions")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
