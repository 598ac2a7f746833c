// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 1. Holds. (half_c1)
// 2. Holds too. (none_c1)
