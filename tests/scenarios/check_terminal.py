#!/usr/bin/env python3
"""What long commands show on a terminal, that they are silent in a pipe, and how an interrupt ends them: check_terminal.py
CORTADO.

No time is measured. Commands either wait for input that this script holds back, or have work for minutes and are ended.
"""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile

ERASE = "\r\x1b[K"
PROGRAM = ["plan", "all-gather", "--bytes", "1KiB", "--ranks", "2"]


class OnTerminal:
    """A command whose standard error is a terminal."""

    def __init__(self, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([CORTADO, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=slave)
        os.close(slave)
        self.shown = ""

    def read(self):
        """False at the end."""
        try:
            data = os.read(self.master, 4096)
        except OSError:  # how Linux says that the other side is closed
            data = b""
        self.shown += data.decode().replace("\r\n", "\n")
        return data != b""

    def wait_for(self, text):
        while text not in self.shown:
            if not self.read():
                raise AssertionError(f"'{text}' never came: {self.shown!r}")

    def finish(self, given=None):
        if given is None:
            self.process.wait()
            out = b""
        else:
            out = self.process.communicate(given)[0]
        while self.read():
            pass
        os.close(self.master)
        return out.decode(), self.process.returncode


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def check_ended(command):
    _, code = command.finish()
    expect(code == 130, f"exit code {code} instead of 130")
    expect(command.shown.endswith(f"{ERASE}cortado: interrupted\n"), f"last words: {command.shown!r}")


def progress_while_reading():
    program = subprocess.run([CORTADO, *PROGRAM], capture_output=True, check=True).stdout
    command = OnTerminal("verify", "-")
    piped = subprocess.Popen([CORTADO, "verify", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    command.wait_for(f"{ERASE}reading, 2 s")
    command.wait_for("reading, 3 s")
    out, code = command.finish(program)
    expect(code == 0 and "is proved correct" in out, out)
    expect(command.shown.endswith(ERASE), f"the line stays: {command.shown!r}")
    out, err = piped.communicate(program)
    expect(piped.returncode == 0 and b"is proved correct" in out, out)
    expect(err == b"", f"not silent in a pipe: {err}")


def progress_with_a_fraction():
    for name, arguments in (("simulating", ["run", "all-gather", "--on", "sim", "--bytes", "1KiB", "--iters", "1000000"]),
                            ("running", ["run", "all-gather", "--bytes", "1KiB", "--iters", "2000000"])):
        command = OnTerminal(*arguments)
        command.wait_for(f"{ERASE}{name}: ")
        command.wait_for(" %, ")
        command.process.send_signal(signal.SIGINT)
        check_ended(command)


def products_in_software_are_announced():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([CORTADO, "plan", "overlap", "all-gather", "--gemm", "1024x1024x1024", "--ranks", "2", "--strategy",
                        "hetero-fused-1d", "-o", "product.json"], cwd=folder, capture_output=True, check=True)
        process = subprocess.Popen([CORTADO, "run", "product.json", "--iters", "100000"], cwd=folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = process.stderr.readline().decode()
        # 2 ranks, 2 * 1024^3 flops each, 100,000 times.
        expect(re.match(r"cortado: 429 TFLOP of GEMMs will run in software on this computer: about \d+ (minutes|hours)"
                        r" at the .*FLOP/s measured here; --iters 1 takes least time;"
                        r" --on sim predicts the time on GPUs within seconds\n", line),
               line)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        expect((process.returncode, out, err) == (130, b"", b"cortado: interrupted\n"),
               f"{process.returncode}, {out}, {err}")


def interrupted_while_planning():
    for number in (signal.SIGTERM, signal.SIGHUP):
        interrupted_while_planning_by(number)


def interrupted_while_planning_by(number):
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder, "machine.toml")
        os.mkfifo(machine)
        command = OnTerminal(*PROGRAM, "--machine", str(machine), "-o", f"{folder}/out.json")
        writer = os.open(machine, os.O_WRONLY)
        command.wait_for(f"{ERASE}planning, ")
        command.process.send_signal(number)
        check_ended(command)
        os.close(writer)
        expect(os.listdir(folder) == ["machine.toml"], os.listdir(folder))


def interrupted_in_a_pipe():
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder, "machine.toml")
        os.mkfifo(machine)
        collective = ["all-gather", "--bytes", "1KiB"]
        for arguments in (["plan", *collective], ["plan", "--explain", *collective], ["run", *collective],
                          ["run", "--on", "sim", *collective], ["bench", "all-gather"], ["demo"]):
            process = subprocess.Popen([CORTADO, *arguments, "--machine", machine], cwd=folder, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            writer = os.open(machine, os.O_WRONLY)  # returns when the command has opened it
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
            os.close(writer)
            expect((process.returncode, out, err) == (130, b"", b"cortado: interrupted\n"),
                   f"{arguments[0]}: {process.returncode}, {out}, {err}")


def a_long_study_shows_itself_and_ends_at_once():
    question = ["overlap", "all-gather", "--gemm", "65536x1024x1024", "--strategy", "hetero-unfused-1d", "--chunks", "4096"]
    command = OnTerminal(*question)
    command.wait_for("--chunks 4096 means 229376 copies in every schedule; proving them may take minutes\n")
    command.wait_for(f"{ERASE}predicting")
    command.process.send_signal(signal.SIGINT)
    check_ended(command)


CORTADO = str(pathlib.Path(sys.argv[1]).resolve())
for check in (progress_while_reading, progress_with_a_fraction, products_in_software_are_announced,
              interrupted_while_planning, interrupted_in_a_pipe, a_long_study_shows_itself_and_ends_at_once):
    print(check.__name__)
    check()
