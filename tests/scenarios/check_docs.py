#!/usr/bin/env python3
"""Runs the commands of a document and compares what they print: check_docs.py [--update] CORTADO FILE.md.

A block that is fenced as ```console holds lines `$ cortado ...` and, under each, what it prints on both outputs. Decimal
numbers (times, rates) may differ unless they are simulated; `...` stands for any number of lines. All blocks of a file run in one empty folder.
--update rewrites what differs, where no `...` stands for a part of it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from run_scenario import ANY_LINES, Step, matches

DECIMAL = re.compile(r" *\d+\.\d+")
# What is simulated comes out the same everywhere; what is measured does not.
SIMULATED = re.compile(r"cortado (reproduce|overlap|power|serve-sim|kv|bench features) ?(?!.*--on soft)|--explain|--on sim")


def steps_of(text):
    steps = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line[2:]))
            else:
                steps[-1].out.append(line.rstrip())
    return steps


def without_decimals(lines):
    return [line if line == ANY_LINES else DECIMAL.sub(" N.N", line) for line in lines]


def main(arguments):
    update = arguments[0] == "--update"
    cortado, file = arguments[1:] if update else arguments
    text = pathlib.Path(file).read_text()
    steps = steps_of(text)
    if not steps:
        print(f"{file}: no console block")
        return 1
    environment = dict(os.environ, LC_ALL="C", PATH=f"{pathlib.Path(cortado).resolve().parent}:{os.environ['PATH']}")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        environment["XDG_CACHE_HOME"] = f"{folder}/.cache"
        for step in steps:
            done = subprocess.run(["sh", "-c", step.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            actual = [line.rstrip() for line in done.stdout.decode("utf-8", "replace").splitlines()]
            as_shown = (lambda lines: lines) if SIMULATED.search(step.command) else without_decimals
            if not matches(as_shown(step.out), as_shown(actual)):
                shown = "\n".join([f"$ {step.command}", *step.out]) + "\n"
                if update and ANY_LINES not in step.out and text.count(shown) == 1:
                    text = text.replace(shown, "\n".join([f"$ {step.command}", *actual]) + "\n")
                    continue
                failures += 1
                print(f"{file}: $ {step.command}\nexpected:\n" + "\n".join(step.out) + "\nactual:\n" + "\n".join(actual))
    if update:
        pathlib.Path(file).write_text(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
