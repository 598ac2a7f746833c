//===- FlashTiling.cpp - sizes of fused attention by tiles ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/FlashTiling.h"
#include "dialects/attn/FlashWeights.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Elements of an operand, and of all values together, whose sums are in registers.
static constexpr int64_t mostWidth = 576, mostMixed = 512;
/// Of a thread, and what is neither query, score nor output.
static constexpr int64_t mostRegisters = 255, othersRegisters = 90;

/// A value that is stored in 8 bits, which bf16 holds, perhaps times a factor that is the same for all of a key's elements.
static std::optional<FlashOperand> storedByte(Value value, StringAttr width, MLIRContext *context) {
  FlashOperand operand{value, width, 0, BFloat16Type::get(context), /*weightParts=*/3, {}};
  auto isByte = [](Value value) {
    auto read = value.getDefiningOp<ReadOp>();
    Type element = read ? read.getRef().getType().getElementType() : Type();
    return element && !element.isInteger(1) && element.getIntOrFloatBitWidth() == 8;
  };
  if (isByte(value))
    return operand;
  auto map = value.getDefiningOp<MapOp>();
  if (!map)
    return std::nullopt;
  Block &body = map.getBody().front();
  auto input = [&](Value scalar) -> Value { // That a scalar of the body is, but for its type.
    if (auto convert = scalar.getDefiningOp<arith::SIToFPOp>())
      scalar = convert.getIn();
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument ? map.getInputs()[argument.getArgNumber()] : Value();
  };
  Value result = body.getTerminator()->getOperand(0);
  if (Value whole = input(result); whole && isByte(whole)) {
    operand.value = whole;
    return operand;
  }
  auto product = result.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
    Value whole = input(one), factor = isa<BlockArgument>(other) ? input(other) : Value();
    if (!whole || !factor || !isByte(whole) || valueType(factor).hasAxis(width))
      continue;
    // What infinity times a factor is, the products do not tell.
    if (isa<Float8E5M2Type>(whole.getDefiningOp<ReadOp>().getRef().getType().getElementType()))
      continue;
    operand.value = whole;
    operand.keyFactor = factor;
    return operand;
  }
  return std::nullopt;
}

/// Finds an operand's extent; says why tiles cannot have it, or nothing.
static std::string findExtent(const Signature &signature, FlashOperand &operand) {
  StringAttr width = operand.width;
  std::optional<int64_t> extent = constantExtent(signature, width);
  if (!extent)
    return "the extent of " + width.str() + " is not known when compiling";
  if (*extent < 1 || *extent > mostWidth)
    return ("the extent of " + width.getValue() + " is not from 1 to " + Twine(mostWidth)).str();
  operand.extent = *extent;
  return "";
}

std::string FlashOperands::add(FlashOp flash, const FlashAxes &axes, const Signature &signature) {
  for (StringAttr axis : axes.rows)
    if (signature.findAxis(axis).isRagged())
      return "the extent of " + axis.str() + " differs from query to query";
  std::string why = addTerms(flash, axes, signature);
  return why.empty() ? addValues(flash, axes, signature) : why;
}

std::string FlashOperands::addTerms(FlashOp flash, const FlashAxes &axes, const Signature &signature) {
  for (auto [query, key, width] : llvm::zip(flash.getQueries(), flash.getKeys(), axes.contracted)) {
    FailureOr<Type> element = commonElement(key, query, signature.precise);
    if (failed(element)) {
      bool isStored = storedHalf(query) || storedHalf(key);
      whyExactScores = isStored ? "one of queries and keys would be rounded, and the attention is precise"
                                : "neither queries nor keys are stored as f16 or bf16";
      element = Float32Type::get(flash.getContext());
    }
    for (auto [value, to] : {std::pair(query, &queries), std::pair(key, &keys)}) {
      to->push_back({value, width, 0, *element});
      if (std::string why = findExtent(signature, to->back()); !why.empty())
        return why;
    }
  }
  return "";
}

