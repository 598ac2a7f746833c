# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quick start's closing table, from what `attnc check --json` and `attnc bench --json` wrote.

  quickstart-report.py FOLDER TITLE"""

import json
import os
import sys


def main(folder, title):
    with open(os.path.join(folder, "check.json")) as stream:
        check = json.load(stream)
    with open(os.path.join(folder, "bench.json")) as stream:
        bench = json.load(stream)
    limit = {"fma": f"its multiply-adds, {bench['fma_gflops']:.0f} GFLOP/s",
             "memory": f"its memory, {bench['memory_gbytes_per_s']:.0f} GB/s"}[bench["limit"]]
    rows = [
        ("job", title),
        ("shapes", bench["extents"]),
        ("largest error", f"{check['worst_error']:.2g}, bound {check['worst_bound']:.2g}, at {check['worst_place']}; "
                          f"{check['elements']} elements agree with the interpreter"),
        ("time", f"{bench['median_s'] * 1e3:.3f} ms on {bench['threads']} threads"),
        ("speed", f"{bench['gflops']:.1f} GFLOP/s, {bench['fraction_of_limit']:.0%} of the machine's limit ({limit})"),
        ("object, header", f"{folder}/bert_layer.o, {folder}/bert_layer.h"),
    ]
    width = max(len(name) for name, _ in rows)
    print()
    for name, text in rows:
        print(f"{name:{width}}  {text}")


main(*sys.argv[1:])
