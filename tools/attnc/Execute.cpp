//===- Execute.cpp - run compiled kernels on buffers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attnc/Execute.h"

#include "schedules/Target.h"
#include "tools/attnc/Shapes.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>
#include <deque>

using namespace attn;
using namespace attnc;
using reference::Buffer;
using reference::Dtype;

namespace {

constexpr int64_t guardBytes = 256;
constexpr uint8_t guardByte = 0xC5;
/// As f32, -7.7e-34 and so on: no value that a kernel computes.
constexpr uint8_t garbageByte = 0x87;

DLDataType dlpackType(Dtype dtype) {
  auto make = [](int code, int bits) { return DLDataType{uint8_t(code), uint8_t(bits), 1}; };
  switch (dtype) {
  case Dtype::F32:
    return make(kDLFloat, 32);
  case Dtype::F16:
    return make(kDLFloat, 16);
  case Dtype::BF16:
    return make(kDLBfloat, 16);
  case Dtype::F8E4M3:
    return make(ATTN_DTYPE_FLOAT8_E4M3FN, 8);
  case Dtype::F8E5M2:
    return make(ATTN_DTYPE_FLOAT8_E5M2, 8);
  case Dtype::I8:
    return make(kDLInt, 8);
  case Dtype::U8:
    return make(kDLUInt, 8);
  case Dtype::I32:
    return make(kDLInt, 32);
  case Dtype::I64:
    return make(kDLInt, 64);
  case Dtype::Bool:
    return make(ATTN_DTYPE_BOOL, 8);
  }
  llvm_unreachable("all dtypes are above");
}

/// An argument's memory: elements somewhere inside, guard bytes everywhere else.
struct Stored {
  std::string name;
  Mode mode;
  Dtype dtype;
  llvm::SmallVector<int64_t, 4> shape, strides; // in elements
  std::vector<uint8_t> memory;
  int64_t first; // of the element at index 0, in bytes
  DLTensor tensor;
  /// Where `memory` has its copy; null: kernels work on `memory` itself.
  Device *device = nullptr;
  uint64_t address = 0;

  Stored(llvm::StringRef name, Mode mode, Dtype dtype, llvm::ArrayRef<int64_t> shape, Layout layout);
  ~Stored() {
    if (device)
      device->release(address);
  }
  Stored(const Stored &) = delete;

  /// Moves the argument to a device.
  llvm::Error moveTo(Device &device);
  llvm::Error upload() { return device ? device->upload(address, memory) : llvm::Error::success(); }
  llvm::Error download() { return device ? device->download(memory, address) : llvm::Error::success(); }

  int64_t count() const {
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    return elements;
  }

  /// Calls `each(row-major number, bytes)` for all elements.
  template <typename Each> void forEach(Each each) {
    llvm::SmallVector<int64_t, 4> place(shape.size(), 0);
    int64_t size = reference::dtypeSize(dtype), offset = first;
    for (int64_t i = 0, e = count(); i < e; ++i) {
      each(i, memory.data() + offset);
      for (size_t d = shape.size(); d-- > 0;) {
        offset += strides[d] * size;
        if (++place[d] < shape[d])
          break;
        offset -= strides[d] * size * shape[d];
        place[d] = 0;
      }
    }
  }

  void fill(const Buffer &contents) {
    int64_t size = reference::dtypeSize(dtype);
    forEach([&](int64_t i, uint8_t *bytes) { std::copy_n(contents.bytes.data() + i * size, size, bytes); });
  }
};

Stored::Stored(llvm::StringRef name, Mode mode, Dtype dtype, llvm::ArrayRef<int64_t> extents, Layout layout)
    : name(name.str()), mode(mode), dtype(dtype), shape(extents.begin(), extents.end()), strides(shape.size()) {
  int64_t size = reference::dtypeSize(dtype);
  int64_t stride = layout == Layout::Strided ? 2 : 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
    if (layout != Layout::Compact && d + 1 == shape.size())
      stride += 3;
  }
  int64_t bytes = stride * size;
  memory.assign(bytes + 2 * guardBytes, guardByte);
  // Compact arguments start on a cache line, as those of a careful caller; the others just past one.
  int64_t start = reinterpret_cast<intptr_t>(memory.data());
  first = llvm::alignTo(start + guardBytes / 2, 64) - start + (layout == Layout::Compact ? 0 : size);
  if (layout == Layout::Reversed && mode == Mode::In)
    for (size_t d = 0; d < shape.size(); ++d) {
      first += strides[d] * std::max<int64_t>(shape[d] - 1, 0) * size;
      strides[d] = -strides[d];
    }
  tensor = {};
  tensor.data = memory.data();
  tensor.byte_offset = first;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dtype = dlpackType(dtype);
  tensor.shape = shape.data();
  tensor.strides = layout == Layout::Compact ? nullptr : strides.data();
}

