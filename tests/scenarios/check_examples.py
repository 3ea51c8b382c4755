#!/usr/bin/env python3
"""Runs examples that the help of commands shows: check_examples.py CORTADO PART PARTS.

The examples of all commands are dealt out in turn, so that PARTS calls run every one of them once. Before an example
come those that write the files it reads, whichever part they belong to.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time


# What another test computes already: accuracy_test; explore_test and web/test (this one would serve for ever);
# scenario.node, which sanitizers cannot follow.
ELSEWHERE = {"cortado reproduce all --markdown accuracy.md",
             "cortado explore --port 8080",
             "cortado node -- cortado run all-gather --bytes 1MiB --on kfd",
             "cortado node --races --adversarial --seed 7 -- cortado run all-to-all --bytes 64KiB --on kfd"}


def examples_of(output):
    commands = output("cortado --help").split("Commands:\n")[1].split("\n\n")[0]
    examples = []
    for name in [*re.findall(r"^  ([\w-]+) ", commands, re.MULTILINE), "completion"]:
        text = output(f"cortado {name} --help").split("Examples:\n")[1].replace(" \\\n    ", " ")
        examples += re.findall(r"^  (\S.*)$", text, re.MULTILINE)
    assert ELSEWHERE <= set(examples), "an example that is said to run elsewhere is gone"
    return [example for example in examples if example not in ELSEWHERE]


def in_order(command, makers, done):
    """The examples that the command needs and that are not done yet, and then itself."""
    if command in done:
        return
    done.add(command)
    for file, maker in makers.items():
        if re.search(rf"(?<!\S){re.escape(file)}(?!\S)", command):
            yield from in_order(maker, makers, done)
    yield command


def main(arguments):
    cortado, part, parts = arguments[0], int(arguments[1]), int(arguments[2])
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LC_ALL="C", XDG_CACHE_HOME=f"{folder}/.cache",
                           PATH=f"{pathlib.Path(cortado).resolve().parent}:{os.environ['PATH']}")
        run = lambda command: subprocess.run(command, shell=True, cwd=folder, env=environment,
                                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        examples = examples_of(lambda command: run(command).stdout)
        makers = {file: command for command in examples for file in re.findall(r" -o (\S+)", command)}
        done = set()
        for command in examples[part::parts]:
            for each in in_order(command, makers, done):
                start = time.monotonic()
                finished = run(each)
                print(f"{time.monotonic() - start:6.1f} s  {each}")
                if finished.returncode != 0:
                    failed += 1
                    print(f"  exit code {finished.returncode}: {finished.stderr}")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
