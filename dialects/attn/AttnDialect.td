// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attention dialect, its types and its attributes. What attention means; nothing
// here says how it runs, except the schedule that `attn-decide` writes down.

#ifndef ATTN_DIALECT
#define ATTN_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attn";
  let summary = "Attention over named axes";
  let description = [{
    Three levels live in this dialect. *Math* has one operation per idea over values with named axes; *fused* has
    `attn.flash`; *decided* has `attn.kernel` with buffers and stages, where everything is chosen. The reference
    interpreter runs all three.
  }];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

class Attn_Type<string name, string typeMnemonic> : TypeDef<Attn_Dialect, name> {
  let mnemonic = typeMnemonic;
}
class Attn_Attr<string name, string attrMnemonic> : AttrDef<Attn_Dialect, name> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Attn_ValueType : Attn_Type<"Value", "value"> {
  let summary = "a value over a set of named axes";
  let description = [{
    Axes are a set: they are kept sorted by name, so two values over the same axes have one type. The element is
    `f32` (or `f64` where a float ends in an index), `i64` or `i1`.

    ```mlir
    !attn.value<[B, H, S], f32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::mlir::StringAttr>":$axes, "::mlir::Type":$elementType)>
  ];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasAxis(::mlir::StringAttr axis) const { return ::llvm::is_contained(getAxes(), axis); }
    bool isFloat() const { return ::mlir::isa<::mlir::FloatType>(getElementType()); }
    bool isCondition() const { return getElementType().isInteger(1); }
    bool isInteger() const { return getElementType().isInteger(64); }
    /// The same axes with another element.
    ValueType withElement(::mlir::Type element) const { return get(getAxes(), element); }
    /// The same element without the given axes.
    ValueType without(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
  }];
}

def Attn_RefType : Attn_Type<"Ref", "ref"> {
  let summary = "a stored tensor: an argument, a result, a cache or a buffer";
  let description = [{
    Dimensions in declared order; each is an extent, an axis, or a row-major product of factors.

    ```mlir
    !attn.ref<[B, (G R E), C + R], bf16>
    !attn.ref<[], f32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::attn::DimAttr">:$dims, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::attn::DimAttr>":$dims, "::mlir::Type":$elementType)>
  ];
  let extraClassDeclaration = [{
    /// All factors of all dimensions, in stored order: one index each in a read.
    ::llvm::SmallVector<::attn::ExtentAttr> getFactors() const;
    bool isScalar() const { return getDims().empty(); }
  }];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Attn_ExtentAttr : Attn_Attr<"Extent", "extent"> {
  let summary = "an integer expression over axes and argument dimensions";
  let description = [{
    `S`, `D / H`, `C + R`, `x.0` (dimension 0 of argument `x`). `/` divides exactly or the extent is an error.
    The expression is kept as an affine expression whose symbols are the names, sorted.
  }];
  let parameters = (ins "::mlir::AffineExpr":$expr, ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// One name: an axis, or a dimension such as `x.0`.
    static ExtentAttr named(::mlir::MLIRContext *context, ::llvm::StringRef name);
    static ExtentAttr constant(::mlir::MLIRContext *context, int64_t value);
    /// `a kind b`, where kind is Add, Mul, FloorDiv (exact) or Mod.
    static ExtentAttr binary(::mlir::AffineExprKind kind, ExtentAttr a, ExtentAttr b);
    static ExtentAttr subtract(ExtentAttr a, ExtentAttr b);

    /// The axis (or dimension) that this expression is, alone; null otherwise.
    ::mlir::StringAttr getName() const;
    /// The number that this expression is; nothing otherwise.
    std::optional<int64_t> getConstant() const;
    /// The value, given that of each name. Fails on overflow, on a division
    /// that is not exact, and where `lookup` fails.
    ::llvm::Expected<int64_t> evaluate(::llvm::function_ref<std::optional<int64_t>(::llvm::StringRef)> lookup) const;
    /// Replaces names by expressions; a name without one stays.
    ExtentAttr substitute(::llvm::function_ref<ExtentAttr(::mlir::StringAttr)> replacement) const;
    /// The expression as the language writes it.
    std::string str() const;
    static ::mlir::FailureOr<ExtentAttr> parseExpression(::mlir::AsmParser &parser);
  }];
}

