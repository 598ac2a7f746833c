// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles an attn.kernel for this machine and calls it on tensors with any strides.
#ifndef ATTN_TEST_UNIT_CPU_STAGEKERNEL_H
#define ATTN_TEST_UNIT_CPU_STAGEKERNEL_H

#include "attn/runtime.h"
#include "compiler/Loader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <cstring>

/// f32 or bf16 elements, and space on both sides that nobody may write.
struct Tensor {
  static constexpr int64_t margin = 64;

  std::vector<int64_t> shape, strides;
  bool isHalf = false;
  std::vector<uint8_t> bytes;
  int64_t offset = margin;

  /// Compact, but for `gap` elements behind each row.
  Tensor(std::vector<int64_t> shape, int64_t gap = 0, bool isHalf = false);

  float get(const std::vector<int64_t> &index) const { return at(place(index)); }
  void set(const std::vector<int64_t> &index, float value) { put(place(index), value); }
  /// Numbers in [-1, 1] everywhere, the margins too.
  Tensor &fill(unsigned seed);
  Tensor &fillWith(float value);
  /// Reverses a dimension in memory.
  void reverse(size_t dimension);
  DLTensor dl();

private:
  int64_t place(const std::vector<int64_t> &index) const;
  float at(int64_t element) const;
  void put(int64_t element, float value);
  int64_t elements() const { return int64_t(bytes.size()) / (isHalf ? 2 : 4); }
};

class StageKernel {
public:
  explicit StageKernel(const std::string &text);
  /// Adds a failure to the test when the call is refused.
  void call(std::vector<Tensor *> tensors, int32_t threads = 2);

private:
  llvm::Error build(const std::string &text);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<attn::LoadedObject> object;
  attn::LoadedObject::Kernel kernel{};
};

#endif // ATTN_TEST_UNIT_CPU_STAGEKERNEL_H
