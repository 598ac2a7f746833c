//===- Interface.cpp - a signature in words ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Interface.h"

using namespace mlir;
using namespace attn;

static Interface::Argument describe(const Signature &signature, unsigned i) {
  RefType type = signature.argType(i);
  Interface::Argument argument;
  argument.name = signature.args[i].getName().str();
  argument.mode = signature.args[i].getMode();
  argument.type = findStoredType(type.getElementType());
  argument.byValue = type.isScalar() && argument.mode == Mode::In;
  for (DimAttr dim : type.getDims())
    argument.dims.push_back(dim.str());
  for (ExtentAttr factor : type.getFactors())
    if (StringAttr name = factor.getName(); name && signature.findAxis(name))
      argument.axes.push_back(name.str());
  auto packed = signature.body->getParentOp()->getAttrOfType<DictionaryAttr>("packed");
  if (auto noted = packed ? packed.getAs<ArrayAttr>(argument.name) : ArrayAttr()) {
    argument.packedFrom = cast<StringAttr>(noted[0]).str();
    argument.contracted = cast<IntegerAttr>(noted[1]).getInt();
  }
  return argument;
}

Interface::Interface(Operation *op) {
  Signature signature(op);
  name = signature.name.str();
  precise = signature.precise;
  for (unsigned i = 0; i < signature.args.size(); ++i)
    arguments.push_back(describe(signature, i));
  for (AxisAttr axis : signature.axes) {
    axes.push_back({axis.getName().str(), axis.isRagged() ? "" : axis.getExtent().str(), {}});
    for (StringAttr other : axis.getDependsOn())
      axes.back().dependsOn.push_back(other.str());
  }
  for (AxisAttr fact : signature.facts)
    if (!fact.isRagged())
      facts.push_back(fact.getName().str() + " = " + fact.getExtent().str());
  op->walk([&](RequireOp require) { requirements.push_back(require.getMessage().str()); });
}

std::string Interface::Argument::declaration() const {
  std::string text = mode == Mode::InOut ? "inout " + name : name;
  text += " : ";
  text += type ? type->name : "?";
  if (!dims.empty())
    text += "[" + llvm::join(dims, ", ") + "]";
  return text;
}

std::vector<Interface> attn::findInterfaces(ModuleOp module) {
  std::vector<Interface> found;
  for (Operation &op : *module.getBody())
    if (isa<ProgramOp, KernelOp>(op))
      found.emplace_back(&op);
  return found;
}
