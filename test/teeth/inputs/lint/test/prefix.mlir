// RUN: attn-opt %s | FileCheck %s --check-prefix=GPU
// GPU: read
// CPU-LABEL: never read
