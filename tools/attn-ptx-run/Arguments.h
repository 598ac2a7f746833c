// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel arguments as the command line writes them: numbers, and files that are copied to and from the device.
#ifndef ATTN_TOOLS_ATTN_PTX_RUN_ARGUMENTS_H
#define ATTN_TOOLS_ATTN_PTX_RUN_ARGUMENTS_H

#include "tools/ptx/Device.h"

namespace attn::ptx {

/// An array that is written to a file when the kernel has run.
struct Output {
  uint64_t address = 0;
  std::string path, dtype;
  llvm::SmallVector<int64_t, 4> shape;
};

/// Sets parameter `index` from `TYPE:NUMBER`, `in:FILE`, `out:TYPE[2,3]=FILE`, `inout:FILE=FILE` or
/// `zero:TYPE[2,3]=FILE`.
llvm::Error setArgument(const Program &program, Device &device, Launch &launch, unsigned index, llvm::StringRef text,
                        std::vector<Output> &outputs);
llvm::Error writeOutput(const Device &device, const Output &output);

} // namespace attn::ptx

#endif
