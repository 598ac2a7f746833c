// RUN: attn-opt %s --attn-classify-mask --split-input-file | FileCheck %s

// t <= s: the keys below s + 1.
// CHECK-LABEL: attn.program @causal
// CHECK: %[[U:.*]] = attn.map(%{{.*}}) : (!attn.value<[S], i64>)
// CHECK: arith.constant 1
// CHECK: arith.addi
// CHECK: attn.flash {{.*}} over ["T"] upper(%[[U]]) :
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
// CHECK-NEXT: attn.yield %[[RAW]] : !attn.value<[S, T], f32>
attn.program @causal(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>

  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %c = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %p = arith.cmpi sle, %t_, %s_ : i64
      attn.yield %p : i1
    }
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S, T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// t <= s + T - S, the last query sees the last key, written the other way round.
// CHECK-LABEL: attn.program @causal_end
// CHECK: %[[U:.*]] = attn.map(%[[S:.*]], %[[N:.*]], %[[M:.*]]) : (!attn.value<[S], i64>, !attn.value<[], i64>, !attn.value<[], i64>)
// CHECK: attn.flash {{.*}} over ["T"] upper(%[[U]]) :
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
// CHECK-NEXT: attn.yield %[[RAW]] : !attn.value<[S, T], f32>
attn.program @causal_end(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>
  %n = attn.extent "T" : !attn.value<[], i64>
  %m = attn.extent "S" : !attn.value<[], i64>
  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %c = attn.map(%t, %s, %n, %m) : (!attn.value<[T], i64>, !attn.value<[S], i64>, !attn.value<[], i64>, !attn.value<[], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64, %n_: i64, %m_: i64):
      %i = arith.addi %s_, %n_ : i64
      %j = arith.subi %i, %m_ : i64
      %p = arith.cmpi sge, %j, %t_ : i64
      attn.yield %p : i1
    }
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S, T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// 0 <= s - t < 4: a window is exact at both ends; both comparisons in one map.
// CHECK-LABEL: attn.program @window
// CHECK: %[[L:.*]] = attn.map(%[[S:.*]]) : (!attn.value<[S], i64>)
// CHECK: arith.constant -3
// CHECK: %[[U:.*]] = attn.map(%[[S]]) : (!attn.value<[S], i64>)
// CHECK: arith.constant 1
// CHECK: attn.flash {{.*}} lower(%[[L]]) upper(%[[U]]) :
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
// CHECK-NEXT: attn.yield %[[RAW]] : !attn.value<[S, T], f32>
attn.program @window(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>

  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %c = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %d = arith.subi %s_, %t_ : i64
      %zero = arith.constant 0 : i64
      %four = arith.constant 4 : i64
      %p = arith.cmpi sle, %zero, %d : i64
      %r = arith.cmpi slt, %d, %four : i64
      %both = arith.andi %p, %r : i1
      attn.yield %both : i1
    }
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S, T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// Length padding: what is read without the key axis is a bound itself.
// CHECK-LABEL: attn.program @length
// CHECK: %[[N:.*]] = attn.read %len[]
// CHECK: attn.flash {{.*}} upper(%[[N]]) :
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
// CHECK-NEXT: attn.yield %[[RAW]] : !attn.value<[S, T], f32>
attn.program @length(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>
  %n = attn.read %len[] : (!attn.ref<[], i64>) -> !attn.value<[], i64>
  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %c = attn.map(%t, %n) : (!attn.value<[T], i64>, !attn.value<[], i64>) -> !attn.value<[T], i1> {
    ^bb0(%t_: i64, %n_: i64):
      %p = arith.cmpi slt, %t_, %n_ : i64
      attn.yield %p : i1
    }
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// A tensor of booleans is no bound; the rest of the conjunction is.
// CHECK-LABEL: attn.program @boolean
// CHECK: %[[KEEP:.*]] = attn.read %keep
// CHECK: attn.flash {{.*}} upper(%{{.*}}) :
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
// CHECK-NEXT: attn.yield %[[RAW]], %[[KEEP]] : !attn.value<[S, T], f32>, !attn.value<[T], i1>
attn.program @boolean(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>
  %kp = attn.read %keep[%t] : (!attn.ref<[T], i1>, !attn.value<[T], i64>) -> !attn.value<[T], i1>
  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %b = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %p = arith.cmpi sle, %t_, %s_ : i64
      attn.yield %p : i1
    }
    %c = attn.and %b, %kp : (!attn.value<[S, T], i1>, !attn.value<[T], i1>) -> !attn.value<[S, T], i1>
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S, T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// s / 2 <= t: what needs no key is computed apart, whatever it is. t != s leaves what is before s and what is behind.
// A remainder by what is no constant stays.
// CHECK-LABEL: attn.program @residual
// CHECK: %{{.*}} = attn.map(%{{.*}}) : (!attn.value<[S], i64>) -> !attn.value<[S], i64>
// CHECK: arith.divsi
// CHECK: attn.flash {{.*}} lower(%{{[0-9]+}}, %{{[0-9]+}}) upper(%{{[0-9]+}}, %{{[0-9]+}}) :
// CHECK-NOT: arith.cmpi
// CHECK: arith.remsi
// CHECK: arith.cmpi sle
// CHECK-NOT: attn.and
// CHECK: attn.yield %{{.*}}, %{{.*}}
attn.program @residual(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>

  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %c0 = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %two = arith.constant 2 : i64
      %d = arith.divsi %s_, %two : i64
      %p = arith.cmpi sle, %d, %t_ : i64
      attn.yield %p : i1
    }
    %c1 = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %p = arith.cmpi ne, %t_, %s_ : i64
      attn.yield %p : i1
    }
    %c2 = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %two = arith.constant 2 : i64
      %d = arith.muli %t_, %two : i64
      %p = arith.cmpi sle, %d, %s_ : i64
      attn.yield %p : i1
    }
    %c3 = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64):
      %d = arith.remsi %t_, %s_ : i64
      %z = arith.constant 0 : i64
      %p = arith.cmpi sle, %d, %z : i64
      attn.yield %p : i1
    }
    %d1 = attn.and %c0, %c1 : (!attn.value<[S, T], i1>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], i1>
    %d2 = attn.and %d1, %c2 : (!attn.value<[S, T], i1>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], i1>
    %c = attn.and %d2, %c3 : (!attn.value<[S, T], i1>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], i1>
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S, T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// A condition without the key axis sees every key of its row, or none.
// CHECK-LABEL: attn.program @row
// CHECK: %[[C:.*]] = attn.map
// CHECK: %[[N:.*]] = attn.extent "T"
// CHECK: %[[Z:.*]] = attn.constant 0
// CHECK: %[[U:.*]] = attn.select %[[C]], %[[N]], %[[Z]]
// CHECK: attn.flash {{.*}} upper(%[[U]]) :
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
// CHECK-NEXT: attn.yield %[[RAW]] : !attn.value<[S, T], f32>
attn.program @row(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, in "keep" %keep : !attn.ref<[T], i1>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>
    %c = attn.map(%s) : (!attn.value<[S], i64>) -> !attn.value<[S], i1> {
    ^bb0(%s_: i64):
      %four = arith.constant 4 : i64
      %p = arith.cmpi slt, %s_, %four : i64
      attn.yield %p : i1
    }

  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// t - s < n with an n of 64 bits: n + s stops at the ends of 64 bits instead of going round.
// CHECK-LABEL: attn.program @wide
// CHECK: %[[S:.*]] = attn.index "S"
// CHECK: %[[N:.*]] = attn.read %len[]
// CHECK: %[[U:.*]] = attn.map(%[[N]], %[[S]])
// CHECK: arith.addi
// CHECK: arith.constant -9223372036854775808
// CHECK: arith.constant 9223372036854775807
// CHECK: attn.flash {{.*}} upper(%[[U]]) :
attn.program @wide(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, in "len" %len : !attn.ref<[], i64>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[T, E], f32>
  %n = attn.read %len[] : (!attn.ref<[], i64>) -> !attn.value<[], i64>
  %x = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] : (!attn.value<[S, E], f32>, !attn.value<[T, E], f32>, !attn.value<[T, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%a: !attn.value<[S, T], f32>):
    %c = attn.map(%t, %s, %n) : (!attn.value<[T], i64>, !attn.value<[S], i64>, !attn.value<[], i64>) -> !attn.value<[S, T], i1> {
    ^bb0(%t_: i64, %s_: i64, %n_: i64):
      %d = arith.subi %t_, %s_ : i64
      %p = arith.cmpi slt, %d, %n_ : i64
      attn.yield %p : i1
    }
    attn.yield %a, %c : !attn.value<[S, T], f32>, !attn.value<[S, T], i1>
  }
  attn.write %x, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}
