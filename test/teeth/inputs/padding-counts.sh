#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `attnc check SPEC OPTIONS`, with kernels whose keys behind a row's last one stay in the tile. The target is named, so that
# tiles, and with them the extents that are tried, are the same on every machine.
set -e
spec=$1
shift
base=${spec%.attn}
attnc inspect "$spec" --after=lower-to-cpu --target=x86-64-v3 |
  sed 's/arith.cmpi slt, \(.*\) : vector<\([0-9]*\)xi32>/arith.cmpi sle, \1 : vector<\2xi32>/' > "$base.mlir"
attnc compile --target=x86-64-v3 "$base.mlir" -o "$(dirname "$spec")"
attnc check "$spec" --object="$base.o" "$@"
