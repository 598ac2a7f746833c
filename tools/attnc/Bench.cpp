//===- Bench.cpp - attnc bench --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times the kernels of a spec and, alternating with them, what the machine can do at most; reports medians of all.
// Absolute times on a shared machine say little, ratios of what is measured in the same seconds say more.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Execute.h"
#include "tools/attnc/Limits.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"
#include "tools/attnc/Timing.h"
#include "tools/attnc/Work.h"
#include "schedules/Target.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;

static cl::opt<bool> asJson("json", cl::desc("Print JSON: an object, or a list of them for several kernels"), cl::sub(benchCommand()));
static cl::opt<bool> onlyLimits("limits", cl::desc("Measure what the machine can do, and no kernel"), cl::sub(benchCommand()));
static cl::opt<double> workingSet("working-set", cl::desc("With --limits: how many bytes are read again and again (default: as many as no cache holds)"), cl::init(1e18), cl::sub(benchCommand()));
static cl::opt<double> budget("seconds", cl::desc("How long to measure each kernel (default 2)"), cl::init(2), cl::sub(benchCommand()));

namespace {

/// A kernel with inputs, and what it does in one call.
struct Candidate {
  std::string kernel, extents;
  TimedCall timed;
  double operations, bytes;
};

/// Medians: operations per second, and bytes per second for as many bytes as each kernel reads (without kernels, one).
struct MachineLimits {
  double fma = 0;
  std::vector<double> read;
};

/// Rounds of both limits and of every kernel, until the time is up.
llvm::Expected<MachineLimits> measure(std::vector<Candidate> &candidates, int threads) {
  std::vector<std::string> targets = givenTargets();
  auto target = findTarget(targets.empty() ? "host" : targets.front());
  if (!target)
    return target.takeError();
  Limits limits(threads, target->lanes);
  for (Candidate &candidate : candidates)
    if (llvm::Error error = candidate.timed.warmUp())
      return std::move(error);
  std::vector<double> fma;
  std::vector<std::vector<double>> read(std::max<size_t>(candidates.size(), 1));
  Clock::time_point begin = Clock::now();
  while (fma.size() < 5 || secondsSince(begin) < budget * candidates.size()) {
    fma.push_back(limits.sampleFma());
    if (candidates.empty())
      read[0].push_back(limits.sampleRead(workingSet));
    for (auto [candidate, rates] : llvm::zip(candidates, read)) {
      rates.push_back(limits.sampleRead(candidate.bytes));
      if (llvm::Error error = candidate.timed.sample())
        return std::move(error);
    }
  }
  MachineLimits result{median(fma), {}};
  for (std::vector<double> &rates : read)
    result.read.push_back(median(rates));
  return result;
}

struct Report {
  std::string kernel, extents;
  int threads;
  double median, minimum, spread;
  double operations, bytes;
  /// This processor's limits; 0 where the kernel runs on a device.
  double fma, read;

  bool hasLimits() const { return fma > 0; }
  bool boundByFma() const { return operations / fma >= bytes / read; }
  double fraction() const { return std::max(operations / fma, bytes / read) / median; }

  void printJson(llvm::json::OStream &json) const {
    json.object([&] {
      json.attribute("kernel", kernel);
      json.attribute("extents", extents);
      json.attribute("threads", threads);
      json.attribute("median_s", median);
      json.attribute("min_s", minimum);
      json.attribute("spread", spread);
      json.attribute("gflops", operations / median / 1e9);
      json.attribute("gbytes_per_s", bytes / median / 1e9);
      if (!hasLimits())
        return;
      json.attribute("limit", boundByFma() ? "fma" : "memory");
      json.attribute("fraction_of_limit", fraction());
      json.attribute("fma_gflops", fma / 1e9);
      json.attribute("memory_gbytes_per_s", read / 1e9);
    });
  }