def Attn_DimAttr : Attn_Attr<"Dim", "dim"> {
  let summary = "one stored dimension: a row-major product of factors";
  let parameters = (ins ArrayRefParameter<"::attn::ExtentAttr">:$factors);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    std::string str() const;
    static ::mlir::FailureOr<DimAttr> parseDim(::mlir::AsmParser &parser);
  }];
}

def Attn_AxisAttr : Attn_Attr<"Axis", "axis"> {
  let summary = "an axis and where its extent comes from";
  let description = [{
    `#attn.axis<E = wq.0 / H>`: an extent over earlier axes and argument dimensions.
    `#attn.axis<T[B]>`: ragged; the extent is given by `attn.ragged` and depends on the index of B.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, ArrayRefParameter<"::mlir::StringAttr">:$dependsOn,
                        "::attn::ExtentAttr":$extent);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{ bool isRagged() const { return !getExtent(); } }];
}

class Attn_Enum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_Mode : Attn_Enum<"Mode", "what a program does with an argument", [
  I32EnumAttrCase<"In", 0, "in">, I32EnumAttrCase<"InOut", 1, "inout">, I32EnumAttrCase<"Out", 2, "out">]>;
def Attn_Role : Attn_Enum<"Role", "what a contraction is for", [
  I32EnumAttrCase<"Dot", 0, "dot">, I32EnumAttrCase<"Project", 1, "project">,
  I32EnumAttrCase<"Score", 2, "score">, I32EnumAttrCase<"Mix", 3, "mix">]>;
def Attn_Reduction : Attn_Enum<"Reduction", "how elements are joined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;
def Attn_Pairs : Attn_Enum<"Pairs", "which elements a rotation pairs", [
  I32EnumAttrCase<"Half", 0, "half">, I32EnumAttrCase<"Interleaved", 1, "interleaved">]>;
def Attn_Normalizer : Attn_Enum<"Normalizer", "how scores become weights", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"Identity", 1, "identity">]>;
def Attn_StageKind : Attn_Enum<"StageKind", "which emitter lowers a stage", [
  I32EnumAttrCase<"Nest", 0, "nest">, I32EnumAttrCase<"Contract", 1, "contract">, I32EnumAttrCase<"Flash", 2, "flash">]>;

def Attn_RoleAttr : EnumAttr<Attn_Dialect, Attn_Role, "role"> {
  let assemblyFormat = "$value";
}
def Attn_ReductionAttr : EnumAttr<Attn_Dialect, Attn_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}
def Attn_PairsAttr : EnumAttr<Attn_Dialect, Attn_Pairs, "pairs"> {
  let assemblyFormat = "$value";
}
def Attn_NormalizerAttr : EnumAttr<Attn_Dialect, Attn_Normalizer, "normalizer"> {
  let assemblyFormat = "$value";
}
def Attn_StageKindAttr : EnumAttr<Attn_Dialect, Attn_StageKind, "stage_kind"> {
  let assemblyFormat = "$value";
}

def Attn_ArgAttr : Attn_Attr<"Arg", "arg"> {
  let summary = "an argument's name and mode";
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<Attn_Mode>:$mode);
  let assemblyFormat = "`<` $mode $name `>`";
}

def Attn_ScheduleAttr : Attn_Attr<"Schedule", "schedule"> {
  let summary = "how one stage runs";
  let description = [{
    The numbers of `schedules/Schedule.h`, written into the program by `attn-decide`: vector lanes, the register
    block (`rows` scalars by `vectors` vectors), the rows of queries and of keys in a tile, the depth of a
    contraction's panel, and of a flash the decode form's largest number of queries and its keys per task (0: none), and
    the route that it was given, if it was, and what computes its products, if that is a choice.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$query_tile,
                        "int64_t":$key_tile, "int64_t":$depth_tile,
                        DefaultValuedParameter<"int64_t", "0">:$decode_queries,
                        DefaultValuedParameter<"int64_t", "0">:$decode_chunk,
                        OptionalParameter<"::mlir::StringAttr">:$route,
                        OptionalParameter<"::mlir::StringAttr">:$products);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // ATTN_DIALECT
