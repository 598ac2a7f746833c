//===- Program.cpp - a program whose names and types are known --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn::language;

std::optional<Dtype> attn::language::parseDtype(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Dtype>>(name)
      .Case("f32", Dtype::F32)
      .Case("f16", Dtype::F16)
      .Case("bf16", Dtype::BF16)
      .Case("f8e4m3", Dtype::F8E4M3)
      .Case("f8e5m2", Dtype::F8E5M2)
      .Case("i8", Dtype::I8)
      .Case("u8", Dtype::U8)
      .Case("i32", Dtype::I32)
      .Case("i64", Dtype::I64)
      .Case("bool", Dtype::Bool)
      .Default(std::nullopt);
}

ValueKind attn::language::kindOf(Dtype dtype) {
  switch (dtype) {
  case Dtype::Bool:
    return ValueKind::Bool;
  case Dtype::I8:
  case Dtype::U8:
  case Dtype::I32:
  case Dtype::I64:
    return ValueKind::Int;
  default:
    return ValueKind::Float;
  }
}

std::string Program::describe(AxisSet set) const {
  if (set.empty())
    return "no axes";
  std::string text;
  llvm::ListSeparator space(" ");
  for (unsigned axis : set.list())
    text += (llvm::StringRef(space) + axes[axis].name).str();
  return text;
}

std::string Program::describe(const Extent &extent) const {
  return extent.str([&](unsigned axis) { return axes[axis].name; }, [&](unsigned arg) { return stored[arg].name; });
}

Extent Program::expand(const Extent &extent) const {
  Extent current = extent;
  // Definitions speak of earlier axes only, so this ends after one round per axis at most.
  for (size_t round = 0; round <= axes.size(); ++round) {
    Extent next = current.substitute([&](unsigned axis) { return axes[axis].extent; });
    if (next == current)
      break;
    current = next;
  }
  return current;
}

bool Program::sameExtent(unsigned a, unsigned b) const {
  if (a == b)
    return true;
  if (axes[a].isRagged() || axes[b].isRagged())
    return axes[a].dependsOn == axes[b].dependsOn && axes[a].raggedExtent && axes[b].raggedExtent &&
           axes[a].raggedExtent->identity == axes[b].raggedExtent->identity;
  if (expand(Extent::axis(a)) == expand(Extent::axis(b)))
    return true;
  return llvm::any_of(checks, [&](const AxisFact &fact) {
    return (fact.axis == a && fact.extent.isAxis(b)) || (fact.axis == b && fact.extent.isAxis(a));
  });
}
