// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored tensors while a program runs: arguments, results and workspace, with
// the error radius of what was written. Knows places in storage, nothing of
// operations.
#ifndef ATTN_DIALECTS_REFERENCE_MEMORY_H
#define ATTN_DIALECTS_REFERENCE_MEMORY_H

#include "dialects/reference/Result.h"
#include "dialects/reference/Space.h"

namespace attn::reference {

/// A factor of a stored dimension as it stands in this call.
struct MemoryFactor {
  ExtentAttr declared;
  int64_t extent = 0;
  bool ragged = false;
};
struct MemoryDimension {
  llvm::SmallVector<MemoryFactor, 2> factors;
  /// Where each sequence of a packed ragged dimension starts; else empty.
  std::vector<int64_t> starts;
  int64_t extent = 0;
  /// A ragged axis alone, of which the storage is not given.
  bool isPadded = false;
};

class Memory {
public:
  Memory() = default;
  /// `given` is what the caller passed; null for results and workspace.
  Memory(std::string name, RefType type, const Buffer *given);

  /// Finds the extents; done at the first use, when ragged ones are known. An
  /// error where storage and extents disagree.
  llvm::Error prepare(const Space &space);

  /// The element at one index per factor; nothing where one is out of range.
  std::optional<int64_t> locate(llvm::ArrayRef<int64_t> indices) const;
  size_t factorCount() const { return factors; }
  int64_t size() const { return count; }
  Kind kind() const { return elementKind; }
  /// The 16-bit float dtype of the elements, if it is one.
  std::optional<Dtype> narrow() const;
  llvm::StringRef getName() const { return name; }

  /// Copies element `from`, widened, to element `i` of `tensor`, with its
  /// flags.
  void read(int64_t from, Tensor &tensor, int64_t i) const;
  /// Rounds and stores element `i` of `tensor`.
  void write(int64_t to, const Tensor &tensor, int64_t i);
  /// Keeps the flags of an element that was not written for lack of a value:
  /// workspace may hold what nobody asks for.
  void poison(int64_t to, uint8_t flag);
  /// Nothing is known any more about where a write went.
  void forget();
  void forget(int64_t element) { radiusAt(element) = kUnbounded; }

  Result result() const;

private:
  llvm::Error prepareDimension(MemoryDimension &dimension, const Space &space,
                               size_t d);
  double &radiusAt(int64_t i);
  void writeNumber(int64_t to, Number x);

  std::string name;
  RefType type;
  const Buffer *given = nullptr;
  /// Nothing for f64 workspace.
  std::optional<Dtype> dtype;
  Kind elementKind = Kind::Number;
  bool prepared = false;
  size_t factors = 0;
  int64_t count = 0;
  llvm::SmallVector<MemoryDimension, 4> dimensions;

  /// Numbers: as stored (what reads see), and before their rounding. `radius`
  /// is of the latter and stays empty while nothing was written.
  std::vector<double> stored, exact, radius;
  std::vector<int64_t> integers;
  std::vector<uint8_t> flags;
};

/// The dtype of a ref's element; nothing for f64.
std::optional<Dtype> dtypeOf(mlir::Type element);

} // namespace attn::reference

#endif
