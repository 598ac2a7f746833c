// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A path that exists on one machine only.
const char *p = "/home/someone/x";
