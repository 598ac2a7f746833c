//===- Arguments.cpp - values for a program's arguments -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Arguments.h"

#include "dialects/reference/Interpreter.h"
#include "dialects/reference/Npy.h"
#include "dialects/reference/Poison.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Requirements.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;
using llvm::StringRef;

static cl::list<std::string> given("in", cl::desc("Inputs: x=x.npy, p=0.1, or all.npz with an array for each name"),
                                   cl::value_desc("NAME=file|number"), cl::sub(packCommand()), cl::sub(runCommand()), cl::sub(interpretCommand()),
                                   cl::sub(checkCommand()), cl::sub(inspectCommand()), cl::sub(benchCommand()), cl::sub(tuneCommand()));
static cl::opt<std::string> outputFolder("out", cl::desc("Write results and inouts to this folder as NAME.npy"),
                                         cl::value_desc("folder"), cl::init("."), cl::sub(packCommand()),
                                         cl::sub(runCommand()), cl::sub(interpretCommand()));
static cl::list<std::string> extentTexts("set", cl::desc("Extents of axes for inputs that are made up: B=2,S=10"),
                                         cl::value_desc("AXIS=extent,..."), cl::sub(runCommand()),
                                         cl::sub(interpretCommand()), cl::sub(checkCommand()),
                                         cl::sub(inspectCommand()), cl::sub(benchCommand()), cl::sub(tuneCommand()));
static cl::opt<bool> random_("random", cl::desc("Make up the inputs that --in does not give"), cl::sub(runCommand()),
                             cl::sub(interpretCommand()));
static cl::opt<unsigned> seed("seed", cl::desc("Where made-up inputs start (default 0)"), cl::init(0),
                              cl::sub(runCommand()), cl::sub(interpretCommand()), cl::sub(checkCommand()),
                              cl::sub(benchCommand()), cl::sub(tuneCommand()));

static cl::opt<std::string> inputFolder("save-inputs", cl::desc("Also write all inputs to this folder as NAME.npy"),
                                        cl::value_desc("folder"), cl::sub(runCommand()), cl::sub(interpretCommand()));
static cl::opt<unsigned> randomShrink("shrink", cl::desc("Halve made-up integers so many times"), cl::init(0),
                                      cl::sub(runCommand()), cl::sub(interpretCommand()), cl::sub(checkCommand()),
                                      cl::sub(benchCommand()), cl::sub(tuneCommand()));

bool attnc::hasGivenInputs() { return !given.empty(); }
llvm::Expected<std::vector<std::pair<std::string, int64_t>>> attnc::chosenExtents() { return parseExtents(extentTexts); }
uint64_t attnc::chosenSeed() { return seed; }

namespace {

/// Each buffer as NAME.npy in a folder, which is made where it is missing.
llvm::Error writeBuffers(const reference::Buffers &buffers, StringRef folder, bool tell) {
  if (std::error_code problem = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(problem, "cannot make the folder " + folder);
  for (const auto &[name, buffer] : buffers) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name + ".npy");
    if (llvm::Error error = reference::writeNpyFile(path, buffer))
      return error;
    if (tell)
      llvm::outs() << path << ": " << reference::dtypeName(buffer.dtype) << ' ' << reference::shapeText(buffer.shape)
                   << '\n';
  }
  return llvm::Error::success();
}

/// A scalar that stands on the command line.
llvm::Expected<reference::Buffer> scalarFrom(StringRef name, StringRef text, reference::Dtype dtype) {
  reference::Buffer buffer = reference::Buffer::zeros(dtype, {});
  int64_t integer;
  double number;
  if (dtype == reference::Dtype::Bool) {
    if (text != "true" && text != "false" && text != "0" && text != "1")
      return llvm::createStringError(name + " is a bool: '" + text + "' is neither true nor false");
    buffer.setInteger(0, text == "true" || text == "1");
  } else if (reference::isInteger(dtype)) {
    if (text.getAsInteger(0, integer) || reference::saturate(integer, dtype) != integer)
      return llvm::createStringError(name + " is " + reference::dtypeName(dtype) + ": '" + text +
                                     "' is not a number of that type");
    buffer.setInteger(0, integer);
  } else {
    if (text.getAsDouble(number))
      return llvm::createStringError("'" + text + "' is neither a file nor a number for " + name);
    buffer.set(0, number);
  }
  return buffer;
}

/// Adds what one --in says to `inputs`.
llvm::Error addGiven(const Signature &signature, StringRef text, reference::Buffers &inputs) {
  auto add = [&](StringRef name, const reference::NpyArray &array, StringRef place) -> llvm::Error {
    for (unsigned i = 0, e = signature.args.size(); i < e; ++i) {
      if (signature.args[i].getName().getValue() != name)
        continue;
      auto buffer = reference::toBuffer(array, dtypeOf(signature.argType(i).getElementType()));
      if (!buffer)
        return llvm::createStringError(place + ": " + llvm::toString(buffer.takeError()));
      inputs[name.str()] = std::move(*buffer);
    }
    return llvm::Error::success();
  };
  StringRef name, value;
  std::tie(name, value) = text.split('=');
  if (value.empty()) {
    auto arrays = reference::readNpzFile(text);
    if (!arrays)
      return arrays.takeError();
    for (const auto &[key, array] : *arrays)
      if (llvm::Error error = add(key, array, text.str() + ":" + key))
        return error;
    return llvm::Error::success();
  }
  const auto *argument = llvm::find_if(signature.args, [&](ArgAttr arg) { return arg.getName().getValue() == name; });
  if (argument == signature.args.end() || argument->getMode() == Mode::Out)
    return llvm::createStringError("'" + name + "' is not an argument of " + signature.name);
  RefType type = signature.argType(argument - signature.args.begin());
  if (type.isScalar() && !value.ends_with(".npy") && !value.contains(".npz:")) {
    auto scalar = scalarFrom(name, value, dtypeOf(type.getElementType()));
    if (!scalar)
      return scalar.takeError();
    inputs[name.str()] = std::move(*scalar);
    return llvm::Error::success();
  }
  auto array = reference::readNpyFile(value);
  if (!array)
    return array.takeError();
  return add(name, *array, value);
}

} // namespace

