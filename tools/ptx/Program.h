// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel ready to run: calls inlined, names turned into registers and addresses, each instruction with the function
// that executes it.
#ifndef ATTN_TOOLS_PTX_PROGRAM_H
#define ATTN_TOOLS_PTX_PROGRAM_H

#include "tools/ptx/Numbers.h"
#include "tools/ptx/Source.h"
#include "llvm/Support/MathExtras.h"

namespace attn::ptx {

struct Instruction;
class Warp;

constexpr unsigned kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffff;

/// Executes `instruction` for the lanes of `active`.
using Handler = void (*)(Warp &warp, const Instruction &instruction, uint32_t active);

/// What an instruction is counted as.
enum class Class : uint8_t {
  Integer,
  Float,
  Fma,
  Special,
  Matrix,
  Move,
  Load,
  Store,
  Atomic,
  Copy,
  Exchange,
  Barrier,
  Control
};
constexpr unsigned kClasses = 13;
llvm::StringRef className(Class kind);

/// How execution goes on. All but Next are executed by the machine, without a handler.
enum class Flow : uint8_t { Next, Branch, Exit, Barrier, Trap };

enum class Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum class Combine : uint8_t { None, And, Or, Xor };
/// In `detail` of a barrier. From CountTrue on it reduces a predicate.
enum class BarrierKind : uint8_t { Sync, Arrive, Warp, CountTrue, AllTrue, AnyTrue };

struct Instruction {
  Handler run = nullptr;
  Flow flow = Flow::Next;
  Class kind = Class::Integer;
  bool guarded = false, guardNegated = false;
  unsigned line = 0;
  uint32_t guard = 0;
  /// Registers that are written, and read. An address is a read register plus `offset`.
  llvm::SmallVector<uint32_t, 4> to, from;
  int64_t offset = 0;
  /// The address register has 32 bits.
  bool narrowAddress = false;

  Type type = Type::None, source = Type::None;
  Space space = Space::Generic;
  Rounding rounding = Rounding::Nearest;
  bool flush = false, saturate = false, relu = false, nan = false;
  /// ld.global.nc: only for what this launch does not write.
  bool nonCoherent = false;
  /// The predicate that is read last is `!p`.
  bool negated = false;
  Compare compare = Compare::Eq;
  Combine combine = Combine::None;
  /// Elements of a vector access, matrices of an `ldmatrix`, bytes of a `cp.async`, k of an `mma`.
  unsigned count = 1;
  /// What a handler needs beyond that; it says what.
  uint64_t detail = 0;

  /// Of a branch, as indices of instructions; `join` is where its lanes meet again.
  uint32_t target = 0, join = 0;
  /// From here a barrier or another instruction that lanes do together can be reached.
  bool meets = false;
};

/// A variable with its place: an offset into the window of its space, for .global and .const an address.
struct Placed {
  const Variable *variable = nullptr;
  uint64_t address = 0;
};

/// What a hidden register holds when a warp starts.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Lane,
  Warp,
  Warps,
  WarpSize,
  Lanemask,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  DynamicShared,
  TotalShared,
  DynamicBase,
  Clock,
  Constant,
};

/// By its name in PTX, such as `%tid.x`.
std::optional<Special> specialNamed(llvm::StringRef name);

struct HiddenRegister {
  uint32_t index = 0;
  Special special = Special::Constant;
  uint64_t value = 0;
};

/// Between variables in shared memory: a multiple of what all the banks hold.
constexpr uint64_t kSharedGap = 1024;

struct Program {
  /// The kernel in `module` called `entry`. An error names the line and the instruction that is not known.
  static llvm::Expected<Program> decode(const Module &module, llvm::StringRef entry);

  const Function *entry = nullptr;
  std::vector<Instruction> code;
  uint32_t registers = 0;
  std::vector<HiddenRegister> hidden;
  std::vector<Placed> parameters, shared, local;
  /// .global and .const variables of the module, at fixed addresses.
  std::vector<Placed> globals;
  uint64_t parameterBytes = 0, localBytes = 0;
  /// Shared memory that the kernel takes on hardware.
  uint64_t sharedBytes = 0;
  /// The window's part with its variables, which here lie apart so that running over an end is seen.
  uint64_t sharedWindow = 0;
  bool dynamicShared = false;

  /// Where dynamic shared memory begins.
  uint64_t dynamicBase() const { return sharedWindow ? llvm::alignTo(sharedWindow + kSharedGap, kSharedGap) : 0; }
};

/// Sets `meets`, and `join` of each branch to its immediate post-dominator; code.size() is the exit.
void findJoins(std::vector<Instruction> &code);

// Windows of the generic address space. Device allocations lie from kGlobalBase up, a module's own variables below.
constexpr uint64_t kModuleBase = 0x0000100000000ull;
constexpr uint64_t kGlobalBase = 0x0700000000000ull;
constexpr uint64_t kSharedWindow = 0x7f0000000000ull;
constexpr uint64_t kLocalWindow = 0x7f4000000000ull;
constexpr uint64_t kParamWindow = 0x7f8000000000ull;
constexpr uint64_t kWindowBytes = 0x1000000ull;

} // namespace attn::ptx

#endif
