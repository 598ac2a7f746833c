//===- Compile.cpp - from a plan to code through Halide -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every exception of Halide ends here.
//===----------------------------------------------------------------------===//
#include "schedules/halide/CompileStage.h"

#include "schedules/halide/Decode.h"
#include "schedules/halide/Device.h"
#include "schedules/halide/Flash.h"
#include "schedules/halide/Product.h"
#include "schedules/halide/Scratch.h"
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace attn;

bool attn::hasHalide() { return true; }

static Halide::Target targetOf(const HalideMachine &machine) {
  using T = Halide::Target;
  std::vector<T::Feature> features{T::NoRuntime, T::NoBoundsQuery, T::StrictFloat, T::LargeBuffers, T::UserContext};
  // Bounds and strides are the caller's business; memory is its arena. Devices fail, and only assertions say so.
  if (machine.device == DeviceInterface::None)
    features.push_back(T::NoAsserts);
  if (machine.device == DeviceInterface::OpenCL)
    features.insert(features.end(), {T::OpenCL, T::CLDoubles});
  if (machine.device == DeviceInterface::Cuda) // Later devices translate PTX of this one.
    features.insert(features.end(), {T::CUDA, T::CUDACapability70});
  if (machine.device == DeviceInterface::Vulkan)
    features.insert(features.end(), {T::Vulkan, T::VulkanInt8, T::VulkanInt16, T::VulkanInt64, T::VulkanV13});
  if (machine.kind == HalideMachine::X86_AVX2 || machine.kind == HalideMachine::X86_AVX512)
    features.insert(features.end(), {T::SSE41, T::AVX, T::AVX2, T::FMA, T::F16C});
  // Else vectors of 512 bits are loaded in halves.
  if (machine.kind == HalideMachine::X86_AVX512)
    features.insert(features.end(), {T::AVX512, T::AVX512_Skylake});
  return T(T::Linux, machine.kind == HalideMachine::AArch64 ? T::ARM : T::X86, 64, features);
}

namespace {
/// A file that is gone when its owner is.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const std::string &suffix) {
    const char *folder = std::getenv("TMPDIR");
    std::string text = std::string(folder ? folder : "/tmp") + "/attnc-XXXXXX" + suffix;
    int descriptor = mkstemps(text.data(), int(suffix.size()));
    if (descriptor < 0)
      return;
    close(descriptor);
    path = text;
  }
  ~TemporaryFile() {
    if (!path.empty())
      unlink(path.c_str());
  }
  std::string read() const {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << stream.rdbuf();
    return bytes.str();
  }
};
} // namespace

static std::unique_ptr<StageParts> makePipeline(const StagePlan &plan) {
  switch (plan.part) {
  case PlanPart::Tile:
    return std::make_unique<FlashPipeline>(plan);
  case PlanPart::Chunk:
    return std::make_unique<ChunkPipeline>(plan);
  case PlanPart::Merge:
    return std::make_unique<MergePipeline>(plan);
  case PlanPart::Product:
    return std::make_unique<ProductPipeline>(plan);
  case PlanPart::Device:
    return std::make_unique<DevicePipeline>(plan);
  }
  throw Halide::InternalError("a part of a stage without a pipeline");
}

/// A function of the plan's scalars that says what a task allocates.
static void appendScratch(Halide::Module &module, StageParts &parts, const std::string &symbol) {
  Halide::Func bytes("bytes");
  bytes() = scratchBytes(module.get_function_by_name(symbol), parts);
  std::vector<Halide::Argument> scalars(parts.stageInputs().scalars.begin(), parts.stageInputs().scalars.end());
  Halide::Module made = bytes.compile_to_module(scalars, symbol + ".scratch", module.target());
  for (const Halide::Internal::LoweredFunc &function : made.functions())
    module.append(function);
}

static std::string generate(const StagePlan &plan, const HalideMachine &machine, HalideOutput output) {
  std::unique_ptr<StageParts> parts = makePipeline(plan);
  parts->schedule();
  Halide::Pipeline pipeline = parts->pipeline();
  if (output == HalideOutput::Schedule) {
    std::ostringstream text;
    std::streambuf *before = std::cerr.rdbuf(text.rdbuf());
    pipeline.print_loop_nest();
    std::cerr.rdbuf(before);
    return text.str();
  }
  auto [kind, suffix] = output == HalideOutput::Bitcode ? std::pair(Halide::OutputFileType::bitcode, ".bc")
                        : output == HalideOutput::Stmt  ? std::pair(Halide::OutputFileType::stmt, ".stmt")
                                                        : std::pair(Halide::OutputFileType::stmt_html, ".html");
  TemporaryFile file(suffix);
  if (file.path.empty())
    throw Halide::RuntimeError("no temporary file can be made");
  Halide::Module module = pipeline.compile_to_module(parts->arguments(), plan.symbol, targetOf(machine));
  appendScratch(module, *parts, plan.symbol);
  module.compile({{kind, file.path}});
  return file.read();
}

static std::string generateRuntime(const HalideMachine &machine) {
  TemporaryFile file(".bc");
  if (file.path.empty())
    throw Halide::RuntimeError("no temporary file can be made");
  using T = Halide::Target;
  T target = targetOf(machine).without_feature(T::NoRuntime).without_feature(T::StrictFloat);
  Halide::Module("runtime", target).compile({{Halide::OutputFileType::bitcode, file.path}});
  return file.read();
}

/// What `make` gives, or what it throws.
template <typename Make> static HalideCode guarded(Make make) {
  try {
    return {make(), ""};
  } catch (const Halide::Error &error) {
    return {"", std::string("Halide: ") + error.what()};
  } catch (const std::exception &error) {
    return {"", std::string("Halide: ") + error.what()};
  }
}

HalideCode attn::compileStage(const StagePlan &plan, const HalideMachine &machine, HalideOutput output) {
  return guarded([&] { return generate(plan, machine, output); });
}

HalideCode attn::compileRuntime(const HalideMachine &machine) {
  return guarded([&] { return generateRuntime(machine); });
}