llvm::Expected<reference::Buffers> attnc::makeInputs(const Signature &signature, const Extents &extents,
                                                     const reference::InputCase &inputCase, uint64_t seed,
                                                     unsigned shrink, int64_t least) {
  reference::Buffers inputs;
  for (unsigned i = 0, e = signature.args.size(); i < e; ++i) {
    if (signature.args[i].getMode() == Mode::Out)
      continue;
    auto spec = specOf(signature, i, extents);
    if (!spec)
      return spec.takeError();
    if (spec->range.kind == reference::IntegerRange::Any) {
      if (auto required = requiredRange(signature, i, extents, spec->range.high))
        std::tie(spec->range.low, spec->range.high) = *required;
      spec->range.high = std::max(spec->range.low, spec->range.high >> std::min(shrink, 63u));
      spec->range.low = std::min(std::max(spec->range.low, least), spec->range.high);
    }
    auto buffer = reference::makeInput(*spec, inputCase, seed);
    if (!buffer)
      return buffer.takeError();
    inputs[spec->name] = std::move(*buffer);
  }
  return inputs;
}

llvm::Expected<AcceptedInputs> attnc::makeAcceptedInputs(const Signature &signature, const Extents &extents,
                                                         const reference::InputCase &inputCase, uint64_t seed) {
  mlir::Operation *program = signature.body->getParentOp();
  for (unsigned attempt = 0;; ++attempt) {
    // Some programs refuse large integers, some refuse 0.
    auto inputs = makeInputs(signature, extents, inputCase, seed, attempt / 2, /*least=*/attempt % 2);
    if (!inputs)
      return inputs.takeError();
    auto expected = reference::interpret(program, *inputs);
    if (expected && inputCase.poisonsAbsent) {
      reference::Poisoned poisoned = reference::poisonAbsent(program, *inputs, std::move(*expected));
      return AcceptedInputs{std::move(poisoned.arguments), std::move(poisoned.expected)};
    }
    if (expected)
      return AcceptedInputs{std::move(*inputs), std::move(*expected)};
    if (attempt / 2 == lastShrink)
      return expected.takeError();
    llvm::consumeError(expected.takeError());
  }
}

llvm::Expected<reference::Buffers> attnc::givenInputs(const Signature &signature) {
  reference::Buffers inputs;
  for (const std::string &text : given)
    if (llvm::Error error = addGiven(signature, text, inputs))
      return std::move(error);
  return inputs;
}

llvm::Expected<reference::Buffers> attnc::gatherInputs(const Signature &signature) {
  auto gathered = givenInputs(signature);
  if (!gathered)
    return gathered.takeError();
  reference::Buffers inputs = std::move(*gathered);
  if (random_) {
    auto chosen = chosenExtents();
    if (!chosen)
      return chosen.takeError();
    auto extents = extentsFrom(signature, *chosen);
    if (!extents)
      return extents.takeError();
    auto made = makeInputs(signature, *extents, reference::inputCases().front(), seed, randomShrink);
    if (!made)
      return made.takeError();
    for (auto &[name, buffer] : *made)
      inputs.try_emplace(name, std::move(buffer));
  }
  for (ArgAttr arg : signature.args)
    if (arg.getMode() != Mode::Out && !inputs.count(arg.getName().str()))
      return llvm::createStringError("nothing is given for argument '" + arg.getName().getValue() + "': write --in " +
                                     arg.getName().getValue() + "=FILE.npy, or --random");
  if (!inputFolder.empty())
    if (llvm::Error error = writeBuffers(inputs, inputFolder, /*tell=*/false))
      return std::move(error);
  return inputs;
}

llvm::Error attnc::writeResults(const reference::Buffers &results) {
  return writeBuffers(results, outputFolder, /*tell=*/true);
}

llvm::SmallVector<Signature> attnc::programsOf(mlir::ModuleOp module) {
  llvm::SmallVector<Signature> programs;
  for (mlir::Operation &op : *module.getBody())
    if (mlir::isa<ProgramOp, KernelOp>(op))
      programs.emplace_back(&op);
  return programs;
}

llvm::Expected<Signature> attnc::onlyProgram(mlir::ModuleOp module) {
  llvm::SmallVector<Signature> programs = programsOf(module);
  if (programs.size() == 1)
    return programs.front();
  std::string names;
  for (const Signature &program : programs)
    names += " " + program.name.str();
  if (programs.empty())
    return llvm::createStringError("the spec has no attention");
  return llvm::createStringError("the spec has several attentions; choose one with --kernel:" + names);
}

std::string attnc::extentsText(const Signature &signature, const Extents &extents) {
  std::string text;
  for (StringRef axis : freeAxes(signature))
    if (extents.contains(axis))
      text += (text.empty() ? "" : ",") + axis.str() + "=" + std::to_string(extents.lookup(axis));
  return text;
}
