# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spills.py PTXAS FOLDER SPEC[:KERNEL[:AXIS=EXTENT]]...: compiles specs for a CUDA device and assembles them, whole specs for each
card, single kernels for the first and the last; says what is spilled to local memory."""
import os
import re
import subprocess
import sys

# ptxas puts a word or two aside in kernels that use a fifth of the registers.
WORDS = 8
ptxas, folder, *specs = sys.argv[1:]
kernels, spilled = 0, []
for given in specs:
    spec, *rest = given.split(":")
    only = [f"--kernel={rest[0]}"] if rest else []
    only += [f"-D{extent}" for extent in rest[1:]]
    subprocess.run(["attnc", "compile", spec, *only, "--target=cuda:sm_80", "--emit=ptx", "-o", folder], check=True)
    ptx = os.path.join(folder, os.path.splitext(os.path.basename(spec))[0] + ".ptx")
    for arch in (80, 120) if rest else (80, 90, 100, 120):
        command = [ptxas, "-v", f"-arch=sm_{arch}", ptx, "-o", os.path.join(folder, "cubin")]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        for name, stores, loads in re.findall(r"properties for (\w+)\s.*?(\d+) bytes spill stores, (\d+) bytes spill loads", said):
            kernels += 1
            if int(stores) > WORDS or int(loads) > WORDS:
                spilled.append(f"{name}, sm_{arch}: {stores} bytes stored, {loads} loaded")
print(f"{kernels} kernels", *spilled, sep="\n")
sys.exit(bool(spilled) or not kernels)
