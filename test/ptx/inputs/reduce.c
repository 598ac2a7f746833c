// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y[row] = the sum of x[row, :], by a CTA of 128 threads.
#include "device.h"
#include "faults.h"

SHARED float partial[4];

KERNEL reduce(float *y, const float *x, u32 columns) {
  u32 me = thread();
  const float *row = x + (unsigned long)block_x() * columns;
  float sum = 0;
  for (u32 i = me; HAS(OFF_BY_ONE) ? i <= columns : i < columns; i += 128)
    sum += row[i];
  for (int bits = HAS(MISSED_LANES) ? 8 : 16; bits; bits /= 2)
    sum += exchange(sum, bits);
  if (me % 32 == 0)
    partial[me / 32] = sum;
  if (!HAS(DROPPED_BARRIER))
    barrier();
  if (me == 0)
    y[block_x()] = partial[0] + partial[1] + partial[2] + partial[3];
}
