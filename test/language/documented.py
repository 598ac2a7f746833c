# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples of a page. A fence ```attn is a program that is taken without a warning and that
`attnc format` leaves as it is; ```attn refused is one that is refused, with the messages that the
fence ```text behind it shows."""

import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(attn(?: refused)?|text)\n(.*?)^```$", re.M | re.S)


def attnc(command, path):
    run = subprocess.run(["attnc", command, os.path.basename(path)], cwd=os.path.dirname(path), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return run.returncode, run.stdout, run.stderr


def faults_of(kind, text, shown, path):
    status, _, messages = attnc("inspect", path)
    if kind == "attn refused":
        if status != 1 or messages.strip() != shown.strip():
            yield f"refused with status {status} and\n{messages}"
        return
    if status != 0 or messages:
        yield f"not taken: {messages}"
    if attnc("format", path)[1] != text:
        yield "attnc format changes it"


def main():
    with open(sys.argv[1]) as stream:
        fences = FENCE.findall(stream.read())
    faults = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for position, (kind, text) in enumerate(fences):
            if kind == "text":
                continue
            count += 1
            path = os.path.join(folder, "example.attn")
            with open(path, "w") as stream:
                stream.write(text)
            shown = fences[position + 1][1] if kind == "attn refused" and position + 1 < len(fences) else ""
            for fault in faults_of(kind, text, shown, path):
                faults += 1
                print(f"{text}\n{fault}\n")
    print(f"{count} examples, {faults} faults")
    return 1 if faults or not count else 0


sys.exit(main())
