// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations. Constraints are numbered per op (`read_c1`); verifier and tests cite them.

#ifndef ATTN_OPS
#define ATTN_OPS

include "AttnDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

def Attn_ProgramOp : Attn_Op<"program", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one attention, as the spec says it";
  let description = [{
    Block arguments are the parameters and then the results, in declared order, all `!attn.ref`. `axes` lists each
    axis with where its extent comes from, in an order in which it can be computed; `facts` are equalities to check.

    1. Each argument has its attribute in `args`, and is a ref. (program_c1)
    2. No two axes have one name, and an extent speaks of earlier axes and dimensions only. (program_c2)
    3. Every axis that an operation names is declared. (program_c3)

    ```mlir
    attn.program @scale(in "x" %x : !attn.ref<[S], f32>, out "y" %y : !attn.ref<[S], f32>) axes [S = x.0] facts [] {
      %s = attn.index "S" : !attn.value<[S], i64>
      %0 = attn.read %x[%s] : (!attn.ref<[S], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
      attn.write %0, %y[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$args, ArrayAttr:$axes, ArrayAttr:$facts, UnitAttr:$precise);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Attn_KernelOp : Attn_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one attention, with everything chosen";
  let description = [{
    The same signature as `attn.program`. The body holds `attn.buffer`s and `attn.stage`s, which run in order;
    nothing later may choose. `attn.require`, `attn.ragged` and what they need stand outside of stages.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$args, ArrayAttr:$axes, ArrayAttr:$facts, UnitAttr:$precise);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Attn_RaggedOp : Attn_Op<"ragged"> {
  let summary = "the extent of a ragged axis";
  let arguments = (ins StrAttr:$axis, Attn_ValueType:$extent);
  let assemblyFormat = "$axis `=` $extent attr-dict `:` type($extent)";
}

def Attn_RequireOp : Attn_Op<"require"> {
  let summary = "a condition that must hold everywhere before anything is written";
  let arguments = (ins Attn_ValueType:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "what a region gives";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

//===----------------------------------------------------------------------===//
// Sources of values
//===----------------------------------------------------------------------===//

def Attn_IndexOp : Attn_Op<"index", [Pure]> {
  let summary = "the index of an axis";
  let description = "Over the axis, and the axes that its extent depends on.";
  let arguments = (ins StrAttr:$axis);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_ExtentOp : Attn_Op<"extent", [Pure]> {
  let summary = "the extent of an axis";
  let arguments = (ins StrAttr:$axis);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Attn_ConstantOp : Attn_Op<"constant", [Pure, ConstantLike]> {
  let summary = "a number or a truth value";
  let description = "The attribute has the element's type. (constant_c1)";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_ReadOp : Attn_Op<"read", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "read a stored tensor by place";
  let description = [{
    One integer index per factor (read_c1, read_c2); the result has the union of their axes (read_c3). An index
    out of range makes the element absent, and an error where it is asked for. Elements are widened: floats
    to f32, integers to i64.
  }];
  let arguments = (ins Attn_RefType:$ref, Variadic<Attn_ValueType>:$indices);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$ref `[` $indices `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values from values
//===----------------------------------------------------------------------===//

def Attn_MapOp : Attn_Op<"map", [Pure, SingleBlock]> {
  let summary = "a scalar computation at every point";
  let description = [{
    The region holds `arith` and `math` scalars; its arguments are the operands' elements. The result has the union
    of the operands' axes (map_c1) and is present where all operands are.
  }];
  let arguments = (ins Variadic<Attn_ValueType>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $result) $body";
  let hasVerifier = 1;
}

def Attn_PhiloxOp : Attn_Op<"philox", [Pure]> {
  let summary = "24 random bits in [0, 1): the first word of Philox 4x32-10";
  let description = "Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011). A scalar, for `attn.map`.";
  let arguments = (ins I64:$seed, I64:$counter);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = "$seed `,` $counter attr-dict `:` type($result)";
}

class Attn_LazyCondition<string mnemonic> : Attn_Op<mnemonic, [Pure]> {
  let arguments = (ins Attn_ValueType:$lhs, Attn_ValueType:$rhs);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Attn_AndOp : Attn_LazyCondition<"and"> {
  let summary = "both hold; the right side is asked for only where the left one holds";
}
def Attn_OrOp : Attn_LazyCondition<"or"> {
  let summary = "one holds; the right side is asked for only where the left one does not";
}

def Attn_SelectOp : Attn_Op<"select", [Pure]> {
  let summary = "one of two values; the other is not asked for";
  let arguments = (ins Attn_ValueType:$condition, Attn_ValueType:$on_true, Attn_ValueType:$on_false);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_WhereOp : Attn_Op<"where", [Pure]> {
  let summary = "absent where the condition does not hold";
  let description = "The condition has no axis that the value lacks, except in front of a reduction, where the result gains it. (where_c1: the result has the union of both)";
  let arguments = (ins Attn_ValueType:$value, Attn_ValueType:$condition);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$value `,` $condition attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_TakeOp : Attn_Op<"take", [Pure]> {
  let summary = "read a value along some of its axes";
  let description = "`v[S: i]`. The result has v's other axes and those of the indices. (take_c1: v has each axis; take_c2: indices are integers; take_c3: the result's axes)";
  let arguments = (ins Attn_ValueType:$value, StrArrayAttr:$axes, Variadic<Attn_ValueType>:$indices);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$value $axes `[` $indices `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_RenameOp : Attn_Op<"rename", [Pure]> {
  let summary = "the same value with axes in another role";
  let description = "`with S as T`. (rename_c1: the value has `from` and lacks `to`)";
  let arguments = (ins Attn_ValueType:$value, StrArrayAttr:$from, StrArrayAttr:$to);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$value $from `as` $to attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

def Attn_ContractOp : Attn_Op<"contract", [Pure]> {
  let summary = "sum of products over axes that both sides have";
  let description = [{
    1. Both sides have every contracted axis. (contract_c1)
    2. The result has the union of the axes without those. (contract_c2)

    Absent elements are skipped. Accumulates in f32.
  }];
  let arguments = (ins Attn_ValueType:$lhs, Attn_ValueType:$rhs, StrArrayAttr:$over, Attn_RoleAttr:$role);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$role $lhs `,` $rhs `over` $over attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_ReduceOp : Attn_Op<"reduce", [Pure]> {
  let summary = "join the present elements along axes";
  let description = "(reduce_c1: the value has each axis; reduce_c2: the result lacks them.) Of nothing: sum and mean 0, max -inf, min +inf.";
  let arguments = (ins Attn_ReductionAttr:$kind, Attn_ValueType:$value, StrArrayAttr:$over);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$kind $value `over` $over attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_SoftmaxOp : Attn_Op<"softmax", [Pure]> {
  let summary = "weights that sum to one along axes";
  let description = [{
    `exp(x - m) / sum exp(x - m)` over the present elements; a score of -inf is absent; a row without present
    elements gives 0. `sink` is one more logit without a key. (softmax_c1: the value has each axis; softmax_c2: the
    sink lacks them; softmax_c3: the result has the value's axes)
  }];
  let arguments = (ins Attn_ValueType:$value, StrArrayAttr:$over, Optional<Attn_ValueType>:$sink);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$value `over` $over (`sink` $sink^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_LogSumExpOp : Attn_Op<"logsumexp", [Pure]> {
  let summary = "the natural logarithm of the sum of exponentials; -inf of nothing";
  let arguments = (ins Attn_ValueType:$value, StrArrayAttr:$over, Optional<Attn_ValueType>:$sink);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$value `over` $over (`sink` $sink^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_RopeOp : Attn_Op<"rope", [Pure]> {
  let summary = "rotate pairs of elements along an axis";
  let description = [{
    Pair `i` of axis `over` is turned by the angle whose cosine and sine are given along axis `pair_axis`. With
    fewer pairs than half the width, the first elements turn and the rest stay. Su et al., RoFormer (2021), 3.4.2.
    (rope_c1: the value has `over`; rope_c2: cos and sin have `pair_axis`, which the value lacks; rope_c3: the result
    has the axes of all without `pair_axis`)
  }];
  let arguments = (ins Attn_ValueType:$value, Attn_ValueType:$cos, Attn_ValueType:$sin, StrAttr:$over,
                       StrAttr:$pair_axis, Attn_PairsAttr:$pairs);
  let results = (outs Attn_ValueType:$result);
  let assemblyFormat = "$pairs $value `cos` $cos `sin` $sin `over` $over `by` $pair_axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_WriteOp : Attn_Op<"write", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "store a value by place";
  let description = [{
    One integer index per factor (write_c1); the value and the condition have no axis that the place lacks (write_c2). Rounds to
    nearest even. Absent elements are not written into an inout; into a result they are stored as 0.
    An element written twice, or past its extent, is an error.
  }];
  let arguments = (ins Attn_ValueType:$value, Attn_RefType:$ref, Variadic<Attn_ValueType>:$indices,
                       Optional<Attn_ValueType>:$condition);
  let assemblyFormat = "$value `,` $ref `[` $indices `]` (`where` $condition^)? attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fused
//===----------------------------------------------------------------------===//

// Beside what is described here the region may take a weight, and yield what is mixed in its place: FlashWeights.h, flash_c6.
def Attn_FlashOp : Attn_Op<"flash", [Pure, AttrSizedOperandSegments, SingleBlock]> {
  let summary = "scores, normaliser and mixes without a table of scores";
  let description = [{
    Score term i is `contract(queries[i], keys[i], over: contracted[i])`. The region takes one value per term and
    yields the score and, optionally, a condition under which it is present. `attn-classify-mask` moves what it can of the condition into
    ranges of keys: a key at position t is seen where `lower[i] <= t < upper[i]` for some i, or where there are no ranges, and the
    condition holds as well. Ranges may overlap and be empty; without `lower` all of them begin at 0, without `upper` they end with the keys. Several key axes are counted row-major: of `over ["I", "J"]` t is `i * J + j`.
    Mix j is `contract(weights, values[j], over)`. A score of -inf is absent. Results: one mix per value, then the
    natural log-sum-exp when `logsumexp` is set. The value may be present in part: absent elements contribute nothing.

    1. Each term has query, key and contracted axes that both have. (flash_c1)
    2. The region takes one value per term and yields a float, or a float and a condition. (flash_c2)
    3. Bounds and sink lack the key axes; bounds are integers. (flash_c3)
    4. Mix j has the score's and the value's axes without the key axes; the log-sum-exp has the score's without them. (flash_c4)
    5. Where there are lower and upper bounds, there are as many of both; eight of each at most. (flash_c5)

    Online softmax: Milakov and Gimelshein (2018); tiling: Dao et al., FlashAttention (2022), algorithm 1.
  }];
  let arguments = (ins Variadic<Attn_ValueType>:$queries, Variadic<Attn_ValueType>:$keys, Variadic<Attn_ValueType>:$values,
                       Optional<Attn_ValueType>:$sink, Variadic<Attn_ValueType>:$lower, Variadic<Attn_ValueType>:$upper,
                       ArrayAttr:$contracted, StrArrayAttr:$over, Attn_NormalizerAttr:$normalizer, UnitAttr:$logsumexp);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Attn_ValueType>:$outputs);
  let assemblyFormat = [{
    $normalizer `queries` `(` $queries `)` `keys` `(` $keys `)` `contracted` $contracted `values` `(` $values `)` `over` $over
    (`sink` $sink^)? (`lower` `(` $lower^ `)`)? (`upper` `(` $upper^ `)`)? attr-dict `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getScore();
    /// The condition under which a score is present; null when always.
    ::mlir::Value getMask();
    /// How many ranges of keys a flash may have.
    static constexpr unsigned mostRanges = 8;
    unsigned getNumRanges() { return std::max(getLower().size(), getUpper().size()); }
    /// The bounds of a range; null where it begins at 0, or ends with the keys.
    ::mlir::Value getLowerOf(unsigned range) { return getLower().empty() ? ::mlir::Value() : getLower()[range]; }
    ::mlir::Value getUpperOf(unsigned range) { return getUpper().empty() ? ::mlir::Value() : getUpper()[range]; }
  }];
}

//===----------------------------------------------------------------------===//
// Decided
//===----------------------------------------------------------------------===//

def Attn_BufferOp : Attn_Op<"buffer", [Pure]> {
  let summary = "workspace that one stage fills and later ones read";
  let results = (outs Attn_RefType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Attn_StageOp : Attn_Op<"stage", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "one pass over a domain, with its schedule";
  let description = [{
    The region reads refs, computes and writes refs. `nest` computes one value by plain vectorised loops, `contract` one contraction
    by the register-blocked micro-kernel and what follows it as epilogue, `flash` one `attn.flash` and what
    follows. Tasks of a stage are independent; stages run one after the other.
  }];
  let arguments = (ins Attn_StageKindAttr:$kind, Attn_ScheduleAttr:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $schedule attr-dict-with-keyword $body";
}

#endif // ATTN_OPS
