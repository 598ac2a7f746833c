//===- Description.cpp - kernels for machines to read -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Description.h"

#include "compiler/emit/Interface.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace attn;

namespace {

struct DescriptionWriter {
  llvm::json::OStream json;

  explicit DescriptionWriter(llvm::raw_ostream &os) : json(os, /*IndentSize=*/2) {}

  void strings(llvm::StringRef key, ArrayRef<std::string> values) {
    json.attributeArray(key, [&] {
      for (const std::string &value : values)
        json.value(value);
    });
  }

  void argument(const Interface::Argument &argument) {
    json.attribute("name", argument.name);
    json.attribute("mode", stringifyMode(argument.mode));
    json.attribute("dtype", argument.type ? argument.type->name : "?");
    json.attribute("passed", argument.byValue ? "by value" : "DLTensor");
    strings("dims", argument.dims);
    strings("axes", argument.axes);
    if (!argument.packedFrom.empty())
      json.attributeObject("packed", [&] {
        json.attribute("function", "attn_pack");
        json.attribute("from", "[" + argument.packedFrom + "]");
        json.attribute("contracted", argument.contracted);
      });
  }

  void axis(const Interface::Axis &axis) {
    json.attribute("name", axis.name);
    if (axis.dependsOn.empty())
      json.attribute("extent", axis.extent);
    else
      strings("depends_on", axis.dependsOn);
  }

  /// "4 * B * S * (D / H)"
  static std::string bytesOf(RefType type) {
    const StoredType *stored = findStoredType(type.getElementType());
    std::string text = stored ? std::to_string(stored->bits / 8) : "?";
    for (ExtentAttr factor : type.getFactors()) {
      bool plain = factor.getName() || factor.getConstant();
      text += " * " + (plain ? factor.str() : "(" + factor.str() + ")");
    }
    return text;
  }

  void stage(StageOp stage) {
    ScheduleAttr schedule = stage.getSchedule();
    json.attribute("kind", stringifyStageKind(stage.getKind()));
    json.attribute("lanes", schedule.getLanes());
    json.attribute("vectors", schedule.getVectors());
    json.attribute("rows", schedule.getRows());
    json.attribute("query_tile", schedule.getQueryTile());
    json.attribute("key_tile", schedule.getKeyTile());
    json.attribute("depth_tile", schedule.getDepthTile());
    if (schedule.getDecodeChunk()) {
      json.attribute("decode_queries", schedule.getDecodeQueries());
      json.attribute("decode_chunk", schedule.getDecodeChunk());
    }
  }

  void decision(const std::string &target, KernelOp kernel) {
    json.attribute("name", target);
    std::string workspace;
    kernel.walk([&](BufferOp buffer) { workspace += "round64(" + bytesOf(buffer.getType()) + ") + "; });
    bool shares = false;
    kernel.walk([&](StageOp stage) { shares |= stage.getSchedule().getDecodeChunk() > 0; });
    json.attribute("workspace_bytes", workspace + (shares ? "shared + " : "") + "workers * scratch");
    json.attributeArray("stages", [&] {
      for (StageOp op : kernel.getBody().getOps<StageOp>())
        json.object([&] { stage(op); });
    });
  }

  void kernel(const Interface &kernel, ArrayRef<DecidedFor> decided) {
    json.attribute("name", kernel.name);
    json.attribute("function", kernel.name);
    json.attribute("workspace_function", kernel.name + "_workspace");
    json.attribute("precise", kernel.precise);
    json.attributeArray("arguments", [&] {
      for (const Interface::Argument &each : kernel.arguments)
        json.object([&] { argument(each); });
    });
    json.attributeArray("axes", [&] {
      for (const Interface::Axis &each : kernel.axes)
        json.object([&] { axis(each); });
    });
    strings("facts", kernel.facts);
    strings("requirements", kernel.requirements);
    json.attributeArray("targets", [&] {
      for (const DecidedFor &each : decided)
        if (auto op = dyn_cast_or_null<KernelOp>(ModuleOp(each.kernels).lookupSymbol(kernel.name)))
          json.object([&] { decision(each.target, op); });
    });
  }
};

} // namespace

std::string attn::makeDescription(ModuleOp programs, ArrayRef<DecidedFor> decided, llvm::StringRef source) {
  std::string text;
  llvm::raw_string_ostream os(text);
  DescriptionWriter writer(os);
  writer.json.object([&] {
    writer.json.attribute("version", 1);
    writer.json.attribute("source", source);
    writer.json.attributeArray("kernels", [&] {
      for (const Interface &kernel : findInterfaces(programs))
        writer.json.object([&] { writer.kernel(kernel, decided); });
    });
  });
  os << "\n";
  return text;
}
