// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A value of the interpreter: numbers, integers or conditions over named axes,
// each element with what is known about it. Knows axes, nothing of operations.
#ifndef ATTN_DIALECTS_REFERENCE_TENSOR_H
#define ATTN_DIALECTS_REFERENCE_TENSOR_H

#include "dialects/attn/Attn.h"
#include "dialects/reference/Buffer.h"
#include "dialects/reference/Numerics.h"

namespace attn::reference {

using Shape = llvm::SmallVector<int64_t, 6>;

enum class Kind { Number, Integer, Condition };

/// What is known about an element. An absent one has no meaning; a bad one was
/// read out of range, which is an error where it is asked for; an unsure one
/// depends on a comparison that rounding may turn.
enum Flag : uint8_t { Present = 1, Bad = 2, Unsure = 4 };

/// What is known of something computed from two elements: absence, faults and
/// doubt all carry over.
inline uint8_t joined(uint8_t a, uint8_t b) {
  return (a & b & Present) | ((a | b) & (Bad | Unsure));
}

/// What is left of an element's flags where a condition keeps or drops it.
/// Where it surely drops it, nothing else about the element matters.
inline uint8_t kept(uint8_t flags, bool holds, uint8_t condition) {
  if (!holds && !(condition & Unsure))
    return condition & Bad;
  uint8_t both = joined(flags, condition);
  return holds ? both : both & ~Present;
}

struct Tensor {
  llvm::SmallVector<mlir::StringAttr, 6> axes;
  Shape shape;
  Kind kind = Kind::Number;
  /// Numbers in f64, where a float ends in an index: no f32 rounding applies.
  bool isDouble = false;
  /// The 16-bit dtype that the numbers came from unchanged.
  std::optional<Dtype> narrow;

  std::vector<double> value, radius;
  std::vector<int64_t> integer;
  std::vector<uint8_t> condition;
  std::vector<uint8_t> flags;

  int64_t size() const { return static_cast<int64_t>(flags.size()); }
  bool present(int64_t i) const { return flags[i] & Present; }
  Number number(int64_t i) const { return {value[i], radius[i]}; }
  void setNumber(int64_t i, Number x) {
    value[i] = x.value;
    radius[i] = x.radius;
  }
  /// Copies what element `from` of `other` holds, but for its flags.
  void copy(int64_t i, const Tensor &other, int64_t from);
  /// The axis' position; -1 where the tensor lacks it.
  int64_t find(mlir::StringAttr axis) const;
};

Kind kindOf(mlir::Type element);

int64_t product(llvm::ArrayRef<int64_t> shape);

/// Walks a domain in row-major order and knows where each of several tensors
/// is; a tensor that lacks an axis stays where it is along it.
class Cursor {
public:
  Cursor(llvm::ArrayRef<mlir::StringAttr> axes, llvm::ArrayRef<int64_t> shape)
      : axes(axes.begin(), axes.end()), shape(shape.begin(), shape.end()),
        place(shape.size(), 0) {}

  /// Adds a tensor and returns its number.
  unsigned follow(const Tensor &tensor) {
    return follow(tensor.axes, tensor.shape);
  }
  unsigned follow(llvm::ArrayRef<mlir::StringAttr> tensorAxes,
                  llvm::ArrayRef<int64_t> tensorShape);

  /// Goes to the next point.
  void next() {
    for (size_t d = shape.size(); d-- > 0;) {
      if (++place[d] < shape[d]) {
        for (size_t t = 0; t < offsets.size(); ++t)
          offsets[t] += steps[t][d];
        return;
      }
      place[d] = 0;
      for (size_t t = 0; t < offsets.size(); ++t)
        offsets[t] -= steps[t][d] * (shape[d] - 1);
    }
  }
  int64_t operator[](unsigned tensor) const { return offsets[tensor]; }
  int64_t along(size_t d) const { return place[d]; }

private:
  llvm::SmallVector<mlir::StringAttr, 6> axes;
  Shape shape, place;
  llvm::SmallVector<Shape, 4> steps;
  llvm::SmallVector<int64_t, 4> offsets;
};

} // namespace attn::reference

#endif