  void printText() const {
    llvm::outs() << kernel << ' ' << extents << ", " << threads << (threads == 1 ? " thread\n" : " threads\n")
                 << llvm::format("  median %.3f ms, min %.3f ms, spread %.0f %%\n", median * 1e3, minimum * 1e3, spread * 100)
                 << llvm::format("  %.1f GFLOP/s, %.2f GB/s\n", operations / median / 1e9, bytes / median / 1e9);
    if (hasLimits())
      llvm::outs() << llvm::format("  %.0f %% of the limit, which is %s (FMA %.1f GFLOP/s, memory or cache %.1f GB/s)\n",
                                   fraction() * 100, boundByFma() ? "FMA" : "memory", fma / 1e9, read / 1e9);
  }
};

llvm::Expected<Candidate> prepare(LoadedObject &object, const Signature &program, const Chosen &chosen, int threads,
                                  Device *device) {
  auto inputs = acceptedInputs(object, program, chosen, threads, device);
  if (!inputs)
    return inputs.takeError();
  auto extents = extentsFrom(program, *inputs);
  if (!extents)
    return extents.takeError();
  auto lengths = lengthsOf(program, *inputs);
  if (!lengths)
    return lengths.takeError();
  auto density = [&](mlir::Value condition) { return densityOf(program, *inputs, condition); };
  auto operations = countOperations(program, *extents, density, *lengths);
  if (!operations)
    return operations.takeError();
  auto call = Call::prepare(object, program, *inputs, threads, Layout::Compact, device);
  if (!call)
    return call.takeError();
  Candidate candidate;
  candidate.kernel = program.name.str();
  candidate.extents = extentsText(program, *extents);
  candidate.timed.call = std::move(*call);
  candidate.operations = *operations;
  candidate.bytes = double(candidate.timed.call->argumentBytes());
  return candidate;
}

Report reportOn(const Candidate &candidate, double fma, double read, int threads) {
  Report report;
  report.kernel = candidate.kernel;
  report.extents = candidate.extents;
  report.threads = threads;
  report.median = median(candidate.timed.seconds);
  report.minimum = *llvm::min_element(candidate.timed.seconds);
  std::vector<double> deviations;
  for (double seconds : candidate.timed.seconds)
    deviations.push_back(std::abs(seconds - report.median));
  report.spread = median(deviations) / report.median;
  report.operations = candidate.operations;
  report.bytes = candidate.bytes;
  report.fma = fma;
  report.read = read;
  return report;
}

llvm::Expected<std::vector<Report>> bench(Driver &driver, mlir::ModuleOp module) {
  auto object = loadObject(driver, module);
  if (!object)
    return object.takeError();
  auto chosen = chosenExtentsOf(module);
  if (!chosen)
    return chosen.takeError();
  auto device = openDevice(driver, /*mayBeSimulated=*/false);
  if (!device)
    return device.takeError();
  int count = threadCount();
  std::vector<Candidate> candidates;
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    auto candidate = prepare(**object, Signature(program), *chosen, count, device->get());
    if (!candidate)
      return candidate.takeError();
    candidates.push_back(std::move(*candidate));
  }
  auto limits = *device ? llvm::Expected<MachineLimits>(MachineLimits{}) : measure(candidates, count);
  if (!limits)
    return limits.takeError();
  std::vector<Report> reports;
  for (auto [i, candidate] : llvm::enumerate(candidates))
    reports.push_back(reportOn(candidate, limits->fma, limits->read.empty() ? 0 : limits->read[i], count));
  return reports;
}

void printLimits(const MachineLimits &limits, int threads) {
  if (!asJson) {
    llvm::outs() << llvm::format("FMA %.1f GFLOP/s, memory %.1f GB/s, ", limits.fma / 1e9, limits.read[0] / 1e9) << threads
                 << (threads == 1 ? " thread\n" : " threads\n");
    return;
  }
  llvm::json::OStream json(llvm::outs(), 2);
  json.object([&] {
    json.attribute("threads", threads);
    json.attribute("fma_gflops", limits.fma / 1e9);
    json.attribute("memory_gbytes_per_s", limits.read[0] / 1e9);
  });
  json.flush();
  llvm::outs() << '\n';
}

void print(const std::vector<Report> &reports) {
  if (!asJson) {
    for (const Report &report : reports)
      report.printText();
    return;
  }
  llvm::json::OStream json(llvm::outs(), 2);
  auto each = [&] {
    for (const Report &report : reports)
      report.printJson(json);
  };
  reports.size() == 1 ? each() : json.array(each);
  json.flush();
  llvm::outs() << '\n';
}

} // namespace

int attnc::runBench() {
  if (onlyLimits) {
    std::vector<Candidate> none;
    auto limits = measure(none, threadCount());
    if (!limits) {
      printError(limits.takeError());
      return failure;
    }
    printLimits(*limits, threadCount());
    return success;
  }
  auto loaded = loadSpec();
  if (!loaded)
    return failure;
  auto reports = bench(*loaded->driver, *loaded->module);
  if (!reports) {
    printError(reports.takeError());
    return failure;
  }
  print(*reports);
  return success;
}
