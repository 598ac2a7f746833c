// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// -DFAULT=NAME puts one fault into a kernel.
#define NONE 0
#define DROPPED_BARRIER 1
#define DROPPED_LAST_BARRIER 2
#define LATE_WAIT 3
#define WRONG_SWIZZLE 4
#define OFF_BY_ONE 5
#define SMALL_BUFFER 6
#define LOST_TRANSPOSE 7
#define MISSED_RESCALE 8
#define MISSED_LANES 9
#ifndef FAULT
#define FAULT NONE
#endif
#define HAS(fault) (FAULT == fault)
