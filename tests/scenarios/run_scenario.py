#!/usr/bin/env python3
"""Runs one scenario file (README.md has the format): run_scenario.py [--update] CORTADO FILE."""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ANY_LINES = "..."


class Step:
    """A command with what it must print."""

    def __init__(self, command):
        self.command = command
        self.out = []
        self.err = []
        self.exit = 0


def parse(text):
    """The file as a list of comment lines (str) and steps, in order."""
    parts = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            parts.append(Step(line[2:]))
        elif line == "" or line.startswith("#"):
            parts.append(line)
        else:
            step = next((part for part in reversed(parts) if isinstance(part, Step)), None)
            if step is None:
                raise ValueError(f"line {number}: output before the first command")
            mark, rest = line[0], line[2:]
            if mark == ">":
                step.out.append(rest)
            elif mark == "!":
                step.err.append(rest)
            elif mark == "?":
                step.exit = int(rest)
            else:
                raise ValueError(f"line {number}: starts with none of $ > ! ? #")
    return parts


def line_pattern(line):
    pieces = re.split(r"\{\{(.*?)\}\}", line)
    return "".join(piece if i % 2 else re.escape(piece) for i, piece in enumerate(pieces))


def matches(expected, actual):
    """Whether the actual lines fit the expected ones, where ANY_LINES stands for any number of lines."""
    pattern = "".join(r"(?:[^\n]*\n)*" if line == ANY_LINES else line_pattern(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def updated(expected, actual):
    """Expected lines made to fit: unchanged if they do, else the actual ones, keeping patterns that still match."""
    if matches(expected, actual):
        return expected
    patterns = [line for line in expected if "{{" in line]
    result = []
    for line in actual:
        kept = next((old for old in patterns if re.fullmatch(line_pattern(old), line)), None)
        result.append(kept if kept is not None else line)
    return result


def run(step, folder, environment):
    done = subprocess.run(["sh", "-c", step.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    lines = lambda raw: raw.decode("utf-8", "replace").splitlines()
    return lines(done.stdout), lines(done.stderr), done.returncode


def shown(out, err, code):
    return [f"> {line}" for line in out] + [f"! {line}" for line in err] + [f"? {code}"]


def render(parts):
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part + "\n"
            continue
        text += f"$ {part.command}\n"
        text += "".join(f"> {line}".rstrip() + "\n" for line in part.out)
        text += "".join(f"! {line}".rstrip() + "\n" for line in part.err)
        text += f"? {part.exit}\n" if part.exit != 0 else ""
    return text


def main(arguments):
    update = "--update" in arguments
    cortado, file = [a for a in arguments if a != "--update"]
    path = pathlib.Path(file).resolve()
    parts = parse(path.read_text())
    environment = dict(os.environ, SCENARIOS=str(path.parent), LC_ALL="C",
                       PATH=f"{pathlib.Path(cortado).resolve().parent}:{os.environ['PATH']}")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        environment["XDG_CACHE_HOME"] = f"{folder}/.cache"
        for step in parts:
            if not isinstance(step, Step):
                continue
            out, err, code = run(step, folder, environment)
            # Trailing blanks cannot be seen in a scenario file.
            out, err = ([line.rstrip() for line in lines] for lines in (out, err))
            if matches(step.out, out) and matches(step.err, err) and code == step.exit:
                continue
            if update:
                step.out, step.err, step.exit = updated(step.out, out), updated(step.err, err), code
                continue
            failures += 1
            print(f"{path.name}: $ {step.command}")
            print("\n".join(difflib.unified_diff(shown(step.out, step.err, step.exit), shown(out, err, code),
                                                 "expected", "actual", lineterm="")))
    if update:
        path.write_text(render(parts))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
