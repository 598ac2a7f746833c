// RUN: attn-opt %s
// CHECK-NEXT: never read
