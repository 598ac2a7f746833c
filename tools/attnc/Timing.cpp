//===- Timing.cpp - time calls of compiled kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Timing.h"

#include "tools/attnc/Arguments.h"
#include "tools/attnc/Options.h"
#include "llvm/Support/Threading.h"

using namespace attn;
using namespace attnc;

double attnc::median(std::vector<double> samples) {
  auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

double attnc::secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

llvm::Error TimedCall::warmUp() {
  if (llvm::Error error = call->run())
    return error;
  Clock::time_point first = Clock::now();
  if (llvm::Error error = call->runAgain())
    return error;
  repeats = std::clamp<int64_t>(2e-4 / std::max(secondsSince(first), 1e-9), 1, 10000);
  return llvm::Error::success();
}

llvm::Error TimedCall::sample() {
  Clock::time_point round = Clock::now();
  do {
    Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < repeats; ++i)
      if (llvm::Error error = call->runAgain())
        return error;
    seconds.push_back(secondsSince(start) / repeats);
  } while (secondsSince(round) < 0.02);
  return llvm::Error::success();
}

int attnc::threadCount() {
  return threads > 0 ? int(threads) : int(llvm::hardware_concurrency().compute_thread_count());
}

static bool hasAxis(const Signature &program, llvm::StringRef name) {
  return llvm::any_of(program.axes, [&](AxisAttr axis) { return axis.getName().getValue() == name; });
}

llvm::Expected<Chosen> attnc::chosenExtentsOf(mlir::ModuleOp module) {
  auto chosen = chosenExtents();
  if (!chosen)
    return chosen.takeError();
  for (const auto &[name, extent] : *chosen)
    if (llvm::none_of(programsOf(module), [&, axis = llvm::StringRef(name)](const Signature &each) { return hasAxis(each, axis); }))
      return llvm::createStringError("'" + name + "' is not an axis of any kernel");
  return chosen;
}

llvm::Expected<reference::Buffers> attnc::acceptedInputs(LoadedObject &object, const Signature &program, Chosen chosen, int threads, Device *device) {
  if (hasGivenInputs() && chosen.empty())
    return gatherInputs(program);
  auto given = givenInputs(program);
  if (!given)
    return given.takeError();
  llvm::erase_if(chosen, [&](const auto &each) { return !hasAxis(program, each.first); });
  auto extents = extentsFrom(program, chosen);
  if (!extents)
    return extents.takeError();
  for (unsigned attempt = 0;; ++attempt) {
    auto inputs = makeInputs(program, *extents, reference::inputCases().front(), chosenSeed(), attempt / 2,
                             /*least=*/attempt % 2);
    if (!inputs)
      return inputs.takeError();
    for (const auto &[name, buffer] : *given)
      (*inputs)[name] = buffer;
    auto call = Call::prepare(object, program, *inputs, threads, Layout::Compact, device);
    if (!call)
      return call.takeError();
    llvm::Error error = (*call)->run();
    if (!error)
      return inputs;
    if (attempt / 2 == lastShrink)
      return std::move(error);
    llvm::consumeError(std::move(error));
  }
}
