// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Program.h"
#include "llvm/ADT/StringSwitch.h"

namespace attn::ptx {

std::optional<Special> specialNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Special>>(name)
      .Case("%tid.x", Special::TidX)
      .Case("%tid.y", Special::TidY)
      .Case("%tid.z", Special::TidZ)
      .Case("%ntid.x", Special::NtidX)
      .Case("%ntid.y", Special::NtidY)
      .Case("%ntid.z", Special::NtidZ)
      .Case("%ctaid.x", Special::CtaidX)
      .Case("%ctaid.y", Special::CtaidY)
      .Case("%ctaid.z", Special::CtaidZ)
      .Case("%nctaid.x", Special::NctaidX)
      .Case("%nctaid.y", Special::NctaidY)
      .Case("%nctaid.z", Special::NctaidZ)
      .Case("%laneid", Special::Lane)
      .Case("%warpid", Special::Warp)
      .Case("%nwarpid", Special::Warps)
      .Case("WARP_SZ", Special::WarpSize)
      .Case("%lanemask_eq", Special::Lanemask)
      .Case("%lanemask_lt", Special::LanemaskLt)
      .Case("%lanemask_le", Special::LanemaskLe)
      .Case("%lanemask_gt", Special::LanemaskGt)
      .Case("%lanemask_ge", Special::LanemaskGe)
      .Case("%dynamic_smem_size", Special::DynamicShared)
      .Case("%total_smem_size", Special::TotalShared)
      .Cases({"%clock", "%clock64", "%globaltimer", "%globaltimer_lo"}, Special::Clock)
      .Cases({"%smid", "%gridid", "%clock_hi", "%globaltimer_hi"}, Special::Constant)
      .Default(std::nullopt);
}

} // namespace attn::ptx
