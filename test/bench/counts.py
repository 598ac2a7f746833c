#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels for CUDA devices come to, counted in the PTX simulator: exact numbers, the same on every machine.

  python3 test/bench/counts.py [build/bin/attnc] [--ptxas=PATH] [--length=256] [--only=KERNEL] [--limits=FILE | --update=FILE]

Prints a table. With --limits it fails where a count is larger than in the file, which --update writes. Without ptxas
the columns of registers are empty. Numbers of an SM are those of sm_80.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
positional = [a for a in sys.argv[1:] if not a.startswith("--")]
attnc = positional[0] if positional else os.path.join(here, "../../build/bin/attnc")
ptxas = options["ptxas"] if "ptxas" in options else shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")

# kernel, extents, pairs that are seen (elements of a projection), and multiply-adds that they need at least.
N = int(options.get("length", 256))
triangle = N * (N + 1) // 2
CASES = [
    ("prefill64", f"B=1,H=1,S={N},T={N}", triangle, triangle * 128),
    ("prefill128", f"B=1,H=1,S={N},T={N}", triangle, triangle * 256),
    ("prefill256", f"B=1,H=1,S={N},T={N}", triangle, triangle * 512),
    ("full128", f"B=1,H=1,S=64,T={N}", 64 * N, 64 * N * 256),
    ("capped", f"B=1,H=1,S={N},T={N}", triangle, triangle * 256),
    ("decode", f"B=1,G=1,T={N}", 8 * N, 8 * N * 256),
    ("decode_bytes", f"B=1,G=1,T={N}", 8 * N, 8 * N * 256),
    ("latent", f"B=1,S=1,H=16,T={N}", 16 * N, 16 * N * (576 + 512)),
    ("exact", f"B=1,H=1,S={N},T={N}", triangle, triangle * 128),
    ("projection", "S=128,D=512,N=128", 128 * 128, 128 * 128 * 512),
    ("projection_ragged", "B=64,D=512,N=128", 512 * 128, 512 * 128 * 512),  # 64 sequences with 512 rows in all
    ("projection_exact", "S=64,D=64,N=64", 64 * 64, 64 * 64 * 64),
]
PRODUCT = 16 * 8 * 16  # multiply-adds of an mma.sync


def count(kernel, extents, folder):
    """Counters of each launch, and registers and spilled bytes of each entry."""
    spec = os.path.join(here, "device.attn")
    common = [spec, f"--kernel={kernel}", "--target=cuda:sm_80"]
    report = os.path.join(folder, "counts.json")
    run([attnc, "run", *common, "--simulate", f"--counts={report}", "--random", "--set", extents, "--out", folder])
    registers = {}
    if ptxas:
        run([attnc, "compile", *common, "--emit=ptx", "-o", folder])
        said = run([ptxas, "-v", "-arch=sm_80", os.path.join(folder, "device.ptx"), "-o", os.path.join(folder, "device.cubin")])
        for entry, words in re.findall(r"entry function '(\w+)'(.*?Used \d+ registers)", said, re.S):
            registers[entry] = int(re.search(r"Used (\d+)", words)[1]), int(re.search(r"(\d+) bytes spill stores", words)[1])
    with open(report, encoding="utf-8") as file:
        return json.load(file), registers


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stderr + done.stdout


def occupancy(launch, registers):
    """Warps of an SM at once, of 64."""
    warps = launch["threads"] // 32
    blocks = min(32, 64 // warps, (164 << 10) // (launch["shared_bytes"] + 1024))
    if registers:
        blocks = min(blocks, 65536 // (-(-registers * 32 // 256) * 256 * warps))
    return blocks * warps


def bounds(launch):
    """Cycles of one SM, by what they are spent on."""
    classes = launch["classes"]
    return {
        "tensor": launch["matrix_multiply_adds"] / 1024,
        "exp": classes["special"] * 32 / 16,
        "shared": launch["shared"]["passes"],
        "issue": launch["warp_instructions"] / 4,
        "fma": (classes["fma"] + classes["float"]) * 32 / 64,
    }


def measure(case):
    kernel, extents, pairs, least = case
    with tempfile.TemporaryDirectory() as folder:
        launches, registers = count(kernel, extents, folder)
    main = max(launches, key=lambda launch: launch["warp_instructions"])
    products = sum(launch["matrix_multiply_adds"] for launch in launches)
    instructions = sum(launch["warp_instructions"] for launch in launches)
    shared = main["shared"]
    mmas = max(1, products // PRODUCT)
    used, spilled = registers.get(main["kernel"], (0, 0))
    cycles = bounds(main)
    return {
        "mma": products / least,
        "shared": (shared["loaded_bytes"] + shared["stored_bytes"]) / mmas if products else 0,
        "conflicts": shared["conflicts"] / mmas if products else shared["conflicts"],
        "special": sum(launch["classes"]["special"] for launch in launches) * 32 / pairs,
        "instructions": instructions * 32 / pairs,
        "registers": used,
        "spilled": spilled,
        "warps": occupancy(main, used),
        "bound": max(cycles, key=cycles.get),
        "of": {name: value / max(cycles.values()) for name, value in cycles.items()},
    }


def row(name, m):
    of = ", ".join(f"{k} {v * 100:.0f} %" for k, v in sorted(m["of"].items(), key=lambda kv: -kv[1])[:3])
    numbers = [f"{m['mma']:.2f}", f"{m['shared']:.0f}", f"{m['conflicts']:.2f}"] if m["mma"] else ["–"] * 3
    registers = [str(m["registers"]), str(m["spilled"])] if m["registers"] else ["", ""]
    return "| " + " | ".join([name, *numbers, f"{m['special']:.1f}", f"{m['instructions']:.0f}", *registers, str(m["warps"]), of]) + " |"


def main():
    print("| kernel | multiply-adds / least | shared bytes / mma | conflicts / mma | special / pair | instructions / pair "
          "| registers | spilled | warps / SM | most cycles |\n|---|---|---|---|---|---|---|---|---|---|")
    table = {}
    for case in (case for case in CASES if options.get("only", case[0]) == case[0]):
        table[case[0]] = measure(case)
        print(row(case[0], table[case[0]]), flush=True)
    counted = ("mma", "shared", "conflicts", "special", "instructions")
    if "update" in options:
        limits = {name: {key: round(m[key], 3) for key in counted} for name, m in table.items()}
        with open(options["update"], "w", encoding="utf-8") as file:
            file.write(json.dumps(limits, indent=1) + "\n")
    if "limits" in options:
        with open(options["limits"], encoding="utf-8") as file:
            limits = json.load(file)
        worse = [f"{name}: {key} {m[key]:.3f}, the limit is {limits[name][key]}"
                 for name, m in table.items() for key in counted if m[key] > limits[name][key] * 1.001 + 0.001]
        worse += [f"{name}: {m['spilled']} bytes are spilled" for name, m in table.items() if m["spilled"]]
        if worse:
            sys.exit("worse than before\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
