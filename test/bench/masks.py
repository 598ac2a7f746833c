#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What masks cost: time per visible pair, beside attention without a mask in the same run.

  python3 test/bench/masks.py [build/bin/attnc] [--seconds=3]

Needs NumPy. Packed documents are compared with causal attention, whose place they take; all other masks with `full`.
Run it on a quiet machine.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
attnc = arguments[0] if arguments else os.path.join(root, "build/bin/attnc")
seconds = next((a.split("=")[1] for a in sys.argv[1:] if a.startswith("--seconds=")), "3")


def inputs(S):
    random = np.random.default_rng(0)
    doc = np.arange(S, dtype=np.int32) * 8 // S
    first = np.searchsorted(doc, doc).astype(np.int32)
    s, t = np.arange(S)[:, None], np.arange(S)
    keep = (first[:, None] <= t) & (t <= s)
    arrays = {name: random.standard_normal((S, 64), np.float32) for name in "qkv"}
    return dict(arrays, doc=doc, keep=keep, len=np.int32(S // 2), **{"from": first})


def pairs(S, given):
    s, t = np.arange(S)[:, None], np.arange(S)
    documents = given["keep"].sum()
    return {"full": S * S, "causal": (t <= s).sum(), "window": ((t <= s) & (s - t < 256)).sum(),
            "prefix": ((t <= s) | (t < S // 2)).sum(), "sinks": ((t <= s) & ((t < 64) | (s - t < 1024))).sum(),
            "by_id": documents, "by_offset": documents, "by_table": documents}


def table(S):
    given = inputs(S)
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, "all.npz")
        np.savez(archive, **given)
        command = [attnc, "bench", os.path.join(root, "test/bench/masks.attn"), "--json", "--threads=1",
                   f"--seconds={seconds}", f"--in={archive}"]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    times = {r["kernel"]: r["median_s"] for r in json.loads(run.stdout)}
    visible = pairs(S, given)
    for kernel, time in times.items():
        predicted = times["full"] * visible[kernel] / visible["full"]
        print(f"| {S} | {kernel} | {visible[kernel] / S / S * 100:.1f} % | {time * 1e3:.2f} | {time / predicted:.2f} | "
              f"{predicted / time * 100:.0f} % | {time / times['causal']:.2f} |", flush=True)


if __name__ == "__main__":
    print(f"load when started {os.getloadavg()[0]:.1f}\n")
    print("| S | mask | visible | median ms | time over predicted | rate of full | time over causal |")
    print("|---|---|---|---|---|---|---|")
    for S in (4096, 8192):
        table(S)
