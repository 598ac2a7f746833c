//===- Device.h - where kernels for CUDA devices run ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a device, and the launcher (attn/cuda.h) that a context gets for it. One implementation is this
// machine's, the other executes the object's own PTX in the simulator (tools/ptx). It knows no kernel and no argument.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_DEVICE_H
#define ATTN_TOOLS_ATTNC_DEVICE_H

#include "attn/cuda.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace attnc {

class Device {
public:
  virtual ~Device() = default;

  /// What it is, in a word or two, such as `the PTX simulator`.
  virtual std::string name() const = 0;
  /// Memory aligned to 256 bytes. `name` is for messages. What kernels write into read-only memory is a fault, where
  /// that can be seen.
  virtual llvm::Expected<uint64_t> allocate(llvm::StringRef name, size_t bytes, bool readOnly) = 0;
  virtual void release(uint64_t address) = 0;
  virtual llvm::Error upload(uint64_t to, llvm::ArrayRef<uint8_t> bytes) = 0;
  virtual llvm::Error download(llvm::MutableArrayRef<uint8_t> bytes, uint64_t from) = 0;
  /// Makes kernels that are called with the context run here.
  virtual void attach(attn_context &context) = 0;
  /// Waits for what was launched. An error says what kernels did wrong.
  virtual llvm::Error finish() = 0;
  /// Another order of threads, where there is a choice; 0 is the usual one.
  virtual void reorder(uint64_t seed) {}
};

/// Executes PTX without a GPU. Whatever a kernel does wrong is a fault, races and uninitialised reads among it. `counts`
/// gets an object for each launch, with what docs/ptx-simulator.md says; null: nobody counts.
std::unique_ptr<Device> makeSimulator(llvm::json::Array *counts = nullptr);
/// The first CUDA device of this machine; an error says why there is none.
llvm::Expected<std::unique_ptr<Device>> openGpu();

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_DEVICE_H
