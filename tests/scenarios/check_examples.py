#!/usr/bin/env python3
"""Runs every example that the help of every subcommand shows, in an order that makes files before they are read."""

import re
import subprocess
import sys


def output(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def main():
    subcommands = re.findall(r"^  (\w+) ", output("cortado --help").split("Subcommands:")[1], re.MULTILINE)
    examples = []
    for name in subcommands:
        text = output(f"cortado {name} --help").split("Examples:\n")[1]
        examples += re.findall(r"^  (\S.*)$", text, re.MULTILINE)
    failed = 0
    for command in sorted(examples, key=lambda text: " -o " not in text):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failed += 1
            print(f"{command}\n  exit code {done.returncode}: {done.stderr}")
    print(f"examples of {', '.join(subcommands)}: {'all' if failed == 0 else 'not all'} work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
