//===- KernelTuner.cpp - build, time and check one kernel's schedules -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/attnc/KernelTuner.h"

#include "compiler/decide/StageSchedules.h"
#include "dialects/reference/Compare.h"
#include "schedules/halide/CompileStage.h"
#include "tools/attnc/Grid.h"

using namespace attn;
using namespace attnc;
using reference::Outcome;

/// Extents on which a schedule is checked, each with two kinds of input.
static constexpr size_t mostCheckedExtents = 12;

KernelTuner::KernelTuner(Driver &driver, mlir::ModuleOp all, ProgramOp wanted) : driver(driver), module(all.clone()) {
  for (ProgramOp other : llvm::make_early_inc_range(module->getOps<ProgramOp>()))
    if (other.getSymName() != wanted.getSymName())
      other.erase();
  program = *module->getOps<ProgramOp>().begin();
}

llvm::Error KernelTuner::prepare() {
  if (llvm::Error error = readDefaults())
    return error;
  auto built = build(defaults);
  if (!built)
    return built.takeError();
  auto chosen = chosenExtentsOf(*module);
  if (!chosen)
    return chosen.takeError();
  Signature signature(program);
  auto accepted = acceptedInputs(*(*built)->object, signature, *chosen, threadCount());
  if (!accepted)
    return accepted.takeError();
  inputs = std::move(*accepted);
  auto extents = extentsFrom(signature, inputs);
  if (!extents)
    return extents.takeError();
  auto key = driver.tuningKey(program, driver.getOptions().targets.front());
  if (failed(key))
    return llvm::createStringError("the target is unknown");
  tuned = std::move(*key);
  tuned.extents = extentsText(signature, *extents);
  tuned.threads = threadCount();
  return llvm::Error::success();
}

llvm::Error KernelTuner::readDefaults() {
  driver.useSchedules("");
  mlir::OwningOpRef<mlir::ModuleOp> decided = module->clone();
  if (failed(driver.lower(*decided, "decide")))
    return llvm::createStringError("the stages down to `decide` failed");
  defaults = schedulesOf(*decided);
  facts = factsOf(*decided);
  // Where the user names a route, or the target has one, there is nothing to choose.
  auto wanted = (*module)->getAttrOfType<mlir::StringAttr>("attn.route");
  auto target = findTarget(driver.getOptions().targets.front());
  if (!target)
    return target.takeError();
  for (StageFacts &each : facts)
    each.hasRoutes = each.kind != StageShape::Nest && hasHalide() && !target->isCuda() && !target->hasDevice() &&
                     (!wanted || wanted == "auto");
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<KernelTuner::Built>> KernelTuner::build(const KernelSchedule &schedule) {
  driver.useSchedules(printSchedules(schedule));
  auto built = std::make_unique<Built>();
  built->key = scheduleKey(schedule);
  auto object = loadObject(driver, *module);
  if (!object)
    return object.takeError();
  built->object = std::move(*object);
  return std::move(built);
}

/// The schedule as code, warm; null where that fails. The last two are kept: a candidate and the best.
KernelTuner::Built *KernelTuner::ready(const KernelSchedule &schedule) {
  std::string key = scheduleKey(schedule);
  auto known = llvm::find_if(kept, [&](auto &each) { return each->key == key; });
  if (known != kept.end()) {
    std::rotate(known, known + 1, kept.end());
    return kept.back().get();
  }
  // What a route cannot say is no news here.
  mlir::ScopedDiagnosticHandler quiet(module->getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  auto built = build(schedule);
  if (!built)
    return llvm::consumeError(built.takeError()), nullptr;
  auto call = Call::prepare(*(*built)->object, Signature(program), inputs, threadCount());
  if (!call)
    return llvm::consumeError(call.takeError()), nullptr;
  (*built)->timed.call = std::move(*call);
  if (llvm::Error error = (*built)->timed.warmUp())
    return llvm::consumeError(std::move(error)), nullptr;
  if (kept.size() == 2)
    kept.erase(kept.begin());
  kept.push_back(std::move(*built));
  return kept.back().get();
}

std::optional<double> KernelTuner::ratio(const KernelSchedule &candidate, const KernelSchedule &best, bool thorough) {
  auto first = ready(candidate), second = ready(best);
  if (!first || !second)
    return std::nullopt;
  std::vector<double> ratios;
  for (int round = 0; round < (thorough ? 15 : 5); ++round) {
    for (Built *each : {first, second}) {
      each->timed.seconds.clear();
      if (llvm::Error error = each->timed.sample())
        return llvm::consumeError(std::move(error)), std::nullopt;
    }
    ratios.push_back(median(first->timed.seconds) / median(second->timed.seconds));
    // Far behind is far enough.
    if (round == 1 && !thorough && median(ratios) > 1.1)
      break;
  }
  return median(ratios);
}

/// Odd extents around small tiles, on ordinary inputs and on each adversarial kind in turn.
void KernelTuner::makeCheckCases() {
  Signature signature(program);
  Chosen fixed(driver.getOptions().defines.begin(), driver.getOptions().defines.end());
  llvm::ArrayRef<reference::InputCase> kinds = reference::inputCases();
  std::vector<Extents> grid = extentGrid(signature, fixed, {8, 64}, /*operations=*/1e5);
  if (grid.size() > mostCheckedExtents)
    grid.resize(mostCheckedExtents);
  for (auto [i, extents] : llvm::enumerate(grid))
    for (size_t kind : {size_t(0), 1 + i % (kinds.size() - 1)}) {
      auto accepted = makeAcceptedInputs(signature, extents, kinds[kind], chosenSeed());
      if (accepted)
        cases.push_back(std::move(*accepted));
      else
        llvm::consumeError(accepted.takeError());
    }
}

bool KernelTuner::agrees(LoadedObject &object, const AcceptedInputs &given) {
  auto call = Call::prepare(object, Signature(program), given.inputs, /*threads=*/2);
  if (!call)
    return llvm::consumeError(call.takeError()), false;
  if (llvm::Error error = (*call)->run())
    return llvm::consumeError(std::move(error)), false;
  auto results = (*call)->results();
  if (!results)
    return llvm::consumeError(results.takeError()), false;
  return llvm::all_of(given.expected, [&](const auto &result) {
    auto found = results->find(result.first);
    if (found == results->end())
      return true;
    auto comparison = reference::compare(result.first, result.second, found->second);
    if (!comparison)
      return llvm::consumeError(comparison.takeError()), false;
    return comparison->outcome() != Outcome::Mismatch;
  });
}

bool KernelTuner::isRight(const KernelSchedule &candidate) {
  if (cases.empty())
    makeCheckCases();
  Built *built = ready(candidate);
  // What cannot be checked is not kept.
  return built && !cases.empty() &&
         llvm::all_of(cases, [&](const AcceptedInputs &each) { return agrees(*built->object, each); });
}
