//===- ScheduleYaml.h - the text form of a stage's schedule -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the files that read and print schedules, alone or inside of something else.
//===----------------------------------------------------------------------===//
#ifndef ATTN_SCHEDULES_SCHEDULEYAML_H
#define ATTN_SCHEDULES_SCHEDULEYAML_H

#include "schedules/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"

LLVM_YAML_IS_SEQUENCE_VECTOR(attn::StageSchedule)

namespace llvm::yaml {
template <>
struct ScalarEnumerationTraits<attn::StageShape> {
  static void enumeration(IO &io, attn::StageShape &kind) {
    io.enumCase(kind, "nest", attn::StageShape::Nest);
    io.enumCase(kind, "contract", attn::StageShape::Contract);
    io.enumCase(kind, "flash", attn::StageShape::Flash);
  }
};

template <>
struct ScalarEnumerationTraits<attn::Route> {
  static void enumeration(IO &io, attn::Route &route) {
    io.enumCase(route, "mlir", attn::Route::Mlir);
    io.enumCase(route, "halide", attn::Route::Halide);
  }
};

template <>
struct ScalarEnumerationTraits<attn::Products> {
  static void enumeration(IO &io, attn::Products &products) {
    io.enumCase(products, "lanes", attn::Products::Lanes);
    io.enumCase(products, "tiles", attn::Products::Tiles);
  }
};

template <>
struct MappingTraits<attn::StageSchedule> {
  static void mapping(IO &io, attn::StageSchedule &stage) {
    io.mapOptional("kernel", stage.kernel, std::string());
    io.mapRequired("kind", stage.kind);
    io.mapOptional("name", stage.name, std::string());
    attn::Schedule &schedule = stage.schedule;
    // int64_t() is "left to the cost model" and is not printed.
    io.mapOptional("lanes", schedule.lanes, int64_t());
    io.mapOptional("vectors", schedule.vectors, int64_t());
    io.mapOptional("rows", schedule.rows, int64_t());
    io.mapOptional("query_tile", schedule.queryTile, int64_t());
    io.mapOptional("key_tile", schedule.keyTile, int64_t());
    io.mapOptional("depth_tile", schedule.depthTile, int64_t());
    io.mapOptional("decode_queries", schedule.decodeQueries, int64_t());
    io.mapOptional("decode_chunk", schedule.decodeChunk, int64_t());
    io.mapOptional("route", schedule.route, attn::Route::Unsaid);
    io.mapOptional("products", schedule.products, attn::Products::Unsaid);
  }
};
} // namespace llvm::yaml

namespace attn {

/// Reads a list; an error says what is wrong, and in which line. `what` begins it.
template <typename T>
llvm::Expected<std::vector<T>> parseYamlList(llvm::StringRef text, llvm::StringRef what) {
  std::vector<T> list;
  std::string message;
  auto keepFirst = [](const llvm::SMDiagnostic &diagnostic, void *into) {
    auto &message = *static_cast<std::string *>(into);
    if (message.empty())
      message = llvm::formatv("line {0}: {1}", diagnostic.getLineNo(), diagnostic.getMessage()).str();
  };
  if (text.trim().empty())
    return list;
  llvm::yaml::Input input(text, nullptr, keepFirst, &message);
  input >> list;
  if (input.error())
    return llvm::createStringError(what + ": " + (message.empty() ? input.error().message() : message));
  return list;
}

template <typename T>
std::string printYamlList(std::vector<T> list) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::yaml::Output output(stream);
  output << list;
  return text;
}

} // namespace attn

#endif // ATTN_SCHEDULES_SCHEDULEYAML_H
