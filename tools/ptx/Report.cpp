// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::ptx {

llvm::StringRef className(Class kind) {
  constexpr llvm::StringLiteral names[kClasses] = {"integer", "float",  "fma",  "special",  "matrix",  "move",   "load",
                                                   "store",   "atomic", "copy", "exchange", "barrier", "control"};
  return names[static_cast<unsigned>(kind)];
}

llvm::StringRef faultName(FaultKind kind) {
  constexpr llvm::StringLiteral names[] = {"out of bounds", "misaligned",     "read-only",         "uninitialised",
                                           "race",          "copy in flight", "divergent barrier", "deadlock",
                                           "exchange",      "trap",           "no progress"};
  return names[static_cast<unsigned>(kind)];
}

bool Report::has(FaultKind kind) const {
  return llvm::any_of(faults, [&](const Fault &fault) { return fault.kind == kind; });
}

void Report::print(llvm::raw_ostream &out) const {
  for (const Fault &fault : faults) {
    out << fault.line << ": " << faultName(fault.kind) << ": CTA (" << fault.cta[0] << ", " << fault.cta[1] << ", "
        << fault.cta[2] << ") thread (" << fault.thread[0] << ", " << fault.thread[1] << ", " << fault.thread[2]
        << "): " << fault.text;
    if (fault.times > 1)
      out << " (" << fault.times << " times)";
    out << "\n";
  }
  if (unlisted)
    out << unlisted << " more\n";
}

namespace {
llvm::json::Object traffic(const Traffic &traffic, llvm::StringRef units) {
  llvm::json::Object object{{"loads", int64_t(traffic.loads)},
                            {"stores", int64_t(traffic.stores)},
                            {"loaded_bytes", int64_t(traffic.loadedBytes)},
                            {"stored_bytes", int64_t(traffic.storedBytes)}};
  if (!units.empty())
    object[units] = int64_t(traffic.units);
  return object;
}
} // namespace

llvm::json::Value Report::toJson() const {
  llvm::json::Array list;
  for (const Fault &fault : faults)
    list.push_back(llvm::json::Object{{"kind", faultName(fault.kind)},
                                      {"line", fault.line},
                                      {"cta", llvm::json::Array(fault.cta)},
                                      {"thread", llvm::json::Array(fault.thread)},
                                      {"text", fault.text},
                                      {"times", int64_t(fault.times)}});
  llvm::json::Object classes;
  for (unsigned i = 0; i < kClasses; ++i)
    classes[className(Class(i))] = int64_t(counters.byClass[i]);
  llvm::json::Object shared = traffic(counters.shared, "passes");
  shared["conflicts"] = int64_t(counters.shared.conflicts);
  llvm::json::Array conflicts;
  for (auto &[line, count] : counters.lines)
    if (count.conflicts)
      conflicts.push_back(llvm::json::Object{
          {"line", line}, {"executed", int64_t(count.executed)}, {"conflicts", int64_t(count.conflicts)}});
  shared["conflicts_by_line"] = std::move(conflicts);
  return llvm::json::Object{{"faults", std::move(list)},
                            {"unlisted_faults", int64_t(unlisted)},
                            {"warp_instructions", int64_t(counters.warpInstructions)},
                            {"lane_instructions", int64_t(counters.laneInstructions)},
                            {"divergent_branches", int64_t(counters.divergentBranches)},
                            {"matrix_multiply_adds", int64_t(counters.matrixProducts)},
                            {"classes", std::move(classes)},
                            {"global", traffic(counters.global, "sectors")},
                            {"shared", std::move(shared)},
                            {"local", traffic(counters.local, "")},
                            {"constant", traffic(counters.constant, "")}};
}

} // namespace attn::ptx
