// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the causal attention of CausalPlan.h, linked to a WebAssembly module, with NaN behind what queries see: node causal.js MODULE.
const fs = require("fs");
const S = 45, T = 50, E = 17, F = 13, blocks = Math.ceil(T / 12);
const made = (i, j) => Math.fround(Math.sin(7 * i + 3 * j + 1));

const memory = new WebAssembly.Memory({ initial: 64 });
let next = 1 << 20; // behind the module's own data; nothing is given back
function allocate(bytes) {
  const at = next;
  next += (Number(bytes) + 127) & ~127;
  return at;
}
const view = () => new DataView(memory.buffer);

// halide_buffer_t with pointers of 32 bits, of rows by columns f32.
function buffer(rows, columns, element) {
  const host = allocate(rows * columns * 4), dims = allocate(32), at = allocate(40);
  for (let r = 0; r < rows; ++r)
    for (let c = 0; c < columns; ++c) view().setFloat32(host + 4 * (r * columns + c), element(r, c), true);
  [0, columns, 1, 0, 0, rows, columns, 0].forEach((word, i) => view().setInt32(dims + 4 * i, word, true));
  new Uint8Array(memory.buffer, at, 40).fill(0);
  view().setInt32(at + 12, host, true);
  view().setInt32(at + 24, 2 | (32 << 8) | (1 << 16), true);
  view().setInt32(at + 28, 2, true);
  view().setInt32(at + 32, dims, true);
  return { at, read: (r, c) => view().getFloat32(host + 4 * (r * columns + c), true) };
}

function expected(s, f) {
  let sum = 0, mix = 0;
  for (let t = 0; t <= s; ++t) {
    let score = 0;
    for (let e = 0; e < E; ++e) score += made(s, e) * made(e, t + 5);
    sum += Math.exp(score / 4);
    mix += Math.exp(score / 4) * made(f + 1, t);
  }
  return mix / sum;
}

const env = { memory, halide_malloc: (user, bytes) => allocate(bytes), halide_free: () => {} };
const code = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
const instance = new WebAssembly.Instance(code, { env });
const q = buffer(S, E, made), k = buffer(T, E, (t, e) => made(e, t + 5));
const v = buffer(T, F, (t, f) => (t < S ? made(f + 1, t) : NaN)), o = buffer(S, F, () => 42);
const extents = [S, T, E, F, S, E, T, E, T, F, S, F].map(BigInt);
const status = instance.exports.causal(0, q.at, k.at, v.at, ...extents, 0, blocks, o.at);
let worst = status === 0 ? 0 : NaN;
for (let s = 0; s < S; ++s)
  for (let f = 0; f < F; ++f) worst = Math.max(worst, Math.abs(o.read(s, f) - expected(s, f)));
console.log("largest error", worst);
process.exit(worst < 1e-5 ? 0 : 1);