/// The copy starts at a multiple of what `memory` starts at a multiple of, up to a cache line.
llvm::Error Stored::moveTo(Device &to) {
  int64_t shift = reinterpret_cast<intptr_t>(memory.data()) % 64;
  first += shift;
  memory.insert(memory.begin(), shift, guardByte);
  auto place = to.allocate(name, memory.size(), mode == Mode::In);
  if (!place)
    return place.takeError();
  device = &to;
  address = *place;
  tensor.data = reinterpret_cast<void *>(address);
  tensor.byte_offset = first;
  tensor.device = {kDLCUDA, 0};
  return upload();
}

} // namespace

llvm::StringRef attnc::layoutName(Layout layout) {
  switch (layout) {
  case Layout::Compact:
    return "compact";
  case Layout::Padded:
    return "padded";
  case Layout::Strided:
    return "strided";
  case Layout::Reversed:
    return "reversed";
  }
  llvm_unreachable("all layouts are above");
}

struct Call::State {
  LoadedObject::Kernel kernel;
  std::deque<Stored> arguments; // never moves: the tensors point into it
  std::vector<const void *> pointers;
  /// What inouts held before the first call; each call starts from it.
  reference::Buffers initial;
  attn_context context;
  Device *device = nullptr;
  uint64_t fault = 0; ///< where the device has the context's fault
  char message[512];

  ~State() {
    if (fault)
      device->release(fault);
  }

  /// Tensors to the device; what is passed by value stays.
  llvm::Error moveTo(Device &to);
  /// An error says which condition on data in the device's memory did not hold.
  llvm::Error explainFault();
};

llvm::Error Call::State::moveTo(Device &to) {
  device = &to;
  for (auto [stored, pointer] : llvm::zip(arguments, pointers))
    if (pointer == &stored.tensor)
      if (llvm::Error error = stored.moveTo(to))
        return error;
  to.attach(context);
  auto place = to.allocate("fault", sizeof(char *), /*readOnly=*/false);
  if (!place)
    return place.takeError();
  fault = *place;
  context.fault = reinterpret_cast<const char **>(fault);
  return llvm::Error::success();
}

llvm::Error Call::State::explainFault() {
  const char *text = nullptr;
  llvm::MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(&text), sizeof(text));
  if (llvm::Error error = device->download(bytes, fault))
    return error;
  return text ? llvm::createStringError(text) : llvm::Error::success();
}

Call::Call(std::unique_ptr<State> state) : state(std::move(state)) {}
Call::~Call() = default;

llvm::Expected<std::unique_ptr<Call>> Call::prepare(LoadedObject &object, const Signature &signature,
                                                    const reference::Buffers &inputs, int threads, Layout layout,
                                                    Device *device) {
  auto state = std::make_unique<State>();
  auto kernel = object.find(signature);
  if (!kernel)
    return kernel.takeError();
  state->kernel = *kernel;
  auto extents = extentsFrom(signature, inputs);
  if (!extents)
    return extents.takeError();
  for (unsigned i = 0, e = signature.args.size(); i < e; ++i) {
    ArgAttr arg = signature.args[i];
    RefType type = signature.argType(i);
    llvm::StringRef name = arg.getName().getValue();
    if (arg.getMode() != Mode::Out) {
      const Buffer &input = inputs.at(name.str());
      Stored &stored = state->arguments.emplace_back(name, arg.getMode(), input.dtype, input.shape, layout);
      stored.fill(input);
      bool byValue = type.isScalar() && arg.getMode() == Mode::In;
      state->pointers.push_back(byValue ? static_cast<const void *>(stored.memory.data() + stored.first)
                                        : &stored.tensor);
      if (arg.getMode() == Mode::InOut)
        state->initial[name.str()] = input;
      continue;
    }
    auto shape = shapeOf(signature, i, *extents, inputs);
    if (!shape)
      return shape.takeError();
    Dtype dtype = dtypeOf(type.getElementType());
    if (!reference::elementCount(*shape, dtype))
      return llvm::createStringError("result '" + name + "' is too large");
    state->pointers.push_back(&state->arguments.emplace_back(name, Mode::Out, dtype, *shape, layout).tensor);
  }
  if (attn_context_init(&state->context, sizeof(state->context)) != ATTN_OK ||
      attn_context_set_threads(&state->context, threads) != ATTN_OK)
    return llvm::createStringError("the runtime refuses to run on " + llvm::Twine(threads) + " threads");
  state->context.message = state->message;
  state->context.message_size = sizeof(state->message);
  if (device)
    if (llvm::Error error = state->moveTo(*device))
      return std::move(error);
  return std::unique_ptr<Call>(new Call(std::move(state)));
}

