// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes that keep the meaning and choose nothing about machines.

#ifndef ATTN_OPTIMIZE_PASSES
#define ATTN_OPTIMIZE_PASSES

include "mlir/Pass/PassBase.td"

def Simplify : Pass<"attn-simplify", "::attn::ProgramOp"> {
  let summary = "renames into reads, known extents into numbers";
  let description = [{
    Afterwards no `attn.rename` is left, and an `attn.take` stands only on a value that is computed once and stored: both
    have become reads at other indices, so that later passes see which stored elements a value needs. Extents of axes
    whose declaration is a number are constants, maps of constants are constants, and each contraction that
    feeds a softmax, or mixes its weights, says so by its role.

    Separate from `attn-fuse`, because fusion looks for patterns and should not have to look through names.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def Fuse : Pass<"attn-fuse", "::attn::ProgramOp"> {
  let summary = "attention into attn.flash";
  let description = [{
    A softmax over the keys between score contractions and a mix becomes one `attn.flash`, and so does a mix of
    scores that are not normalised. A log-sum-exp of the same scores is a result of it. Weights that are read otherwise
    are `exp(score - logsumexp)`, computed apart, so that the mix never depends on who reads them.
    What is not fused is told by a remark, with the reason.

    ```mlir
    %w = attn.softmax %x over ["T"] : ...
    %o = attn.contract mix %w, %v over ["T"] : ...
    ```
    becomes
    ```mlir
    %o = attn.flash softmax queries(%q) keys(%k) contracted [["E"]] values(%v) over ["T"] : ... { ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ClassifyMask : Pass<"attn-classify-mask", "::attn::ProgramOp"> {
  let summary = "conditions on keys into ranges of keys";
  let description = [{
    The affine part of a flash's mask (comparisons of sums of indices and of integers that a row knows; and, or, not,
    quotients and remainders by constants) becomes ranges of keys, by MLIR's Presburger library. What follows from
    lying in a range is evaluated nowhere; what does not stays a condition: parts that depend on data of keys, and affine parts
    with gaps or with more than eight ranges, of which a remark tells. Of several key axes the outermost is ranged over.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def PackWeights : Pass<"attn-pack-weights", "::mlir::ModuleOp"> {
  let summary = "weights as products read them";
  let description = [{
    Each named f32 argument gets the layout that `attn_pack` makes: `w : f32[(H E), D]`, contracted over D, becomes
    `w : f32[H * E / 16, D, 16]`, where column c of the H * E lies in panel c / 16 at c % 16. Reads are changed to fit, and the
    program's attribute `packed` says of each such argument which dimensions it had, and by bits which of them are
    contracted. A weight that is used otherwise is refused.
  }];
  let options = [ListOption<"weights", "weights", "std::string", "Names of arguments">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // ATTN_OPTIMIZE_PASSES
