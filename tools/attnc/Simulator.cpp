//===- Simulator.cpp - kernels for CUDA devices without one ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Device.h"

#include "tools/ptx/Device.h"
#include "tools/ptx/Program.h"
#include <map>

using namespace attn;
using namespace attnc;

namespace {
class Simulator : public Device {
public:
  explicit Simulator(llvm::json::Array *counts) : counts(counts) {}
  std::string name() const override { return "the PTX simulator"; }

  llvm::Expected<uint64_t> allocate(llvm::StringRef name, size_t bytes, bool readOnly) override {
    return memory.allocate(name, bytes, readOnly);
  }
  void release(uint64_t address) override { memory.release(address); }

  llvm::Error upload(uint64_t to, llvm::ArrayRef<uint8_t> bytes) override {
    ptx::Allocation *into = memory.find(to);
    if (!into || to - into->address + bytes.size() > into->bytes.size())
      return llvm::createStringError("a copy to the simulator's memory does not fit");
    std::copy(bytes.begin(), bytes.end(), into->bytes.begin() + (to - into->address));
    std::fill_n(into->written.begin() + (to - into->address), bytes.size(), 1);
    return llvm::Error::success();
  }
  llvm::Error download(llvm::MutableArrayRef<uint8_t> bytes, uint64_t from) override {
    ptx::Allocation *allocation = memory.find(from);
    if (!allocation || from - allocation->address + bytes.size() > allocation->bytes.size())
      return llvm::createStringError("a copy from the simulator's memory does not fit");
    std::copy_n(allocation->bytes.begin() + (from - allocation->address), bytes.size(), bytes.begin());
    return llvm::Error::success();
  }

  void attach(attn_context &context) override {
    context.cuda = &launcher;
    context.user = this;
  }
  void reorder(uint64_t order) override { seed = order; }

  llvm::Error finish() override {
    std::string text = std::move(faults);
    faults.clear();
    return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
  }

private:
  llvm::Expected<const ptx::Program *> find(const attn_cuda_launch &launch) {
    std::unique_ptr<ptx::Program> &program = programs[{launch.module, launch.kernel}];
    if (program)
      return program.get();
    std::unique_ptr<ptx::Module> &module = modules[launch.module];
    if (!module) {
      auto parsed = ptx::Module::parse(ptxOf(*launch.module));
      if (!parsed)
        return parsed.takeError();
      module = std::make_unique<ptx::Module>(std::move(*parsed));
    }
    auto decoded = ptx::Program::decode(*module, launch.kernel);
    if (!decoded)
      return decoded.takeError();
    program = std::make_unique<ptx::Program>(std::move(*decoded));
    return program.get();
  }

  static llvm::StringRef ptxOf(const attn_cuda_module &module) {
    for (int64_t i = 0; i < module.num_images; ++i)
      if (!module.images[i].is_binary)
        return {module.images[i].data, size_t(module.images[i].bytes - 1)};
    return "";
  }

  llvm::Error run(const attn_cuda_launch &launch) {
    auto program = find(launch);
    if (!program)
      return program.takeError();
    ptx::Launch how;
    how.grid = {unsigned(launch.blocks), 1, 1};
    how.block = {unsigned(launch.threads), 1, 1};
    how.dynamicShared = launch.shared_bytes;
    how.seed = seed;
    llvm::ArrayRef<uint8_t> frame(static_cast<const uint8_t *>(launch.frame), launch.frame_bytes);
    if (!how.setParameter(**program, 0, frame))
      return llvm::createStringError("its parameter is not " + llvm::Twine(launch.frame_bytes) + " bytes long");
    memory.forgetWrites();
    auto report = ptx::launch(**program, memory, how);
    if (!report)
      return report.takeError();
    if (counts) {
      llvm::json::Object count = std::move(*report->toJson().getAsObject());
      count["kernel"] = launch.kernel;
      count["blocks"] = launch.blocks;
      count["threads"] = launch.threads;
      count["shared_bytes"] = launch.shared_bytes;
      counts->push_back(std::move(count));
    }
    llvm::raw_string_ostream text(faults);
    if (!report->clean())
      text << "kernel " << launch.kernel << " in the PTX simulator:\n";
    report->print(text);
    return llvm::Error::success();
  }

  static attn_status explain(attn_context *context, llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (context->message_size) {
      size_t length = std::min(text.size(), context->message_size - 1);
      std::copy_n(text.data(), length, context->message);
      context->message[length] = 0;
    }
    return ATTN_UNSUPPORTED;
  }
  static Simulator &of(attn_context *context) { return *static_cast<Simulator *>(context->user); }

  static attn_status startKernel(attn_context *context, const attn_cuda_launch *launch) {
    if (llvm::Error error = of(context).run(*launch))
      return explain(context, llvm::createStringError(llvm::Twine("kernel ") + launch->kernel +
                                                      " in the PTX simulator: " + llvm::toString(std::move(error))));
    return ATTN_OK;
  }
  static attn_status allocateWorkspace(attn_context *context, int64_t bytes, void **place) {
    *place = reinterpret_cast<void *>(of(context).memory.allocate("workspace", bytes));
    return ATTN_OK;
  }
  static attn_status releaseWorkspace(attn_context *context, void *place) {
    of(context).memory.release(reinterpret_cast<uint64_t>(place));
    return ATTN_OK;
  }

  static constexpr attn_cuda launcher = {startKernel, allocateWorkspace, releaseWorkspace};

  llvm::json::Array *counts;
  ptx::Device memory;
  uint64_t seed = 0;
  std::map<const attn_cuda_module *, std::unique_ptr<ptx::Module>> modules;
  std::map<std::pair<const attn_cuda_module *, llvm::StringRef>, std::unique_ptr<ptx::Program>> programs;
  std::string faults;
};
} // namespace

std::unique_ptr<Device> attnc::makeSimulator(llvm::json::Array *counts) { return std::make_unique<Simulator>(counts); }
