#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists the inner loops of an assembly file that multiply and add: a line for each, and a verdict at the end.

  python3 loops.py kernels.s [--function=NAME] [--vector=zmm|ymm|v]

An inner loop is a block that jumps to itself. Counted are its instructions, the multiply-adds on whole vectors, the
loads and broadcasts, and what it moves to and from the stack: a register block that fits spills nothing.
"""
import argparse
import re

FMA = re.compile(r"\s(vf[n]?m(?:add|sub)\d*ps|fml[as])\s")
STACK = re.compile(r"\(%rsp[,)]|\[(?:sp|x29)[],]")
FRAME = re.compile(r"\(%rbp[,)]")
MAKES_FRAME = re.compile(r"\smovq\s+%rsp, %rbp")
JUMP = re.compile(r"\s(j[a-z]+|b\.[a-z]+|cbn?z|tbn?z)\s.*?(\.L\w+)\s*$")
LABEL = re.compile(r"^(\.L\w+|[\w.]+):")
FUNCTION = re.compile(r"^([A-Za-z_][\w.]*):")
INSTRUCTION = re.compile(r"^\s+[a-z]")


def blocks(path):
    """(function, label, lines) of each basic block; a jump ends one, but the block's label stands until the next."""
    function, label, lines = None, None, []
    for line in open(path):
        line = line.split("#")[0].rstrip() if "%" in line else line.split("//")[0].rstrip()
        found = LABEL.match(line)
        if found:
            if lines:
                yield function, label, lines
            label, lines = found.group(1), []
            if FUNCTION.match(line):
                function = label
        elif INSTRUCTION.match(line):
            lines.append(line)
            if JUMP.search(line):
                yield function, label, lines
                label, lines = None, []
    if lines:
        yield function, label, lines


def framed(path):
    """Functions in which %rbp is the frame; in others it is a register like all."""
    return {function for function, _, lines in blocks(path) if any(MAKES_FRAME.search(line) for line in lines)}


def inner_loops(path):
    for function, label, lines in blocks(path):
        jump = JUMP.search(lines[-1])
        if label and jump and jump.group(2) == label:
            yield function, label, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assembly")
    parser.add_argument("--function", default="", help="only functions whose name contains this")
    parser.add_argument("--vector", default="", help="registers that hold a whole vector: zmm, ymm, v")
    options = parser.parse_args()
    spilling, frames = 0, framed(options.assembly)
    for function, label, lines in inner_loops(options.assembly):
        fma = sum(bool(FMA.search(line)) and options.vector in line for line in lines)
        if fma < 4 or options.function not in function:
            continue
        stack = sum(bool(STACK.search(line) or function in frames and FRAME.search(line)) for line in lines)
        spilling += stack > 0
        print(f"{function} {label}: {len(lines)} instructions, {fma} multiply-adds, {stack} on the stack")
    print(f"{spilling} loops spill")


if __name__ == "__main__":
    main()
