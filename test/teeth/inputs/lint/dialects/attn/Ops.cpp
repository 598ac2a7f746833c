// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// half_c1
