#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attnc's kernels beside other libraries; started by tools/bench.

Each library has a process of its own that holds one case; they take turns within a case, a fraction of a second each,
and stand still while it is another's turn. The limits of the machine are measured in between.
"""
import argparse
import dataclasses
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import pathlib

from cases import all_cases

here = pathlib.Path(__file__).resolve().parent
PEERS = {
    "attnc": "ours:attention",
    "torch sdpa": "torch_peers:sdpa",
    "torch flex": "torch_peers:flex",
    "torch layer": "torch_peers:layer",
    "torch layer compiled": "torch_peers:layer_compiled",
    "ort attention": "onnx_peers:attention",
    "ort mha": "onnx_peers:multi_head",
    "ort gqa": "onnx_peers:group_query",
    "openvino": "other_peers:openvino",
    "jax": "other_peers:jax",
    "iree": "other_peers:iree",
    "ggml": "ggml_peer:attention",
}


# What tells attnc and PyTorch's libraries to do with AVX2; others take what the processor has.
AVX2 = {"ATTNC_TARGET": "x86-64-v3", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


class Worker:
    """A peer's process; it only runs while it is asked."""

    def __init__(self, name, case, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.name, self.seconds = name, []
        self.process = subprocess.Popen(
            [sys.executable, here / "worker.py", PEERS[name], json.dumps(dataclasses.asdict(case)), str(threads)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)

    def wait(self):
        """Until it is prepared; others may prepare themselves meanwhile."""
        self.facts = self.answer()
        self.stop()

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"problem": f"the process ended with {self.process.wait()}"}

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)

    def sample(self, seconds):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        self.seconds += self.answer().get("seconds", [])
        self.stop()

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


def limits(threads, size):
    """FMA operations per second, and bytes where so many are read again and again."""
    run = subprocess.run([os.environ["ATTNC"], "bench", "--limits", f"--threads={threads}", f"--working-set={size:.0f}", "--json",
                          "--seconds=0.1", "--target=" + os.environ.get("ATTNC_TARGET", "host")], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


def summary(worker, case):
    times = worker.seconds
    median = statistics.median(times)
    return {"peer": worker.name, "min_s": min(times), "median_s": median, "calls": len(times),
            "spread": statistics.median(abs(t - median) for t in times) / median,
            "gflops": case.operations() / median / 1e9, "gbytes_per_s": case.bytes() / median / 1e9, **worker.facts}


def compare(case, names, threads, seconds):
    workers = [Worker(name, case, threads) for name in names]
    for worker in list(workers):
        worker.wait()
        if "problem" in worker.facts:
            print(f"  {worker.name}: {worker.facts['problem']}", file=sys.stderr, flush=True)
            worker.close()
            workers.remove(worker)
    measured = []
    rounds = 5
    for _ in range(rounds):
        measured.append(limits(threads, case.bytes()))
        for worker in workers:
            worker.sample(seconds / rounds)
    for worker in workers:
        worker.close()
    results = [summary(worker, case) for worker in workers if worker.seconds]
    fma, read = (statistics.median(m[k] for m in measured) for k in ("fma_gflops", "memory_gbytes_per_s"))
    for result in results:
        share = {"fma": result["gflops"] / fma, "memory": result["gbytes_per_s"] / read}
        result["limit"] = max(share, key=share.get)
        result["fraction_of_limit"] = share[result["limit"]]
    return {"case": case.name, "threads": threads, "fma_gflops": fma, "memory_gbytes_per_s": read, "results": results}


def show(report):
    """A line of the table for attnc and its best peer, and the others' times behind it."""
    ours = next((r for r in report["results"] if r["peer"] == "attnc"), None)
    peers = sorted((r for r in report["results"] if r["peer"] != "attnc"), key=lambda r: r["median_s"])
    if not ours:
        return print(f"| {report['case']} | {report['threads']} | failed |", flush=True)
    best = f"{peers[0]['median_s'] / ours['median_s']:.2f} ({peers[0]['peer']})" if peers else "none"
    others = ", ".join(f"{r['peer']} {r['median_s'] * 1e3:.3g}" for r in peers)
    print(f"| {report['case']} | {report['threads']} | {ours['min_s'] * 1e3:.3g} | {ours['median_s'] * 1e3:.3g} | "
          f"{ours['spread'] * 100:.0f} % | {ours['fraction_of_limit'] * 100:.0f} % {ours['limit']} | {best} | {others} |",
          flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="", help="only cases whose name contains a match of this expression")
    parser.add_argument("--peer", default="", help="only peers whose name matches (attnc always runs)")
    parser.add_argument("--avx2", action="store_true", help="attnc and PyTorch only, with AVX2 and not more")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--seconds", type=float, default=2, help="how long to measure each peer on each case")
    parser.add_argument("--json", help="also write everything measured to this file")
    parser.add_argument("--list", action="store_true", help="list the cases and the peers")
    return parser.parse_args()


def main():
    options = arguments()
    cases = [case for case in all_cases() if re.search(options.case, case.name)]
    names = [name for name in PEERS if name == "attnc" or re.search(options.peer, name)]
    if options.avx2:
        os.environ.update(AVX2)
        names = [name for name in names if name == "attnc" or name.startswith("torch")]
    if options.list:
        print("\n".join(["cases:", *("  " + case.name for case in cases), "peers:", *("  " + name for name in names)]))
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| case | threads | min ms | median ms | spread | of the limit | best peer's time / ours | peers, median ms |")
    print("|---|---|---|---|---|---|---|---|")
    reports = []
    for case in cases:
        for threads in map(int, options.threads.split(",")):
            reports.append(compare(case, names, threads, options.seconds))
            show(reports[-1])
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(reports, indent=1))
    versions = {r["peer"]: r["version"] for report in reports for r in report["results"] if "version" in r}
    print("\nVersions: " + ", ".join(f"{peer} {version}" for peer, version in sorted(versions.items())))


if __name__ == "__main__":
    main()
