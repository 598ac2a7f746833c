//===- KernelTuner.h - build, time and check one kernel's schedules -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers what a search asks of one kernel. It chooses nothing.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_KERNELTUNER_H
#define ATTN_TOOLS_ATTNC_KERNELTUNER_H

#include "schedules/Tuning.h"
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Search.h"
#include "tools/attnc/Timing.h"

namespace attnc {

class KernelTuner {
public:
  /// One of the programs of `all`, which stay as they are.
  KernelTuner(attn::Driver &driver, mlir::ModuleOp all, attn::ProgramOp wanted);

  /// To be called first: the default schedule, and inputs to time.
  llvm::Error prepare();

  const attn::TuningKey &key() const { return tuned; }
  const KernelSchedule &defaultSchedule() const { return defaults; }
  llvm::ArrayRef<attn::StageFacts> stageFacts() const { return facts; }

  /// See SearchQuestions. Both take turns within each round: what disturbs one disturbs both.
  std::optional<double> ratio(const KernelSchedule &candidate, const KernelSchedule &best, bool thorough);
  bool isRight(const KernelSchedule &candidate);

private:
  /// A schedule as code in this process.
  struct Built {
    std::string key;
    std::unique_ptr<attn::LoadedObject> object;
    TimedCall timed;
  };

  llvm::Error readDefaults();
  void makeCheckCases();
  llvm::Expected<std::unique_ptr<Built>> build(const KernelSchedule &schedule);
  Built *ready(const KernelSchedule &schedule);
  bool agrees(attn::LoadedObject &object, const AcceptedInputs &given);

  attn::Driver &driver;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  attn::ProgramOp program;
  KernelSchedule defaults;
  std::vector<attn::StageFacts> facts;
  attn::reference::Buffers inputs;
  attn::TuningKey tuned;
  std::vector<AcceptedInputs> cases;
  std::vector<std::unique_ptr<Built>> kept;
};

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_KERNELTUNER_H
