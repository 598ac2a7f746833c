//===- Execute.h - run compiled kernels on buffers --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a spec to an object, loads those very bytes, and calls its kernels as a C program would. Results lie between
// guards, and are filled with garbage first, so that a kernel that writes too much or too little is seen.
//===----------------------------------------------------------------------===//
#ifndef ATTN_TOOLS_ATTNC_EXECUTE_H
#define ATTN_TOOLS_ATTNC_EXECUTE_H

#include "compiler/Driver.h"
#include "compiler/Loader.h"
#include "dialects/reference/Buffer.h"
#include "tools/attnc/Device.h"

namespace attnc {

/// Compiles to an object and loads its bytes.
llvm::Expected<std::unique_ptr<attn::LoadedObject>> loadObject(attn::Driver &driver, mlir::ModuleOp module);
/// Loads an object file.
llvm::Expected<std::unique_ptr<attn::LoadedObject>> loadObject(llvm::StringRef path);

/// What the kernels of the driver's target run on: null for this processor, otherwise the machine's device or, where that
/// will do and there is none, the simulator.
llvm::Expected<std::unique_ptr<Device>> openDevice(const attn::Driver &driver, bool mayBeSimulated);

/// How arguments lie in memory.
enum class Layout {
  /// Row-major, strides null.
  Compact,
  /// Rows are longer than their elements, and the first element is not aligned to a vector.
  Padded,
  /// Every second element.
  Strided,
  /// Inputs backwards: all strides negative. Results as Padded.
  Reversed
};
constexpr Layout layouts[] = {Layout::Compact, Layout::Padded, Layout::Strided, Layout::Reversed};
llvm::StringRef layoutName(Layout layout);

/// One call that can be made again and again: arguments in place, results allocated.
class Call {
public:
  /// `threads` 0: all. An error where the results' shapes do not follow from the inputs. On a device the arguments are
  /// copies in its memory; null: in this process.
  static llvm::Expected<std::unique_ptr<Call>> prepare(attn::LoadedObject &object, const attn::Signature &signature,
                                                       const attn::reference::Buffers &inputs, int threads,
                                                       Layout layout = Layout::Compact, Device *device = nullptr);
  ~Call();

  /// Calls the kernel with fresh results and inouts, and waits. An error is the kernel's message when it refuses.
  llvm::Error run();
  /// The same on whatever results and inouts hold: the kernel and nothing else, for timing.
  llvm::Error runAgain();
  /// Results and inouts after `run`. An error where the kernel wrote anything else, or a device found a fault.
  llvm::Expected<attn::reference::Buffers> results();
  /// Bytes of the kernel's workspace.
  llvm::Expected<size_t> workspaceBytes();
  /// Bytes of all arguments and results.
  int64_t argumentBytes() const;

private:
  struct State;
  explicit Call(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace attnc

#endif // ATTN_TOOLS_ATTNC_EXECUTE_H
