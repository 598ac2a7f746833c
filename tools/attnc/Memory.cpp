//===- Memory.cpp - what a kernel needs memory for ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache is what a call reads and leaves behind: an inout. Tensors of one shape are counted together, so that a
// layer's keys and values read as 2*B*G*M*E.
//===----------------------------------------------------------------------===//
#include "tools/attnc/Memory.h"

#include "tools/attnc/Arguments.h"
#include "tools/attnc/Execute.h"

using namespace attn;
using namespace attnc;

namespace {

/// Inouts of one type.
struct Caches {
  std::string formula; // without the count
  llvm::SmallVector<llvm::StringRef> names;
  int64_t elements = 1; // of one
  reference::Dtype dtype;
};

llvm::Expected<llvm::MapVector<mlir::Type, Caches>> cachesOf(const Signature &program, const Extents &extents) {
  llvm::MapVector<mlir::Type, Caches> all;
  for (unsigned i = 0, e = program.args.size(); i < e; ++i) {
    if (program.args[i].getMode() != Mode::InOut)
      continue;
    RefType type = program.argType(i);
    auto shape = shapeOf(program, i, extents);
    if (!shape)
      return shape.takeError();
    Caches &caches = all[type];
    if (caches.names.empty()) {
      caches.dtype = dtypeOf(type.getElementType());
      for (int64_t extent : *shape)
        caches.elements *= extent;
      for (ExtentAttr factor : type.getFactors()) {
        std::string text = factor.str();
        caches.formula += "*" + (factor.getName() || factor.getConstant() ? text : "(" + text + ")");
      }
    }
    caches.names.push_back(program.args[i].getName().getValue());
  }
  return all;
}

llvm::Error printMemoryOf(const Signature &program, LoadedObject &object, Device *device) {
  auto chosen = chosenExtents();
  if (!chosen)
    return chosen.takeError();
  auto extents = extentsFrom(program, *chosen);
  if (!extents)
    return extents.takeError();
  auto caches = cachesOf(program, *extents);
  if (!caches)
    return caches.takeError();
  llvm::outs() << program.name << ' ' << extentsText(program, *extents) << '\n';
  for (const auto &[type, cache] : *caches) {
    int64_t elements = cache.elements * int64_t(cache.names.size());
    llvm::outs() << "  cache " << llvm::join(cache.names, ", ") << ": " << cache.names.size() << cache.formula << " = "
                 << elements << " elements, " << elements * reference::dtypeSize(cache.dtype) << " bytes of "
                 << reference::dtypeName(cache.dtype) << '\n';
  }
  if (caches->empty())
    llvm::outs() << "  no cache\n";

  auto inputs = makeInputs(program, *extents, reference::inputCases().front(), chosenSeed(), lastShrink);
  if (!inputs)
    return inputs.takeError();
  auto call = Call::prepare(object, program, *inputs, /*threads=*/0, Layout::Compact, device);
  if (!call)
    return call.takeError();
  auto bytes = (*call)->workspaceBytes();
  if (!bytes)
    return bytes.takeError();
  llvm::outs() << "  workspace: " << *bytes << " bytes\n";
  return llvm::Error::success();
}

} // namespace

llvm::Error attnc::printMemory(Session &session) {
  auto object = loadObject(*session.driver, *session.module);
  if (!object)
    return object.takeError();
  auto device = openDevice(*session.driver, /*mayBeSimulated=*/true);
  if (!device)
    return device.takeError();
  for (const Signature &program : programsOf(*session.module))
    if (llvm::Error error = printMemoryOf(program, **object, device->get()))
      return error;
  return llvm::Error::success();
}
