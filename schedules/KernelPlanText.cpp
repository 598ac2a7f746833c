//===- KernelPlanText.cpp - plans as text ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/KernelPlanText.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"

using namespace attn;

// Nothing in braces may hold a list of lines: the reader would pass over it.
LLVM_YAML_IS_FLOW_SEQUENCE_VECTOR(attn::PlanFixed)
LLVM_YAML_IS_FLOW_SEQUENCE_VECTOR(attn::PlanAxis)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanTensor)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanScalar)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanNode)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanTerm)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanMix)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanRange)
LLVM_YAML_IS_SEQUENCE_VECTOR(attn::PlanStore)
LLVM_YAML_IS_FLOW_SEQUENCE_VECTOR(attn::PlanReduction)

namespace llvm::yaml {

template <>
struct ScalarEnumerationTraits<PlanElement> {
  static void enumeration(IO &io, PlanElement &element) {
    io.enumCase(element, "f32", PlanElement::F32);
    io.enumCase(element, "f16", PlanElement::F16);
    io.enumCase(element, "bf16", PlanElement::BF16);
    io.enumCase(element, "i8", PlanElement::I8);
    io.enumCase(element, "u8", PlanElement::U8);
    io.enumCase(element, "i32", PlanElement::I32);
    io.enumCase(element, "i64", PlanElement::I64);
    io.enumCase(element, "bool", PlanElement::Bool);
  }
};

template <>
struct ScalarEnumerationTraits<PlanPart> {
  static void enumeration(IO &io, PlanPart &part) {
    io.enumCase(part, "tile", PlanPart::Tile);
    io.enumCase(part, "chunk", PlanPart::Chunk);
    io.enumCase(part, "merge", PlanPart::Merge);
    io.enumCase(part, "product", PlanPart::Product);
    io.enumCase(part, "device", PlanPart::Device);
  }
};

template <>
struct ScalarEnumerationTraits<PlanKind> {
  static void enumeration(IO &io, PlanKind &kind) {
    io.enumCase(kind, "f32", PlanKind::F32);
    io.enumCase(kind, "f64", PlanKind::F64);
    io.enumCase(kind, "i64", PlanKind::I64);
    io.enumCase(kind, "bool", PlanKind::Bool);
  }
};

template <>
struct ScalarEnumerationTraits<PlanNumber> {
  static void enumeration(IO &io, PlanNumber &number) {
    io.enumCase(number, "index", PlanNumber::Index);
    io.enumCase(number, "extent", PlanNumber::Extent);
    io.enumCase(number, "factor", PlanNumber::Factor);
    io.enumCase(number, "argument", PlanNumber::Argument);
  }
};

template <>
struct MappingTraits<PlanRef> {
  static void mapping(IO &io, PlanRef &ref) {
    io.mapOptional("buffer", ref.isBuffer, false);
    io.mapRequired("number", ref.number);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanFixed> {
  static void mapping(IO &io, PlanFixed &fixed) {
    io.mapRequired("factor", fixed.factor);
    io.mapRequired("axis", fixed.axis);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanAxis> {
  static void mapping(IO &io, PlanAxis &axis) {
    io.mapRequired("name", axis.name);
    io.mapRequired("extent", axis.extent);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanTensor> {
  static void mapping(IO &io, PlanTensor &tensor) {
    io.mapRequired("name", tensor.name);
    io.mapRequired("ref", tensor.ref);
    io.mapRequired("element", tensor.element);
    io.mapOptional("fixed", tensor.fixed);
    io.mapOptional("factors", tensor.factors);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanScalar> {
  static void mapping(IO &io, PlanScalar &scalar) {
    io.mapRequired("number", scalar.number);
    io.mapOptional("axis", scalar.axis, std::string());
    io.mapOptional("ref", scalar.ref);
    io.mapOptional("factor", scalar.factor, int64_t());
    io.mapOptional("element", scalar.element, PlanElement::I64);
    io.mapOptional("known", scalar.known, int64_t(-1));
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanNode> {
  static void mapping(IO &io, PlanNode &node) {
    io.mapRequired("op", node.op);
    io.mapRequired("kind", node.kind);
    io.mapOptional("axis", node.axis, std::string());
    io.mapOptional("number", node.number, int64_t());
    io.mapOptional("integer", node.integer, int64_t());
    // As bits: nothing is lost, and infinities have a text.
    uint64_t bits = llvm::bit_cast<uint64_t>(node.value);
    Hex64 hex(bits);
    io.mapOptional("value", hex, Hex64(0));
    node.value = llvm::bit_cast<double>(uint64_t(hex));
    io.mapOptional("inputs", node.inputs);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanTerm> {
  static void mapping(IO &io, PlanTerm &term) {
    io.mapRequired("query", term.query);
    io.mapRequired("key", term.key);
    io.mapRequired("over", term.over);
    io.mapRequired("extent", term.extent);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanMix> {
  static void mapping(IO &io, PlanMix &mix) {
    io.mapRequired("value", mix.value);
    io.mapRequired("width", mix.width);
    io.mapRequired("extent", mix.extent);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanRange> {
  static void mapping(IO &io, PlanRange &range) {
    io.mapOptional("lower", range.lower, int64_t(-1));
    io.mapOptional("upper", range.upper, int64_t(-1));
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<PlanStore> {
  static void mapping(IO &io, PlanStore &store) {
    io.mapRequired("tensor", store.tensor);
    io.mapRequired("value", store.value);
    io.mapOptional("condition", store.condition, int64_t(-1));
    io.mapOptional("dims", store.dims);
    io.mapOptional("place", store.place);
    io.mapOptional("keeps_absent", store.keepsAbsent, false);
  }
};

template <>
struct MappingTraits<PlanReduction> {
  static void mapping(IO &io, PlanReduction &reduction) {
    io.mapRequired("kind", reduction.kind);
    io.mapRequired("value", reduction.value);
  }
  static const bool flow = true;
};

template <>
struct MappingTraits<StagePlan> {
  static void mapping(IO &io, StagePlan &plan) {
    io.mapRequired("symbol", plan.symbol);
    io.mapRequired("part", plan.part);
    io.mapRequired("lanes", plan.lanes);
    io.mapRequired("vectors", plan.vectors);
    io.mapRequired("rows", plan.rows);
    io.mapRequired("query_tile", plan.queryTile);
    io.mapRequired("key_tile", plan.keyTile);
    io.mapOptional("chunk", plan.chunk, int64_t());
    io.mapOptional("tasks", plan.tasks);
    io.mapOptional("queries", plan.queries);
    if (plan.part != PlanPart::Product)
      io.mapRequired("key", plan.key);
    io.mapOptional("columns", plan.columns);
    io.mapOptional("depth", plan.depth);
    io.mapOptional("reductions", plan.reductions);
    io.mapOptional("scalars", plan.scalars);
    io.mapOptional("tensors", plan.tensors);
    io.mapOptional("nodes", plan.nodes);
    io.mapOptional("terms", plan.terms);
    io.mapOptional("score", plan.score, int64_t());
    io.mapOptional("query_factor", plan.queryFactor, int64_t(-1));
    io.mapOptional("mask", plan.mask, int64_t(-1));
    io.mapOptional("ranges", plan.ranges);
    io.mapOptional("softmax", plan.softmax, true);
    io.mapOptional("sink", plan.sink, int64_t(-1));
    io.mapOptional("mixes", plan.mixes);
    io.mapOptional("stores", plan.stores);
  }
};

} // namespace llvm::yaml

std::string attn::printPlan(const StagePlan &plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::yaml::Output output(stream, nullptr, /*WrapColumn=*/0);
  StagePlan copy = plan;
  output << copy;
  return text;
}

llvm::Expected<StagePlan> attn::parsePlan(llvm::StringRef text) {
  StagePlan plan;
  std::string message;
  auto keepFirst = [](const llvm::SMDiagnostic &diagnostic, void *into) {
    auto &message = *static_cast<std::string *>(into);
    if (message.empty())
      message = llvm::formatv("line {0}: {1}", diagnostic.getLineNo(), diagnostic.getMessage()).str();
  };
  llvm::yaml::Input input(text, nullptr, keepFirst, &message);
  input >> plan;
  if (input.error())
    return llvm::createStringError("plan: " + (message.empty() ? input.error().message() : message));
  return plan;
}
