# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of `attnc bench --json` for causal attention with H=2, S=T=128, E=F=32."""
import json
import sys

with open(sys.argv[1]) as stream:
    report = json.load(stream)
for field in ("median_s", "min_s", "spread", "gflops", "gbytes_per_s", "limit", "fraction_of_limit"):
    assert field in report, field
assert 0 < report["min_s"] <= report["median_s"]
assert report["limit"] in ("fma", "memory")
assert report["fraction_of_limit"] > 0  # How large it is says nothing on a loaded machine.
# Two contractions over the lower triangle with its diagonal.
operations = 2 * 2 * 2 * 32 * (128 * 129 / 2)
assert abs(report["gflops"] * report["median_s"] * 1e9 / operations - 1) < 1e-6
