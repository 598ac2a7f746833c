// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The assembly of this folder's source files, as the build made it.

#include "runtime/bind/Embedded.h"

const std::vector<attn::Part> &attn::bindPartsX86_64() {
  static const std::vector<Part> parts = {
#include "runtime/bind/Arena.x86_64.inc"
#include "runtime/bind/Bind.x86_64.inc"
#include "runtime/bind/Cuda.x86_64.inc"
#include "runtime/bind/Device.x86_64.inc"
#include "runtime/bind/Level.x86_64.inc"
#include "runtime/bind/Run.x86_64.inc"
#include "runtime/bind/Tiles.x86_64.inc"
  };
  return parts;
}

const std::vector<attn::Part> &attn::bindPartsAArch64() {
  static const std::vector<Part> parts = {
#include "runtime/bind/Arena.aarch64.inc"
#include "runtime/bind/Bind.aarch64.inc"
#include "runtime/bind/Cuda.aarch64.inc"
#include "runtime/bind/Device.aarch64.inc"
#include "runtime/bind/Level.aarch64.inc"
#include "runtime/bind/Run.aarch64.inc"
#include "runtime/bind/Tiles.aarch64.inc"
  };
  return parts;
}