llvm::Error Call::run() {
  for (Stored &stored : state->arguments) {
    int64_t size = reference::dtypeSize(stored.dtype);
    if (stored.mode == Mode::Out)
      stored.forEach([&](int64_t, uint8_t *bytes) { std::memset(bytes, garbageByte, size); });
    else if (stored.mode == Mode::InOut)
      stored.fill(state->initial.at(stored.name));
    if (stored.mode != Mode::In)
      if (llvm::Error error = stored.upload())
        return error;
  }
  if (!state->device)
    return runAgain();
  const char *none = nullptr;
  if (llvm::Error error = state->device->upload(state->fault, {reinterpret_cast<const uint8_t *>(&none), sizeof(none)}))
    return error;
  if (llvm::Error error = runAgain())
    return error;
  return state->explainFault();
}

llvm::Error Call::runAgain() {
  state->message[0] = 0;
  attn_status status = state->kernel.call(&state->context, state->pointers.data());
  if (status == ATTN_OK)
    return state->device ? state->device->finish() : llvm::Error::success();
  return llvm::createStringError(llvm::Twine(attn_status_name(status)) + ": " + state->message);
}

llvm::Expected<reference::Buffers> Call::results() {
  reference::Buffers results;
  for (Stored &stored : state->arguments) {
    if (stored.mode == Mode::In)
      continue;
    if (llvm::Error error = stored.download())
      return std::move(error);
    Buffer buffer = Buffer::zeros(stored.dtype, stored.shape);
    int64_t size = reference::dtypeSize(stored.dtype);
    // Elements become guards as they are taken, so that whatever is not a guard then was written wrongly.
    stored.forEach([&](int64_t i, uint8_t *bytes) {
      std::copy_n(bytes, size, buffer.bytes.data() + i * size);
      std::memset(bytes, guardByte, size);
    });
    if (llvm::any_of(stored.memory, [](uint8_t byte) { return byte != guardByte; }))
      return llvm::createStringError("the kernel wrote outside of '" + stored.name + "'");
    stored.fill(buffer);
    results[stored.name] = std::move(buffer);
  }
  return results;
}

llvm::Expected<size_t> Call::workspaceBytes() {
  size_t bytes = 0;
  state->message[0] = 0;
  attn_status status = state->kernel.workspace(&state->context, state->pointers.data(), &bytes);
  if (status != ATTN_OK)
    return llvm::createStringError(llvm::Twine(attn_status_name(status)) + ": " + state->message);
  return bytes;
}

int64_t Call::argumentBytes() const {
  int64_t bytes = 0;
  for (const Stored &stored : state->arguments)
    bytes += stored.count() * reference::dtypeSize(stored.dtype);
  return bytes;
}

llvm::Expected<std::unique_ptr<attn::LoadedObject>> attnc::loadObject(attn::Driver &driver, mlir::ModuleOp module) {
  auto object = driver.compileObject(module);
  if (failed(object))
    return llvm::createStringError("the kernels could not be compiled");
  return attn::LoadedObject::load(std::move(*object));
}

llvm::Expected<std::unique_ptr<Device>> attnc::openDevice(const attn::Driver &driver, bool mayBeSimulated) {
  auto target = findTarget(driver.getOptions().targets.front());
  if (!target)
    return target.takeError();
  if (!target->isCuda())
    return nullptr;
  auto gpu = openGpu();
  if (gpu || !mayBeSimulated)
    return gpu;
  llvm::consumeError(gpu.takeError());
  return makeSimulator();
}

llvm::Expected<std::unique_ptr<attn::LoadedObject>> attnc::loadObject(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), path + ": " + file.getError().message());
  return attn::LoadedObject::load(std::move(*file));
}
