// RUN: attn-opt %s
// expected-error @below {{never looked for}}
