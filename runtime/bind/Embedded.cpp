// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bitcode of Bind.c and Run.c, as the build made it.

#include "runtime/bind/Embedded.h"

static const unsigned char x86_64[] = {
#include "runtime/bind/Bind.x86_64.inc"
};

static const unsigned char aarch64[] = {
#include "runtime/bind/Bind.aarch64.inc"
};

attn::Bitcode attn::bindBitcodeX86_64() { return {x86_64, sizeof(x86_64)}; }
attn::Bitcode attn::bindBitcodeAArch64() { return {aarch64, sizeof(aarch64)}; }
