# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `attnc inspect` on each program of a file and compares what it says, word for word.

Programs are separated by lines `// -----`. Lines `//! LINE:COLUMN: error: text` (or warning, note)
stand for the messages, in order; source lines and carets are not compared. A program with an
error must be refused, and one without must be taken."""

import difflib
import os
import re
import subprocess
import sys
import tempfile

SEPARATOR = "// -----"
MESSAGE = re.compile(r"^(?:.*?program\.attn:)?(\d+:\d+: (?:error|warning|note): .*)$")


def said(text, folder):
    path = os.path.join(folder, "program.attn")
    with open(path, "w") as stream:
        stream.write(text)
    run = subprocess.run(["attnc", "inspect", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    messages = [found.group(1) for found in map(MESSAGE.match, run.stderr.split("\n")) if found]
    refused = any(": error: " in message for message in messages)
    if refused != (run.returncode != 0) or run.returncode < 0:
        messages.append(f"exit status {run.returncode}")
    return messages


def main():
    with open(sys.argv[1]) as stream:
        programs = stream.read().split(SEPARATOR + "\n")
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, program in enumerate(programs, 1):
            expected = [line[4:] for line in program.split("\n") if line.startswith("//! ")]
            actual = said("".join(line for line in program.splitlines(True) if not line.startswith("//! ")), folder)
            if actual != expected:
                faults += 1
                print(f"program {number}:", *difflib.unified_diff(expected, actual, "expected", "said", lineterm=""), sep="\n")
    print(f"{len(programs)} programs, {faults} differ")
    return 1 if faults or not programs else 0


sys.exit(main())
