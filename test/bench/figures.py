#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of docs/performance.md: kernels against the limits of this machine, compile times, sizes.

  python3 test/bench/figures.py [build/bin/attnc] [--seconds=3] [--only=kernels,decode,compilation] [--targets=host]

Kernels of one spec and the limits alternate within one run of `attnc bench`. Run it on a quiet machine.
"""
import json
import os
import platform
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
attnc = arguments[0] if arguments else os.path.join(root, "build/bin/attnc")


def option(name, default):
    return next((a.split("=")[1] for a in sys.argv[1:] if a.startswith(f"--{name}=")), default)


seconds = option("seconds", "3")

CASES = [
    ("attention, D=64, S=2048", "attention", ["-D", "E=64", "-D", "F=64", "--set", "B=1,H=8,S=2048,T=2048"]),
    ("attention, D=128, S=2048", "attention", ["-D", "E=128", "-D", "F=128", "--set", "B=1,H=8,S=2048,T=2048"]),
    ("attention, D=64, S=512", "attention", ["-D", "E=64", "-D", "F=64", "--set", "B=1,H=8,S=512,T=512"]),
    ("attention, D=64, S=128", "attention", ["-D", "E=64", "-D", "F=64", "--set", "B=1,H=8,S=128,T=128"]),
    ("attention, D=80, S=1000", "attention", ["-D", "E=80", "-D", "F=80", "--set", "B=1,H=8,S=1000,T=1000"]),
    ("causal layer, S=1024, D=1024, H=16", "../test/bench/layer", ["--set", "B=1,S=1024"]),
    ("BERT layer, S=1024, D=768", "bert_layer", ["-D", "D=768", "--set", "B=1,S=1024"]),
]

def bench(spec, options, threads):
    command = [attnc, "bench", os.path.join(root, "examples", spec + ".attn"), "--json", f"--threads={threads}",
               f"--seconds={seconds}", *options]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    reports = json.loads(run.stdout)
    return reports if isinstance(reports, list) else [reports]


def write_pages(folder, count):
    """The page table of `paged`, `count` pages in no order, as an input file."""
    path = os.path.join(folder, f"pages{count}.npz")
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': (1, {count}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    order = random.Random(1).sample(range(count), count)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("page.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                      struct.pack(f"<{count}i", *order))
    return path


def decode():
    """One step over a cache. All kernels of a row group alternate in one run, so its ratios are of the same seconds."""
    print("\n| keys | target | threads | kernel | median ms | spread | GB/s | of the memory's | beside contiguous |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for keys in (16384, 65536): # f32 keys and values: 128 and 512 MiB
            given = ["--set", f"B=1,T={keys},N={keys // 16},W={keys // 16}", "--in", write_pages(folder, keys // 16)]
            for target in option("targets", "host").split(","):
                for threads in (1, 2):
                    reports = bench("../test/bench/decode", [*given, f"--target={target}"], threads)
                    contiguous = reports[0]["median_s"]
                    for r in reports:
                        beside = r["median_s"] / contiguous
                        beside = f"{beside:.2f} of its time" if r["kernel"] == "paged" else f"{1 / beside:.2f} times faster"
                        print(f"| {keys} | {target} | {threads} | {r['kernel']} | {r['median_s'] * 1e3:.2f} | {r['spread'] * 100:.0f} % | "
                              f"{r['gbytes_per_s']:.1f} | {r['gbytes_per_s'] / r['memory_gbytes_per_s'] * 100:.0f} % | "
                              f"{beside if r is not reports[0] else ''} |", flush=True)
        r = bench("../test/bench/call", ["--set", "B=1,T=1,E=8"], 1)[0]
        print(f"\nA call that has next to nothing to do: {r['median_s'] * 1e6:.1f} µs on one thread.")


def kernels():
    print("| case | kernel | threads | median ms | min ms | spread | GFLOP/s | of the limit | FMA peak |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, spec, options in CASES:
        for threads in (1, 2):
            for r in bench(spec, options, threads):
                print(f"| {title} | {r['kernel']} | {threads} | {r['median_s'] * 1e3:.2f} | {r['min_s'] * 1e3:.2f} | "
                      f"{r['spread'] * 100:.0f} % | {r['gflops']:.0f} | {r['fraction_of_limit'] * 100:.0f} % {r['limit']} | "
                      f"{r['fma_gflops']:.0f} |", flush=True)


def compilation():
    print("\n| spec | `attnc compile`, s: median of 5 | min | object, KiB |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for spec in ("causal_mha", "bert_layer", "gqa", "cross_attention"):
            times = []
            for _ in range(5):
                start = time.monotonic()
                subprocess.run([attnc, "compile", os.path.join(root, "examples", spec + ".attn"), "-o", folder], check=True)
                times.append(time.monotonic() - start)
            size = os.path.getsize(os.path.join(folder, spec + ".o")) / 1024
            print(f"| {spec} | {statistics.median(times):.2f} | {min(times):.2f} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    if "--help" in sys.argv:
        sys.exit(__doc__)
    with open("/proc/cpuinfo") as info:
        lines = info.read().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    print(f"{model}, {os.cpu_count()} cores; load when started {os.getloadavg()[0]:.1f}\n")
    parts = {"kernels": kernels, "decode": decode, "compilation": compilation}
    for part in option("only", ",".join(parts)).split(","):
        parts[part]()
