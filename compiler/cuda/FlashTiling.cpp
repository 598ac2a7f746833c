//===- FlashTiling.cpp - sizes of fused attention on tensor cores *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashTiling.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Elements of a head that are mixed in one piece.
static constexpr int64_t mostWidth = 256;

/// The elements that a value is read from when they are f16 or bf16; null otherwise.
static Type storedHalf(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  Type element = read ? read.getRef().getType().getElementType() : Type();
  return element && (element.isF16() || element.isBF16()) ? element : Type();
}

/// Beside a 16-bit tensor the other side may be rounded to its elements once, unless the attention is precise.
static FailureOr<Type> commonElement(Value one, Value other, bool isPrecise) {
  Type first = storedHalf(one), second = other ? storedHalf(other) : Type();
  if (first && first == second)
    return first;
  if (Type element = second ? second : first; element && !isPrecise)
    return element;
  return failure();
}

/// Adds an operand; says why it cannot be one, or nothing.
static std::string addOperand(const Signature &signature, SmallVector<FlashOperand> &to, Value value, StringAttr width,
                              Type element) {
  std::optional<int64_t> extent = constantExtent(signature, width);
  if (!extent)
    return "the extent of " + width.str() + " is not known when compiling";
  if (*extent < 1 || *extent > mostWidth)
    return ("the extent of " + width.getValue() + " is not from 1 to " + Twine(mostWidth)).str();
  to.push_back({value, width, *extent, element});
  return "";
}

std::string FlashOperands::add(FlashOp flash, const FlashAxes &axes, const Signature &signature) {
  if (weightOf(flash))
    return "weights are changed between softmax and mix";
  for (StringAttr axis : axes.rows)
    if (signature.findAxis(axis).isRagged())
      return "the extent of " + axis.str() + " differs from query to query";
  for (auto [query, key, width] : llvm::zip(flash.getQueries(), flash.getKeys(), axes.contracted)) {
    FailureOr<Type> element = commonElement(key, query, signature.precise);
    if (failed(element))
      return "neither queries nor keys are stored as f16 or bf16";
    for (auto [value, to] : {std::pair(query, &queries), std::pair(key, &keys)})
      if (std::string why = addOperand(signature, *to, value, width, *element); !why.empty())
        return why;
  }
  for (auto [value, width] : llvm::zip(flash.getValues(), axes.widths)) {
    FailureOr<Type> element = commonElement(value, {}, signature.precise);
    if (failed(element))
      return "values are not stored as f16 or bf16";
    if (std::string why = addOperand(signature, values, value, width, *element); !why.empty())
      return why;
  }
  return signature.precise && !values.empty() ? "weights would be rounded, and the attention is precise" : "";
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static int64_t sumOfWidths(ArrayRef<FlashOperand> operands) {
  int64_t sum = 0;
  for (const FlashOperand &operand : operands)
    sum += operand.padded();
  return sum;
}

/// Bounded by 255 registers of a thread: of 16 rows it holds a quarter of the query's width in words where it keeps them,
/// half of the outputs' width and of the key tile in f32, and about 90 of other things.
FlashTiling FlashTiling::of(const FlashOperands &operands) {
  int64_t keyWidth = sumOfWidths(operands.keys), valueWidth = sumOfWidths(operands.values);
  FlashTiling tiling;
  tiling.keepsQuery = keyWidth <= 128 && valueWidth <= 128;
  if (!tiling.keepsQuery)
    tiling.keyTile = valueWidth > 192 ? 16 : 32;
  return tiling;
}

FlashShared::FlashShared(const FlashOperands &operands, const FlashTiling &tiling, unsigned ranges) {
  auto place = [](ArrayRef<FlashOperand> operands, int64_t rows, SmallVector<SharedTile> &tiles,
                  SmallVector<int64_t> &at, int64_t &end) {
    for (const FlashOperand &operand : operands) {
      tiles.push_back({rows, operand.padded()});
      at.push_back(end);
      end += tiles.back().bytes();
    }
  };
  place(operands.queries, tiling.rows(), query, queryAt, firstStage);
  place(operands.keys, tiling.keyTile, key, keyAt, stageBytes);
  place(operands.values, tiling.keyTile, value, valueAt, stageBytes);
  extremes = firstStage + tiling.stages * stageBytes;
  size = extremes + tiling.warps * ranges * 16;
}
