#!/usr/bin/env python3
"""Compares JSON with docs/json.md: check_json.py CORTADO SOURCE_FOLDER.

docs/json.md ends with what `cortado list json` prints. Every field of the file of a program is in it. Every field that the commands below print
is in the section of its schema.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

COMMANDS = [
    "run all-gather --bytes 1KiB --json",
    "run all-gather --on sim --bytes 1KiB --json",
    "overlap all-gather --gemm 4096x512x512 --json",
    "overlap reduce-scatter --gemm 4096x512x512 --with tracker,nmc,mca --strategy serial,t3 --json",
    "plan all-gather --bytes 1KiB --variant bcst --prelaunch",
    "plan overlap reduce-scatter --gemm 1024x512x128 --dtype f16 --machine t3-ring-8 --strategy t3",
    "verify ag.json --json",
    "bench all-gather --on sim --sizes 1KiB,1000 --json",
    "bench copy --phases --on sim --sizes 1KiB --json",
    "bench all-to-all --ranks 4 --sizes 64KiB --among pcpy,swap --explain --json",
    "plan all-to-all --bytes 64KiB --ranks 4 --out-of-place --sizes 64KiB --among pcpy,swap --explain --json",
    "power --gemm 512x512x512 --ranks 2 --json --html page.html",
    "power all-gather --gemm 512x512x512 --strategy serial-dma --policy none --json",
    "overlap all-gather --gemm 4096x512x512 --why --json",
    "overlap all-gather --gemm 4096x512x512 --strategy ficco --explain --json",
    "overlap all-gather --map --n 512 --m 4096 --k 512 --json",
    "model llama-3.1-8b --phase prefill --tp 2 --tokens 64 --system auto,ideal --json",
    "serve-sim --model llama-3.1-8b --requests 5 --input 64 --output 4 --json",
    "show machine mi300x-8 --json",
    "packets --decode packets.txt --json",
    "reproduce dma-latte --json",
    "list machines --json",
    "list rules --json",
]

# Objects whose keys are names of things, not of fields.
FREE = {"times_us", "critical_path_us", "rows of own"}


def sections_of(text):
    """Words in backquotes by schema: a section speaks of the schema that it names first."""
    sections = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        schemas = re.findall(r"`(cortado\.[a-z_-]+)`", section)
        if schemas:
            words = {part for name in re.findall(r"`([^`]+)`", section) for part in name.split(".")}
            sections.setdefault(schemas[0], set()).update(words)
    return sections


def keys_of(value, inside=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            if inside in FREE or (inside == "power_W" or inside == "energy_J"):
                continue
            yield key
            yield from keys_of(inner, f"rows of {inside}" if key == "rows" and inside == "own" else key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, inside)


def main(arguments):
    cortado, root = str(pathlib.Path(arguments[0]).resolve()), pathlib.Path(arguments[1])
    document = (root / "docs/json.md").read_text()
    failures = []
    printed = subprocess.run([cortado, "list", "json"], stdout=subprocess.PIPE, check=True).stdout.decode()
    if not document.endswith("`cortado list json`. -->\n\n" + printed):
        failures.append("docs/json.md does not end with what `cortado list json` prints: run tools/update_golden")
    sections = sections_of(document)
    fields = re.findall(r'archive\.field\("(\w+)"', (root / "src/ir/json_fields.hpp").read_text())
    failures += [f"cortado.program: {field}" for field in fields if field not in sections["cortado.program"]]
    with tempfile.TemporaryDirectory() as folder:
        def output_of(command):
            return subprocess.run([cortado, *command.split()], cwd=folder, check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL).stdout.decode()

        output_of("plan all-gather --bytes 1KiB -o ag.json")
        pathlib.Path(folder, "packets.txt").write_text(output_of("packets ag.json --rank 0"))
        for command in COMMANDS:
            answer = json.loads(output_of(command))
            if not isinstance(answer.get("version"), int) or answer.get("schema") not in sections:
                failures.append(f"{command}: no schema or version that docs/json.md knows")
                continue
            unknown = set(keys_of(answer)) - sections[answer["schema"]]
            failures += [f"{command}: {key} is not in docs/json.md" for key in sorted(unknown)]
    if failures:
        print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
