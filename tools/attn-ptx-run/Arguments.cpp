// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/attn-ptx-run/Arguments.h"
#include "dialects/reference/Npy.h"
#include "llvm/ADT/StringExtras.h"

namespace attn::ptx {

using llvm::createStringError;
using llvm::Error;
using llvm::StringRef;

namespace {
/// `f32[2,3]`.
Error parseArray(StringRef text, Output &output) {
  auto [dtype, extents] = text.split('[');
  output.dtype = dtype;
  if (!reference::parseDtype(dtype) || !extents.consume_back("]"))
    return createStringError("'" + text + "' is not a type with extents, such as f32[2,3]");
  llvm::SmallVector<StringRef> parts;
  extents.split(parts, ',', -1, false);
  for (StringRef part : parts)
    if (part.trim().getAsInteger(10, output.shape.emplace_back()) || output.shape.back() < 0)
      return createStringError("'" + part + "' is not an extent");
  return Error::success();
}

/// The bytes of a number; empty when it is none.
std::vector<uint8_t> numberBytes(StringRef type, StringRef text) {
  uint64_t bits = 0;
  Type known = typeNamed(type);
  double value;
  if (type.starts_with("i"))
    known = typeNamed(("s" + type.drop_front()).str());
  if (isFloat(known)) {
    if (isPacked(known) || text.getAsDouble(value))
      return {};
    bits = encodeFloat(known, value);
  } else if (known == Type::None || known == Type::Pred) {
    return {};
  } else if (int64_t number; !text.getAsInteger(0, number)) {
    bits = uint64_t(number);
  } else if (text.getAsInteger(0, bits)) {
    return {};
  }
  const auto *bytes = reinterpret_cast<const uint8_t *>(&bits);
  return {bytes, bytes + typeBytes(known)};
}

llvm::Expected<reference::Buffer> readArray(StringRef path) {
  llvm::Expected<reference::NpyArray> array = reference::readNpyFile(path);
  if (!array)
    return array.takeError();
  return reference::toBuffer(*array);
}
} // namespace

Error setArgument(const Program &program, Device &device, Launch &launch, unsigned index, StringRef text,
                  std::vector<Output> &outputs) {
  auto [kind, rest] = text.split(':');
  auto [what, path] = rest.rsplit('=');
  std::string name = "argument " + std::to_string(index);
  if (index < program.parameters.size())
    name = program.parameters[index].variable->name;
  std::vector<uint8_t> value;
  uint64_t address = 0;
  if (kind == "in" || kind == "inout") {
    llvm::Expected<reference::Buffer> buffer = readArray(kind == "in" ? rest : what);
    if (!buffer)
      return buffer.takeError();
    address = device.allocate(name, buffer->bytes, kind == "in");
    if (kind == "inout")
      outputs.push_back({address, path.str(), reference::dtypeName(buffer->dtype).str(), buffer->shape});
  } else if (kind == "out" || kind == "zero") {
    Output output;
    if (Error error = parseArray(what, output))
      return error;
    reference::Dtype dtype = *reference::parseDtype(output.dtype);
    llvm::Expected<reference::Buffer> buffer = reference::Buffer::create(dtype, output.shape);
    if (!buffer)
      return buffer.takeError();
    address = kind == "out" ? device.allocate(name, buffer->bytes.size()) : device.allocate(name, buffer->bytes);
    output.address = address;
    output.path = path;
    outputs.push_back(output);
  } else {
    value = numberBytes(kind, rest);
    if (value.empty())
      return createStringError("'" + text +
                               "' is not an argument; write i32:5, f32:1.5, in:FILE, out:f32[2,3]=FILE, "
                               "zero:f32[2,3]=FILE or inout:FILE=FILE");
  }
  if (address)
    value.assign(reinterpret_cast<uint8_t *>(&address), reinterpret_cast<uint8_t *>(&address + 1));
  if (index >= program.parameters.size())
    return createStringError("the kernel takes " + llvm::Twine(program.parameters.size()) + " arguments, '" + text +
                             "' is one more");
  if (!launch.setParameter(program, index, value))
    return createStringError("'" + text + "' has " + llvm::Twine(value.size()) + " bytes, '" + name + "' takes " +
                             llvm::Twine(program.parameters[index].variable->bytes()));
  return Error::success();
}

Error writeOutput(const Device &device, const Output &output) {
  llvm::Expected<reference::Buffer> buffer =
      reference::Buffer::create(*reference::parseDtype(output.dtype), output.shape);
  if (!buffer)
    return buffer.takeError();
  buffer->bytes = device.read(output.address).vec();
  return reference::writeNpyFile(output.path, *buffer);
}

} // namespace attn::ptx
