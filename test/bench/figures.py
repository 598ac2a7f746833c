#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of docs/performance.md: kernels against the limits of this machine, compile times, sizes.

  python3 test/bench/figures.py [build/bin/attnc] [--seconds=3]

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

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
attnc = arguments[0] if arguments else os.path.join(root, "build/bin/attnc")
seconds = next((a.split("=")[1] for a in sys.argv[1:] if a.startswith("--seconds=")), "3")

CASES = [
    ("attention, D=64, S=2048", "attention", ["-D", "E=64", "-D", "F=64", "--set", "B=1,H=8,S=2048,T=2048"]),
    ("attention, D=128, S=2048", "attention", ["-D", "E=128", "-D", "F=128", "--set", "B=1,H=8,S=2048,T=2048"]),
    ("attention, D=64, S=512", "attention", ["-D", "E=64", "-D", "F=64", "--set", "B=1,H=8,S=512,T=512"]),
    ("attention, D=64, S=128", "attention", ["-D", "E=64", "-D", "F=64", "--set", "B=1,H=8,S=128,T=128"]),
    ("attention, D=80, S=1000", "attention", ["-D", "E=80", "-D", "F=80", "--set", "B=1,H=8,S=1000,T=1000"]),
    ("causal layer, S=1024, D=1024, H=16", "../test/bench/layer", ["--set", "B=1,S=1024"]),
    ("BERT layer, S=1024, D=768", "bert_layer", ["-D", "D=768", "--set", "B=1,S=1024"]),
]

# Bytes of keys and values leave caches far behind.
DECODE = [
    ("decode", "contiguous", ["--set", "B=1,T=16384"]),
    ("decode", "paged", []),
    ("decode", "bf16", ["--set", "B=1,T=16384"]),
    ("decode", "i8", ["--set", "B=1,T=16384"]),
    ("a call", "call", ["--set", "B=1,T=1,E=8"]),
]


def bench(spec, options, threads):
    command = [attnc, "bench", os.path.join(root, "examples", spec + ".attn"), "--json", f"--threads={threads}",
               f"--seconds={seconds}", *options]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    reports = json.loads(run.stdout)
    return reports if isinstance(reports, list) else [reports]


def write_array(path, code, shape, data):
    """An array as .npy; `data` is repeated until it fills the shape."""
    count = struct.calcsize(code)
    for extent in shape:
        count *= extent
    header = f"{{'descr': '<{code.replace('i', 'i4').replace('f', 'f4')}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write((data * (count // len(data) + 1))[:count])


def pages(folder):
    """Inputs of `paged`: every page of the pool once, in no order."""
    rng = random.Random(1)
    numbers = struct.pack("<4099f", *(rng.gauss(0, 1) for _ in range(4099)))
    order = rng.sample(range(1024), 1024)
    arrays = {"q": ("f", (1, 32, 128), numbers), "kpool": ("f", (1024, 16, 8, 128), numbers),
              "vpool": ("f", (1024, 16, 8, 128), numbers), "page": ("i", (1, 1024), struct.pack("<1024i", *order))}
    for name, array in arrays.items():
        write_array(os.path.join(folder, name + ".npy"), *array)
    return [f"--in={name}={os.path.join(folder, name)}.npy" for name in arrays]


def decoding():
    print("\n| case | kernel | threads | median ms | min ms | spread | GB/s | of the memory's | memory GB/s |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        given = pages(folder)
        for title, kernel, options in DECODE:
            for threads in (1, 2):
                spec = "../test/bench/decode"
                for r in bench(spec, [f"--kernel={kernel}", *(options or given)], threads):
                    print(f"| {title} | {kernel} | {threads} | {r['median_s'] * 1e3:.4g} | {r['min_s'] * 1e3:.4g} | "
                          f"{r['spread'] * 100:.0f} % | {r['gbytes_per_s']:.1f} | "
                          f"{r['gbytes_per_s'] / r['memory_gbytes_per_s'] * 100:.0f} % | {r['memory_gbytes_per_s']:.1f} |", flush=True)


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
    with open("/proc/cpuinfo") as info:
        lines = info.read().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    print(f"{model}, {os.cpu_count()} cores; load when started {os.getloadavg()[0]:.1f}\n")
    kernels()
    decoding()
    compilation()
