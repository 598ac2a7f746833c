# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the attentions of specs as `attnc inspect --emit=numpy` prints them, and compares with `attnc interpret` on the
same made-up inputs, at two sets of extents.

    python compare_numpy.py FOLDER SPEC..."""
import ast
import os
import re
import subprocess
import sys

import numpy as np

EXTENTS = [dict(B=2, G=2, R=3, H=3, S=5, T=17, M=13, C=16, N=20, L=70, E=8, F=6, D=24, P=4, W=9),
           dict(B=3, G=1, R=2, H=2, S=9, T=21, M=17, C=24, N=16, L=60, E=12, F=5, D=36, P=6, W=5)]
TOLERANCE = {"f": 2e-6, "h": 2e-3, "bf16": 2e-2}
BF16 = np.dtype("V2")


def numbers(array):
    """bf16 is stored as two bytes that NumPy has no type for."""
    if array.dtype != BF16:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def interpret(spec, name, extents, folder):
    """Inputs and results by name: the first made-up inputs that the program takes."""
    said = ""
    for chosen in (extents, [text for text in extents if text[:2] in ("B=", "S=", "T=")]):
        for shrink in range(8):
            run = subprocess.run(["attnc", "interpret", spec, f"--kernel={name}", "--random", f"--shrink={shrink}",
                                  "--set", ",".join(chosen), "--save-inputs", folder + "/in", "--out", folder + "/out"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if run.returncode == 0:
                return [{file[:-4]: np.load(f"{folder}/{part}/{file}") for file in os.listdir(f"{folder}/{part}")}
                        for part in ("in", "out")]
            said = run.stderr
    sys.exit(f"{spec}: {name}: {said}")


def compare(spec, function, module, text, folder):
    """What differs, as text."""
    name = function.name
    free = re.findall(r"^    ([A-Z][A-Za-z0-9]*)(?:_of = | = .*\.shape\[)", ast.get_source_segment(text, function), re.M)
    returned = function.body[-1].value
    results = [item.id for item in (returned.elts if isinstance(returned, ast.Tuple) else [returned])]
    for number, extents in enumerate(EXTENTS):
        place = f"{folder}/{os.path.basename(spec)}.{name}.{number}"
        given, expected = interpret(spec, name, [f"{axis}={extents[axis]}" for axis in free if axis in extents], place)
        tolerance = max((TOLERANCE["bf16"] if array.dtype == BF16 else TOLERANCE["h"] if array.dtype == np.float16 else
                         TOLERANCE["f"]) for array in (*given.values(), *expected.values()))
        arguments = [numbers(given[argument.arg.rstrip("_")]) for argument in function.args.args]
        got = module[name](*(array[()] if array.ndim == 0 else array for array in arguments))
        for result, array in zip(results, got if isinstance(got, tuple) else (got,)):
            want = numbers(expected[result.rstrip("_")]).astype(float)
            have = np.asarray(array, float)
            if have.shape != want.shape:
                yield f"{name}: {result} has shape {have.shape}, and not {want.shape}"
            elif not np.allclose(have, want, rtol=tolerance, atol=tolerance, equal_nan=True):
                yield f"{name}: {result} differs by up to {np.nanmax(np.abs(have - want)):.3g}"


def main(folder, specs):
    count, faults = 0, []
    for spec in specs:
        text = subprocess.run(["attnc", "inspect", spec, "--emit=numpy"], check=True, stdout=subprocess.PIPE, text=True).stdout
        module = {}
        exec(text, module)
        for function in ast.parse(text).body:
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("_"):
                count += 1
                faults += [f"{spec}: {fault}" for fault in compare(spec, function, module, text, folder)]
    print("\n".join(faults + [f"{count} programs, {len(faults)} differences"]))
    return 1 if faults or not count else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
