# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks random programs: generated code against the interpreter, on odd extents and adversarial inputs.

    python fuzz.py --seed=1 --count=200            # programs 1 to 200
    python fuzz.py --seed=17 --count=1 --print     # only print program 17

A program that is refused or that mismatches is shrunk: choice after choice is made plainer while it still fails. The
smallest one is printed with the commands that run it again. Everything follows from the seed."""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from generate import choose, plainer, program

BATCH = 10  # programs in one file


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="the first program")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--effort", default="1e4", help="largest number of operations of one case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many checks at a time")
    parser.add_argument("--check", default="attnc check", help="the command that checks a file")
    parser.add_argument("--print", action="store_true", help="print the programs and check nothing")
    parser.add_argument("--keep-going", action="store_true", help="shrink and print every failure, not the first only")
    return parser.parse_args()


class Check:
    def __init__(self, asked, folder):
        self.command = [*asked.check.split(), f"--effort={asked.effort}"]
        self.folder = folder

    def __call__(self, name, text):
        """Nothing when the programs of the file agree, else what was said."""
        path = os.path.join(self.folder, name + ".attn")
        with open(path, "w") as stream:
            stream.write(text)
        run = subprocess.run([self.command[0], *self.command[1:-1], path, self.command[-1]], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.remove(path)
        said = run.stdout
        if run.returncode == 0 and "no extents to try" not in said:
            return None
        return said + (f"ended by signal {-run.returncode}\n" if run.returncode < 0 else "")


def kind(said):
    """What went wrong, so that shrinking does not turn one fault into another."""
    for sign in ("ended by signal", "error:", "nothing compared", "no extents", "the bits of", "wrote outside", "refused inputs"):
        if sign in said:
            return sign
    return "mismatch"


def shrink(check, seed):
    choices = choose(seed)
    said = check(f"p{seed}", program(choices, f"p{seed}"))
    if said is None:
        return None
    smaller = True
    while smaller:
        smaller = False
        for candidate in plainer(choices):
            text = program(candidate, f"p{seed}")
            if text == program(choices, f"p{seed}"):
                choices = candidate
                continue
            found = check(f"p{seed}", text)
            if found is not None and kind(found) == kind(said):
                choices, said, smaller = candidate, found, True
                break
    return program(choices, f"p{seed}"), said


def main():
    asked = options()
    seeds = range(asked.seed, asked.seed + asked.count)
    if asked.print:
        print("\n".join(program(choose(seed), f"p{seed}") for seed in seeds))
        return 0
    failed, done = [], 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        check = Check(asked, folder)
        batches = [seeds[first:first + BATCH] for first in range(0, len(seeds), BATCH)]

        def run(batch):
            text = "\n".join(program(choose(seed), f"p{seed}") for seed in batch)
            if check(f"batch{batch[0]}", text) is None:
                return []
            return [seed for seed in batch if check(f"p{seed}", program(choose(seed), f"p{seed}")) is not None] or [batch[0]]

        for batch, bad in zip(batches, pool.map(run, batches)):
            done += len(batch)
            for seed in bad:
                failed.append(seed)
                if len(failed) > 1 and not asked.keep_going:
                    continue
                text, said = shrink(check, seed) or ("", "a program of this batch fails only beside others\n")
                print(f"{text}{said}fails: python {sys.argv[0]} --seed={seed} --count=1", flush=True)
    print(f"{done} programs, {len(failed)} fail" + (f": {' '.join(map(str, failed))}" if failed else ""))
    return 1 if failed or not done else 0


sys.exit(main())
