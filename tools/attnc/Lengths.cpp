//===- Lengths.cpp - the extents of ragged axes in a call -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a small program that stores what `attn.ragged` says, and asks the interpreter.
//===----------------------------------------------------------------------===//
#include "dialects/reference/Interpreter.h"
#include "tools/attnc/Work.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;
using namespace attnc;

/// Adds a result that holds the extents over what they depend on.
static std::string addResult(Operation *program, RaggedOp ragged, ArrayRef<StringAttr> dependsOn) {
  OpBuilder builder = OpBuilder::atBlockEnd(ragged->getBlock());
  MLIRContext *context = program->getContext();
  SmallVector<DimAttr> dims;
  SmallVector<Value> indices;
  for (StringAttr axis : dependsOn) {
    dims.push_back(DimAttr::get(context, {ExtentAttr::named(context, axis.getValue())}));
    auto type = ValueType::get({axis}, builder.getI64Type());
    indices.push_back(IndexOp::create(builder, ragged.getLoc(), type, axis));
  }
  Value ref = ragged->getBlock()->addArgument(RefType::get(dims, builder.getI64Type()), ragged.getLoc());
  std::string name = "lengths of " + ragged.getAxis().str();
  SmallVector<Attribute> args(program->getAttrOfType<ArrayAttr>("args").getValue());
  args.push_back(ArgAttr::get(context, builder.getStringAttr(name), Mode::Out));
  program->setAttr("args", builder.getArrayAttr(args));
  WriteOp::create(builder, ragged.getLoc(), ragged.getExtent(), ref, indices, Value());
  return name;
}

llvm::Expected<Lengths> attnc::lengthsOf(const Signature &signature, const reference::Buffers &inputs) {
  Lengths lengths;
  if (signature.body->getOps<RaggedOp>().empty())
    return lengths;
  OwningOpRef<Operation *> program(signature.body->getParentOp()->clone());
  Block &body = program->getRegion(0).front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<WriteOp, RequireOp>(op) || (op.use_empty() && !isa<RaggedOp>(op)))
      op.erase();
  llvm::StringMap<std::string> names;
  for (RaggedOp ragged : llvm::to_vector(body.getOps<RaggedOp>())) {
    ArrayRef<StringAttr> dependsOn = signature.findAxis(ragged.getAxisAttr()).getDependsOn();
    names[ragged.getAxis()] = addResult(*program, ragged, dependsOn);
    lengths[ragged.getAxis()].dependsOn.assign(dependsOn.begin(), dependsOn.end());
  }
  auto results = reference::interpret(*program, inputs);
  if (!results)
    return results.takeError();
  for (auto &[axis, name] : names)
    lengths[axis].extents = results->at(name).value;
  return lengths;
}