/// How tensor cores mix a value; none: they cannot, and `why` says so. Weights are rounded, or sums of three bf16.
static std::optional<FlashOperand> mixedOperand(Value value, StringAttr width, bool isPrecise, std::string &why) {
  Type element = storedHalf(value);
  if (!element) {
    std::optional<FlashOperand> operand = storedByte(value, width, value.getContext());
    if (!operand)
      why = "values are neither stored as f16 or bf16, nor as bytes with a factor for each key at most";
    return operand;
  }
  if (isPrecise && element.isF16()) {
    why = "weights would be rounded, and the attention is precise";
    return std::nullopt;
  }
  return FlashOperand{value, width, 0, element, /*weightParts=*/isPrecise ? 3 : 1};
}

/// Where one value is exact, all are: what follows may read several at one place, which is then the same thread's.
std::string FlashOperands::addValues(FlashOp flash, const FlashAxes &axes, const Signature &signature) {
  for (auto [value, width] : llvm::zip(flash.getValues(), axes.widths))
    if (std::optional<FlashOperand> operand = mixedOperand(value, width, signature.precise, whyExactMix))
      values.push_back(*operand);
  if (hasExactMix()) {
    values.clear();
    for (auto [value, width] : llvm::zip(flash.getValues(), axes.widths))
      values.push_back({value, width, 0, Float32Type::get(flash.getContext())});
  }
  for (FlashOperand &operand : values) {
    if (std::string why = findExtent(signature, operand); !why.empty())
      return why;
    for (auto [number, key] : llvm::enumerate(keys))
      if (key.value == operand.value && key.width == operand.width && key.element == operand.element && operand.weightParts == 1)
        operand.key = number;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// What is read at each element keeps addresses through the loop over keys, for each of the thread's rows; Philox and f64
/// hold pairs of words. Measured with ptxas 13 on expressions that spilled.
int64_t attn::registersOf(FlashOp flash, const FlashAxes &axes) {
  constexpr int64_t ofElement = 20, ofRow = 3, ofWideNumbers = 40;
  llvm::SmallPtrSet<Operation *, 32> seen;
  int64_t reads = 0;
  bool hasWideNumbers = false;
  auto isWide = [](Operation *op) {
    return isa<PhiloxOp>(op) || llvm::any_of(op->getResultTypes(), [](Type type) { return type.isF64(); });
  };
  std::function<void(Value)> visit = [&](Value value) {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (!op || !seen.insert(op).second)
      return;
    if (isa<ReadOp>(op))
      reads += llvm::any_of(axes.keys, [&](StringAttr axis) { return valueType(value).hasAxis(axis); }) ? ofElement : ofRow;
    hasWideNumbers |= op->walk([&](Operation *inner) { return isWide(inner) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
    for (Value operand : op->getOperands())
      if (isa<ValueType>(operand.getType()))
        visit(operand);
  };
  visit(flash.getScore());
  visit(flash.getMask());
  visit(changedWeightOf(flash));
  return reads + (hasWideNumbers ? ofWideNumbers : 0);
}

static int64_t sumOfWidths(ArrayRef<FlashOperand> operands) {
  int64_t sum = 0;
  for (const FlashOperand &operand : operands)
    sum += llvm::alignTo(operand.extent, 16);
  return sum;
}

/// The largest tile of keys that 255 registers of a thread leave: of 16 rows it holds a quarter of the query's width in words
/// where it keeps them, half of the outputs' width and of the key tile in f32, and some of other things. Factors of keys
/// take more. Exact products have the fewest shared bytes for each at 32 keys.
static int64_t largestKeyTile(const FlashOperands &operands, const FlashTiling &tiling, int64_t valueWidth) {
  bool isExact = operands.hasExactScores() || operands.hasExactMix();
  bool hasFactors = llvm::any_of(operands.values, [](const FlashOperand &value) { return value.weightParts > 1; });
  if (tiling.parts > 1)
    return hasFactors || isExact ? 16 : 32;
  if (isExact)
    return valueWidth <= 64 ? 32 : 16;
  return tiling.keepsQuery && !hasFactors ? 64 : 32;
}

std::optional<FlashTiling> FlashTiling::of(const FlashOperands &operands, unsigned ranges, int64_t ownRegisters) {
  int64_t keyWidth = sumOfWidths(operands.keys), valueWidth = sumOfWidths(operands.values);
  if (valueWidth > mostMixed)
    return std::nullopt;
  FlashTiling tiling;
  if (keyWidth > 256 || valueWidth > 128)
    tiling.parts = keyWidth <= 512 && valueWidth <= 256 ? 2 : 4;
  tiling.keepsQuery = !operands.hasExactScores() && keyWidth / tiling.parts <= (tiling.parts == 1 ? 128 : 160);
  if (operands.isShared() && !operands.hasExactMix())
    tiling.stages = 3;
  int64_t largest = largestKeyTile(operands, tiling, valueWidth);
  auto registers = [&] {
    int64_t kept = tiling.keepsQuery ? keyWidth / tiling.parts / 4 : 0;
    return kept + valueWidth / tiling.parts / 2 + largest / 2 + othersRegisters + ownRegisters;
  };
  auto reduce = [&](auto change) {
    if (ownRegisters == 0 || registers() <= mostRegisters)
      return;
    tiling.isReduced = true;
    change();
  };
  auto halve = [&] { largest = std::max<int64_t>(largest / 2, 16); };
  reduce(halve);
  reduce([&] { tiling.keepsQuery = false; });
  reduce(halve);
  bool usesFragments = llvm::any_of(llvm::concat<const FlashOperand>(operands.keys, operands.values),
                                    [](const FlashOperand &operand) { return !operand.isExact(); });
  for (int64_t groups : {4, 2, 1})
    for (int64_t keyTile = largest; keyTile >= (usesFragments ? 16 : 8); keyTile /= 2) {
      tiling.warps = groups * tiling.parts;
      tiling.keyTile = keyTile;
      if (FlashShared(operands, tiling, ranges).size <= mostShared)
        return tiling;
    }
  return std::nullopt;
}

FlashShared::FlashShared(const FlashOperands &operands, const FlashTiling &tiling, unsigned ranges) {
  auto place = [&](ArrayRef<FlashOperand> operands, int64_t rows, SmallVector<SharedTile> &tiles,
                  SmallVector<int64_t> &at, int64_t &end) {
    for (const FlashOperand &operand : operands) {
      tiles.push_back({rows, tiling.padded(operand), operand.bytes()});
      at.push_back(end);
      end += tiles.back().bytes();
    }
  };
  place(operands.queries, tiling.rows(), query, queryAt, firstStage);
  // Queries that are kept have left their place when sums come.
  int64_t rounds = llvm::Log2_64(tiling.parts);
  int64_t sumBytes = rounds * tiling.threads() * tiling.threadScores() * int64_t(sizeof(float));
  if (tiling.keepsQuery) {
    firstStage = std::max(firstStage, sumBytes);
  } else {
    sums = firstStage;
    firstStage += sumBytes;
  }
  place(operands.keys, tiling.keyTile, key, keyAt, stageBytes);
  // A tile that is keys too stays as it is.
  for (const FlashOperand &operand : operands.values) {
    value.push_back({tiling.keyTile, tiling.padded(operand), operand.bytes()});
    valueAt.push_back(operand.key ? keyAt[*operand.key] : stageBytes);
    stageBytes += operand.key ? 0 : value.back().bytes();
  }
  for (auto [operand, at] : llvm::zip(operands.values, valueAt)) {
    finiteAt.push_back(at + (operand.key ? stageBytes : 0));
    codesAt.push_back(finiteAt.back() + stageBytes);
  }
  extremes = firstStage + tiling.stages * stageBytes;
  size = extremes + tiling.warps * ranges * 16;
}
