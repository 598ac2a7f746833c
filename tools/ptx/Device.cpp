// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Device.h"
#include "llvm/Support/MathExtras.h"

namespace attn::ptx {

Allocation &Device::add(llvm::StringRef name, uint64_t address, uint64_t bytes) {
  Allocation &allocation = allocations[address];
  allocation.name = name;
  allocation.address = address;
  allocation.bytes.assign(bytes, 0xff);
  allocation.written.assign(bytes, 0);
  return allocation;
}

uint64_t Device::allocate(llvm::StringRef name, uint64_t bytes, bool readOnly) {
  Allocation &allocation = add(name, top, bytes);
  allocation.readOnly = readOnly;
  top = llvm::alignTo(top + bytes + 4096, 4096);
  return allocation.address;
}

uint64_t Device::allocate(llvm::StringRef name, llvm::ArrayRef<uint8_t> contents, bool readOnly) {
  uint64_t address = allocate(name, contents.size(), readOnly);
  Allocation &allocation = allocations[address];
  allocation.bytes = contents.vec();
  allocation.written.assign(contents.size(), 1);
  return address;
}

void Device::release(uint64_t address) {
  allocations.erase(address);
  latest = nullptr;
}

llvm::ArrayRef<uint8_t> Device::read(uint64_t address) const {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return {};
  return found->second.bytes;
}

Allocation *Device::find(uint64_t address) {
  if (latest && address >= latest->address && address - latest->address < latest->bytes.size())
    return latest;
  auto after = allocations.upper_bound(address);
  return latest = after == allocations.begin() ? nullptr : &std::prev(after)->second;
}

llvm::Error Device::load(const Program &program) {
  for (const Placed &placed : program.globals) {
    const Variable &variable = *placed.variable;
    auto found = allocations.find(placed.address);
    if (found != allocations.end() && found->second.name == variable.name)
      continue;
    if (variable.bytes() > uint64_t(1) << 32)
      return errorAt(variable.line, "'" + variable.name + "' is too large");
    Allocation &allocation = add(variable.name, placed.address, variable.bytes());
    allocation.readOnly = variable.space == Space::Const;
    // A module's variables are zero where nothing is said.
    allocation.bytes.assign(variable.bytes(), 0);
    allocation.written.assign(variable.bytes(), 1);
    unsigned size = typeBytes(variable.type);
    if (variable.initial.size() * size > variable.bytes())
      return errorAt(variable.line, "'" + variable.name + "' has more values than elements");
    uint8_t *to = allocation.bytes.data();
    for (const Variable::Initial &value : variable.initial) {
      uint64_t bits = value.bits;
      if (!value.symbol.empty()) {
        const Placed *target = nullptr;
        for (const Placed &other : program.globals)
          if (other.variable->name == value.symbol)
            target = &other;
        if (!target)
          return errorAt(variable.line, "'" + value.symbol + "' has no address that is known here");
        bits += target->address;
      }
      std::memcpy(to, &bits, size);
      to += size;
    }
  }
  return llvm::Error::success();
}

void Device::forgetWrites() {
  for (auto &[address, allocation] : allocations)
    allocation.writes.clear();
}

bool Launch::setParameter(const Program &program, unsigned index, llvm::ArrayRef<uint8_t> value) {
  if (index >= program.parameters.size() || program.parameters[index].variable->bytes() != value.size())
    return false;
  parameters.resize(program.parameterBytes);
  std::copy(value.begin(), value.end(), parameters.begin() + program.parameters[index].address);
  return true;
}

} // namespace attn::ptx
