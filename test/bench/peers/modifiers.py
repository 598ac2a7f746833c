#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scores and masks cost: attnc with them beside attnc without, and PyTorch's FlexAttention beside both.

    ATTNC=build/bin/attnc build/peers/bin/python test/bench/peers/modifiers.py [--threads 1,2] [--seconds 3]

Each kernel has a process of its own. All of a group take turns, a fraction of a second each.
"""
import argparse
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
import pathlib

from cases import Case, prefill
from compare import Worker

here = pathlib.Path(__file__).resolve().parent
causal = prefill(2048, 128, mask="causal")
plain = prefill(8192, 64)
packed = prefill(4096, 64, mask="causal")
decoded = Case("decode of 4096 contiguous keys", heads=32, kv_heads=8, queries=1, keys=4096, width=128, dtype="bf16")
served = dataclasses.replace(decoded, name="window of 4096 with soft-cap and sinks, paged, of 16384", keys=16384,
                             mask="window", score="sinks", storage="paged", window=4096)


def named(case, name, **more):
    return dataclasses.replace(case, name=f"{case.name} {name}", **more)


# The first of each group is what the others are compared with.
GROUPS = [
    [causal, named(causal, "soft-cap", score="softcap"), named(causal, "ALiBi", score="alibi"),
     named(causal, "soft-cap and ALiBi", score="both")],
    [plain, named(plain, "window of 256", mask="window")],
    [packed, dataclasses.replace(packed, name="prefill D=64 S=4096 eight documents", mask="documents")],
    [decoded, served],
]


def compile_seconds(case):
    """Seconds of `attnc compile`, a process of its own, for the case's kernel."""
    kernel = "served" if case.score == "sinks" else case.mask if case.score == "plain" else case.score
    command = [os.environ["ATTNC"], "compile", here / "kernels.attn", f"--kernel={kernel}", "-D", f"E={case.width}",
               "-D", f"R={case.group}", *os.environ.get("ATTNC_OPTIONS", "").split(), "-o"]
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([*command, folder], check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


def show(group, threads, seconds, peers):
    workers = []
    for case in group:
        for peer in ("attnc", "torch flex") if peers else ("attnc",):
            worker = Worker(peer, case, threads)
            worker.wait()
            if "problem" in worker.facts:
                print(f"  {case.name}: {peer}: {worker.facts['problem']}", file=sys.stderr, flush=True)
                worker.close()
            else:
                workers.append((case, worker))
    rounds = 10
    for _ in range(rounds):
        for _, worker in workers:
            worker.sample(seconds / rounds)
    times = {(case.name, worker.name): statistics.median(worker.seconds) for case, worker in workers}
    facts = {(case.name, worker.name): worker.facts for case, worker in workers}
    for _, worker in workers:
        worker.close()
    first = group[0]
    base = times[first.name, "attnc"]
    for case in group:
        ours = times[case.name, "attnc"]
        rate = (case.operations() / ours) / (first.operations() / base)
        row = [case.name, threads, f"{ours * 1e3:.3g}", f"{ours / base:.2f}", f"{rate:.2f}", f"{compile_seconds(case):.2f}"]
        if peers:
            other, more = times.get((case.name, "torch flex")), facts.get((case.name, "torch flex"), {})
            row += [f"{other * 1e3:.3g}", f"{other / ours:.2f}", f"{more['first_call_s']:.1f}"] if other else ["failed"] * 3
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    return {worker.facts["version"] for _, worker in workers if "version" in worker.facts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=3, help="how long to measure each kernel")
    parser.add_argument("--group", type=int, help="only one group, counted from 0")
    parser.add_argument("--no-peers", action="store_true", help="attnc only")
    options = parser.parse_args()
    print(f"load when started {os.getloadavg()[0]:.1f}\n")
    head = ["case", "threads", "median ms", "time over the first", "rate over the first", "compile, s"]
    head += [] if options.no_peers else ["Flex, median ms", "Flex over attnc", "Flex's first call, s"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    versions = set()
    for group in GROUPS if options.group is None else [GROUPS[options.group]]:
        for threads in map(int, options.threads.split(",")):
            versions |= show(group, threads, options.seconds, not options.no_peers)
    if versions:
        print(f"\nPyTorch {', '.join(versions)}")


if __name__ == "__main__":
    main()
