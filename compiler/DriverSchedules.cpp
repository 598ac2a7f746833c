//===- DriverSchedules.cpp - the schedules that a compilation uses --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From --schedule, from a tuning file, or none: then the cost model chooses.
//===----------------------------------------------------------------------===//
#include "compiler/Driver.h"

#include "dialects/attn/Attn.h"
#include "schedules/Tuning.h"
#include "schedules/halide/CompileStage.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace attn;

FailureOr<std::string> Driver::readInput(const std::string &path) {
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(path, &problem);
  if (!text)
    return emitError(UnknownLoc::get(context.get()), problem), failure();
  if (!llvm::is_contained(filesRead, path))
    filesRead.push_back(path);
  return text->getBuffer().str();
}

FailureOr<std::string> Driver::scheduleText(ModuleOp programs, llvm::StringRef target) {
  if (!schedules.empty())
    return schedules;
  if (!options.schedulePath.empty())
    return readInput(options.schedulePath);
  if (!options.tuningPath.empty())
    return tunedSchedules(programs, target);
  return std::string();
}

/// Equal for programs that compute the same from the same text: fixed extents count, places in the file don't.
static std::string fingerprint(ProgramOp program) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  program->print(stream);
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true);
}

FailureOr<TuningKey> Driver::tuningKey(ProgramOp program, llvm::StringRef target) {
  llvm::Expected<Target> found = findTarget(target);
  if (!found)
    return emitError(program.getLoc(), llvm::toString(found.takeError())), failure();
  TuningKey key;
  key.kernel = program.getSymName().str();
  key.target = target.str();
  key.machine = found->cpu;
  key.compiler = "attnc " ATTN_VERSION ", LLVM " LLVM_VERSION_STRING;
  if (hasHalide())
    key.compiler += ", Halide";
  key.program = fingerprint(program);
  return key;
}

FailureOr<std::string> Driver::tunedSchedules(ModuleOp programs, llvm::StringRef target) {
  FailureOr<std::string> text = readInput(options.tuningPath);
  if (failed(text))
    return failure();
  auto entries = parseTuning(*text);
  if (!entries)
    return emitError(UnknownLoc::get(context.get()), options.tuningPath + ": " + llvm::toString(entries.takeError())),
           failure();
  std::vector<StageSchedule> stages;
  for (ProgramOp program : programs.getOps<ProgramOp>()) {
    FailureOr<TuningKey> key = tuningKey(program, target);
    if (failed(key))
      return failure();
    TunedChoice choice = chooseTuned(*entries, *key);
    if (!choice.entry && !choice.stale.empty())
      emitWarning(program.getLoc()) << "the tuning of " << key->kernel << " for " << target << " is stale: " << choice.stale
                                    << "; the default schedule is used, `attnc tune` makes another";
    if (!choice.entry)
      continue;
    if (!choice.others.empty())
      remarkMissed(program.getLoc(), "one schedule for all extents",
                   "that for " + choice.entry->key.extents + " is used, those for " + llvm::join(choice.others, " and ") +
                       " are not",
                   "tune at the extents that matter most last");
    stages.insert(stages.end(), choice.entry->stages.begin(), choice.entry->stages.end());
  }
  return stages.empty() ? std::string() : printSchedules(stages);
}
