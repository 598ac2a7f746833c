// RUN: attn-opt %s --attn-lower-to-cpu --split-input-file --verify-diagnostics

// expected-error @below {{attention memcpy: this is a function of the C library, which the program would lose; choose another name}}
attn.kernel @memcpy(out "y" %y : !attn.ref<[], f32>) axes [] facts [] {
}

// -----

attn.kernel @a_workspace(out "y" %y : !attn.ref<[], f32>) axes [] facts [] {
}
// expected-error @below {{attention a: another attention makes a function a_workspace; choose another name}}
attn.kernel @a(out "y" %y : !attn.ref<[], f32>) axes [] facts [] {
}

// -----

// expected-error @below {{argument y: elements of type 'f64' cannot be passed to a kernel}}
attn.kernel @wide(out "y" %y : !attn.ref<[], f64>) axes [] facts [] {
}

// -----

// expected-error @below {{nothing gives the extent of the ragged axis T}}
attn.kernel @ragged(in "x" %x : !attn.ref<[(B T)], f32>, out "y" %y : !attn.ref<[], f32>) axes [<B = 2>, <T[B]>] facts [] {
  %b = attn.buffer : !attn.ref<[B, T], f32>
}

// -----

attn.kernel @changing(in "x" %x : !attn.ref<[(B T)], f32>, inout "len" %len : !attn.ref<[B], i64>)
    axes [<B = 2>, <T[B]>] facts [] {
  %b = attn.index "B" : !attn.value<[B], i64>
  %l = attn.read %len[%b] : (!attn.ref<[B], i64>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  // expected-error @below {{the extent of T depends on what the kernel itself writes}}
  attn.ragged "T" = %l : !attn.value<[B], i64>
}
