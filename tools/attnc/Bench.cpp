//===- Bench.cpp - attnc bench --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times a kernel and, alternating with it, what the machine can do at most; reports medians of both. Absolute times on a
// shared machine say little, the fraction of a limit measured in the same seconds says more.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Execute.h"
#include "tools/attnc/Limits.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"
#include "tools/attnc/Work.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Threading.h"
#include <chrono>

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;
using Clock = std::chrono::steady_clock;

static cl::opt<bool> asJson("json", cl::desc("Print one JSON object"), cl::sub(benchCommand()));
static cl::opt<double> budget("seconds", cl::desc("How long to measure (default 2)"), cl::init(2), cl::sub(benchCommand()));

namespace {

double median(std::vector<double> samples) {
  auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Measured {
  std::vector<double> seconds; // of one call each
  double fma, read;            // medians: operations and bytes per second
};

llvm::Expected<Measured> measure(Call &call, int threads) {
  Limits limits(threads);
  if (llvm::Error error = call.run())
    return std::move(error);
  Clock::time_point first = Clock::now();
  if (llvm::Error error = call.runAgain())
    return std::move(error);
  // A sample is several calls where one is too short for the clock.
  int64_t repeats = std::clamp<int64_t>(2e-4 / std::max(secondsSince(first), 1e-9), 1, 10000);

  Measured measured;
  std::vector<double> fma, read;
  Clock::time_point begin = Clock::now();
  while (measured.seconds.size() < 5 || secondsSince(begin) < budget) {
    fma.push_back(limits.sampleFma());
    // The kernel runs about as long as the limits do, on a cache that the read has emptied once.
    read.push_back(limits.sampleRead());
    Clock::time_point round = Clock::now();
    do {
      Clock::time_point start = Clock::now();
      for (int64_t i = 0; i < repeats; ++i)
        if (llvm::Error error = call.runAgain())
          return std::move(error);
      measured.seconds.push_back(secondsSince(start) / repeats);
    } while (secondsSince(round) < 0.02);
  }
  measured.fma = median(fma);
  measured.read = median(read);
  return measured;
}

struct Report {
  std::string kernel, extents;
  int threads;
  double median, minimum, spread;
  double operations, bytes;
  double fma, read;

  bool boundByFma() const { return operations / fma >= bytes / read; }
  double fraction() const { return std::max(operations / fma, bytes / read) / median; }

  void printJson() const {
    llvm::json::OStream json(llvm::outs(), 2);
    json.object([&] {
      json.attribute("kernel", kernel);
      json.attribute("extents", extents);
      json.attribute("threads", threads);
      json.attribute("median_s", median);
      json.attribute("min_s", minimum);
      json.attribute("spread", spread);
      json.attribute("gflops", operations / median / 1e9);
      json.attribute("gbytes_per_s", bytes / median / 1e9);
      json.attribute("limit", boundByFma() ? "fma" : "memory");
      json.attribute("fraction_of_limit", fraction());
      json.attribute("fma_gflops", fma / 1e9);
      json.attribute("memory_gbytes_per_s", read / 1e9);
    });
    llvm::outs() << '\n';
  }

  void printText() const {
    llvm::outs() << kernel << ' ' << extents << ", " << threads << (threads == 1 ? " thread\n" : " threads\n")
                 << llvm::format("  median %.3f ms, min %.3f ms, spread %.0f %%\n", median * 1e3, minimum * 1e3, spread * 100)
                 << llvm::format("  %.1f GFLOP/s, %.2f GB/s\n", operations / median / 1e9, bytes / median / 1e9)
                 << llvm::format("  %.0f %% of the limit, which is %s (FMA %.1f GFLOP/s, memory %.1f GB/s)\n",
                                 fraction() * 100, boundByFma() ? "FMA" : "memory", fma / 1e9, read / 1e9);
  }
};

/// The inputs of --in, or made-up ones that the kernel accepts.
llvm::Expected<reference::Buffers> acceptedInputs(LoadedObject &object, const Signature &program, int threads) {
  if (hasGivenInputs())
    return gatherInputs(program);
  auto chosen = chosenExtents();
  if (!chosen)
    return chosen.takeError();
  auto extents = extentsFrom(program, *chosen);
  if (!extents)
    return extents.takeError();
  for (unsigned shrink = 0;; ++shrink) {
    auto inputs = makeInputs(program, *extents, reference::inputCases().front(), chosenSeed(), shrink);
    if (!inputs)
      return inputs.takeError();
    auto call = Call::prepare(object, program, *inputs, threads);
    if (!call)
      return call.takeError();
    llvm::Error error = (*call)->run();
    if (!error)
      return inputs;
    if (shrink == lastShrink)
      return std::move(error);
    llvm::consumeError(std::move(error));
  }
}

llvm::Expected<Report> bench(Driver &driver, mlir::ModuleOp module) {
  auto program = onlyProgram(module);
  if (!program)
    return program.takeError();
  auto object = loadObject(driver, module);
  if (!object)
    return object.takeError();
  int count = threads > 0 ? int(threads) : int(llvm::hardware_concurrency().compute_thread_count());
  auto inputs = acceptedInputs(**object, *program, count);
  if (!inputs)
    return inputs.takeError();
  auto extents = extentsFrom(*program, *inputs);
  if (!extents)
    return extents.takeError();
  auto operations = countOperations(*program, *extents, [&](mlir::Value condition) {
    return densityOf(*program, *inputs, condition);
  });
  if (!operations)
    return operations.takeError();

  auto call = Call::prepare(**object, *program, *inputs, count);
  if (!call)
    return call.takeError();
  auto measured = measure(**call, count);
  if (!measured)
    return measured.takeError();

  Report report;
  report.kernel = program->name.str();
  report.extents = extentsText(*program, *extents);
  report.threads = count;
  report.median = median(measured->seconds);
  report.minimum = *std::min_element(measured->seconds.begin(), measured->seconds.end());
  std::vector<double> deviations;
  for (double seconds : measured->seconds)
    deviations.push_back(std::abs(seconds - report.median));
  report.spread = median(deviations) / report.median;
  report.operations = *operations;
  report.bytes = double((*call)->argumentBytes());
  report.fma = measured->fma;
  report.read = measured->read;
  return report;
}

} // namespace

int attnc::runBench() {
  auto loaded = loadSpec();
  if (!loaded)
    return failure;
  auto report = bench(*loaded->driver, *loaded->module);
  if (!report) {
    printError(report.takeError());
    return failure;
  }
  asJson ? report->printJson() : report->printText();
  return success;
}
