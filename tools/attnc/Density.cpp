//===- Density.cpp - how much of its pairs a mask leaves ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a small program that computes the mean of a condition, and asks the interpreter. Of long axes it takes evenly
// spaced samples.
//===----------------------------------------------------------------------===//
#include "dialects/reference/Interpreter.h"
#include "tools/attnc/Session.h"
#include "tools/attnc/Shapes.h"
#include "tools/attnc/Work.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;
using namespace attnc;

namespace {

/// Elements that the interpreter may evaluate for one condition.
constexpr int64_t mostElements = int64_t(1) << 22;

/// Leaves only what `kept` needs.
void eraseUnneeded(Block &body, Value kept) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<WriteOp, RequireOp>(op) || (op.use_empty() && op.getResults().end() == llvm::find(op.getResults(), kept) &&
                                        !isa<RaggedOp>(op)))
      op.erase();
}

/// Replaces `axis`, whose extent is `extent`, by one of `samples` evenly spaced indices. Fails where an operation
/// speaks of the axis in another way than by its index.
LogicalResult sampleAxis(Operation *program, Block &body, StringAttr axis, int64_t extent, int64_t samples) {
  MLIRContext *context = axis.getContext();
  for (Operation &op : body)
    if (isa<ReduceOp, ContractOp, SoftmaxOp, LogSumExpOp, RopeOp, TakeOp, RenameOp, RaggedOp, FlashOp>(op))
      return failure();
  auto sampled = StringAttr::get(context, axis.getValue() + "Samples");
  SmallVector<Attribute> axes(program->getAttrOfType<ArrayAttr>("axes").getValue());
  axes.push_back(AxisAttr::get(context, sampled, {}, ExtentAttr::constant(context, samples)));
  program->setAttr("axes", ArrayAttr::get(context, axes));

  for (Operation &op : llvm::make_early_inc_range(body)) {
    for (Value result : op.getResults()) {
      auto type = dyn_cast<ValueType>(result.getType());
      if (!type || !type.hasAxis(axis))
        continue;
      SmallVector<StringAttr> renamed(type.getAxes());
      llvm::replace(renamed, axis, sampled);
      result.setType(ValueType::get(renamed, type.getElementType()));
    }
    auto index = dyn_cast<IndexOp>(op);
    if (!index || index.getAxis() != axis.getValue())
      continue;
    index.setAxis(sampled.getValue());
    OpBuilder builder(context);
    builder.setInsertionPointAfter(index);
    auto spaced = MapOp::create(builder, index.getLoc(), index.getType(), ValueRange(index.getResult()));
    Block *region = builder.createBlock(&spaced.getBody(), {}, builder.getI64Type(), index.getLoc());
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(builder, index.getLoc(), builder.getI64IntegerAttr(value));
    };
    // (i * extent + extent / 2) / samples: the middle of each of `samples` parts.
    Value scaled = arith::MulIOp::create(builder, index.getLoc(), region->getArgument(0), constant(extent));
    Value middle = arith::AddIOp::create(builder, index.getLoc(), scaled, constant(extent / 2));
    Value place = arith::DivSIOp::create(builder, index.getLoc(), middle, constant(samples));
    YieldOp::create(builder, index.getLoc(), ValueRange(place));
    index.getResult().replaceAllUsesExcept(spaced.getResult(), spaced);
  }
  return success();
}

/// Adds a result `density`, the mean of `condition` over all of its axes.
void addMean(Operation *program, Block &body, Value condition) {
  MLIRContext *context = program->getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  Location loc = program->getLoc();
  Type f32 = builder.getF32Type();
  auto constant = [&](float value) -> Value {
    return ConstantOp::create(builder, loc, ValueType::get({}, f32), builder.getF32FloatAttr(value));
  };
  ValueType type = valueType(condition);
  Value value = SelectOp::create(builder, loc, type.withElement(f32), condition, constant(1), constant(0));
  if (!type.getAxes().empty()) {
    SmallVector<Attribute> over(type.getAxes().begin(), type.getAxes().end());
    value = ReduceOp::create(builder, loc, ValueType::get({}, f32), Reduction::Mean, value, builder.getArrayAttr(over));
  }
  Value ref = body.addArgument(RefType::get(ArrayRef<DimAttr>(), f32), loc);
  SmallVector<Attribute> args(program->getAttrOfType<ArrayAttr>("args").getValue());
  args.push_back(ArgAttr::get(context, builder.getStringAttr("density"), Mode::Out));
  program->setAttr("args", builder.getArrayAttr(args));
  WriteOp::create(builder, loc, value, ref, ValueRange(), Value());
}

} // namespace

llvm::Expected<double> attnc::densityOf(const Signature &signature, const reference::Buffers &inputs,
                                        Value condition) {
  auto extents = extentsFrom(signature, inputs);
  if (!extents)
    return extents.takeError();
  auto lengths = lengthsOf(signature, inputs);
  if (!lengths)
    return lengths.takeError();
  for (auto &[axis, own] : *lengths)
    (*extents)[axis] = own.extents.empty() ? 0 : int64_t(*llvm::max_element(own.extents));
  IRMapping mapping;
  OwningOpRef<Operation *> program(signature.body->getParentOp()->clone(mapping));
  Block &body = program->getRegion(0).front();
  Value mapped = mapping.lookup(condition);
  eraseUnneeded(body, mapped);

  // The longest axes are sampled until few enough elements are left.
  int64_t elements = 1;
  SmallVector<StringAttr> axes(valueType(mapped).getAxes());
  for (StringAttr axis : axes)
    elements *= std::max<int64_t>(extents->lookup(axis.getValue()), 1);
  llvm::sort(axes, [&](StringAttr a, StringAttr b) {
    return extents->lookup(a.getValue()) > extents->lookup(b.getValue());
  });
  for (StringAttr axis : axes) {
    int64_t extent = extents->lookup(axis.getValue());
    if (elements <= mostElements || extent <= 512)
      break;
    if (failed(sampleAxis(*program, body, axis, extent, 512)))
      return 1.0;
    elements = elements / extent * 512;
  }
  addMean(*program, body, mapped);
  auto results = reference::interpret(*program, inputs);
  if (!results)
    return results.takeError();
  return results->at("density").value.front();
}
