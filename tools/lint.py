# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the repository that no compiler checks: licence lines, machine paths, tests that check nothing, constraints
without a verifier or a test."""

import os
import re
import subprocess
import sys

SOURCE = (".cpp", ".h", ".c", ".td", ".py", ".cmake", ".in")
LIT = (".attn", ".mlir", ".test", ".c", ".cpp", ".yaml")
MACHINE = re.compile(r"/(?:home|root|work|Users)/(?=\w)|\bp[y]pi\.org|\bdeb\.d[e]bian\.org")
DIRECTIVE = re.compile(r"^\s*(?://|#|;)?\s*([A-Z][A-Z0-9_-]*?)((?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?)(?:\{LITERAL\})?:")
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")


def files(root):
    if os.path.isdir(os.path.join(root, ".git")) or os.path.isfile(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                                cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
        return sorted(name for name in listed if name and os.path.isfile(os.path.join(root, name)))
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names)


def is_source(name, text):
    if name.startswith("test/") and name.endswith((".c", ".cpp")) and "RUN:" in text:
        return False
    return name.endswith(SOURCE) or os.path.basename(name) == "CMakeLists.txt" or text.startswith("#!")


def run_lines(lines):
    """RUN lines with their continuations joined."""
    joined, open_line = [], False
    for line in lines:
        if "RUN:" not in line:
            continue
        command = line.split("RUN:", 1)[1].strip()
        if open_line:
            joined[-1] += " " + command
        else:
            joined.append(command)
        open_line = command.endswith("\\")
        if open_line:
            joined[-1] = joined[-1][:-1]
    return joined


def check_test(name, text):
    lines = text.split("\n")
    runs = run_lines(lines)
    extension = os.path.splitext(name)[1]
    if not runs:
        return
    if extension not in LIT:
        yield f"{name}: has RUN lines, but lit does not run {extension or 'such'} files"
    read = set()
    for run in runs:
        for command in run.split("|"):
            if "FileCheck" in command and "%s" in command:
                given = PREFIXES.findall(command)
                read.update(p for group in given for p in group.split(","))
                if not given:
                    read.add("CHECK")
    reported = set()
    for line in lines:
        found = DIRECTIVE.match(line)
        if not found or found.group(1) in read | {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE"}:
            continue
        prefix, suffix = found.groups()
        if (suffix or prefix.startswith("CHECK")) and prefix not in reported:
            reported.add(prefix)
            yield f"{name}: no RUN line reads {prefix}{suffix if prefix == 'CHECK' else ''}"
    if re.search(r"expected-(error|warning|remark|note)(-re)?\s*(@|\d|\{\{)", text) and "verify-diagnostics" not in " ".join(runs):
        yield f"{name}: expected-error without --verify-diagnostics"


CONSTRAINT = re.compile(r"\b[a-z]+_c\d+\b")


def check_constraints(root):
    """Each constraint id of an ODS file stands in a verifier beside it and in a test of the dialect."""
    texts = {}
    for name in files(root):
        if name.startswith("test/teeth/inputs/"):
            continue
        folder = os.path.dirname(name)
        kind = "ods" if name.endswith(".td") else "verifier" if folder == "dialects/attn" and name.endswith(".cpp") else \
            "test" if folder == "test/dialect" else None
        if kind:
            with open(os.path.join(root, name), encoding="utf-8") as stream:
                texts.setdefault(kind, []).append(stream.read())
    found = {kind: set(CONSTRAINT.findall("\n".join(parts))) for kind, parts in texts.items()}
    for constraint in sorted(found.get("ods", set())):
        for kind in ("verifier", "test"):
            if constraint not in found.get(kind, set()):
                yield f"{constraint}: a constraint without a {kind}"


def check(root):
    yield from check_constraints(root)
    for name in files(root):
        if name.startswith("test/teeth/inputs/"):
            continue
        try:
            with open(os.path.join(root, name), encoding="utf-8") as stream:
                text = stream.read()
        except UnicodeDecodeError:
            continue
        if text.strip() and is_source(name, text) and "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" not in text[:400]:
            yield f"{name}: no SPDX line"
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE.search(line):
                yield f"{name}:{number}: a path of one machine, or the host of a package registry"
        if name.startswith("test/") and not name.startswith("test/unit/"):
            yield from check_test(name, text)


def main():
    faults = list(check(sys.argv[1]))
    print("\n".join(faults + [f"{len(faults)} faults"]))
    return 1 if faults else 0


sys.exit(main())
