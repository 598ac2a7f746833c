// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where diverged lanes meet again: immediate post-dominators, found on the instructions themselves. A trap counts as if
// it went on, as it is no place to meet.
#include "tools/ptx/Program.h"

namespace attn::ptx {

namespace {
/// The instructions that can follow `index`; the exit is code.size().
llvm::SmallVector<uint32_t, 2> successors(const std::vector<Instruction> &code, uint32_t index) {
  const Instruction &instruction = code[index];
  uint32_t exit = code.size(), next = index + 1;
  switch (instruction.flow) {
  case Flow::Branch:
    if (!instruction.guarded)
      return {instruction.target};
    return {instruction.target, next};
  case Flow::Exit:
    if (!instruction.guarded)
      return {exit};
    return {exit, next};
  default:
    return {next};
  }
}

/// Marks the instructions from which one is reached that lanes do together.
void findMeetings(std::vector<Instruction> &code, llvm::ArrayRef<llvm::SmallVector<uint32_t, 2>> predecessors) {
  std::vector<uint32_t> pending;
  auto mark = [&](uint32_t index) {
    if (!code[index].meets)
      pending.push_back(index);
    code[index].meets = true;
  };
  for (uint32_t i = 0; i < code.size(); ++i)
    if (code[i].kind == Class::Barrier || code[i].kind == Class::Exchange || code[i].kind == Class::Matrix)
      mark(i);
  while (!pending.empty()) {
    uint32_t index = pending.back();
    pending.pop_back();
    for (uint32_t before : predecessors[index])
      mark(before);
  }
}
} // namespace

// Cooper, Harvey and Kennedy's dominators on the reversed graph. An instruction that cannot reach the exit, as in an
// endless loop, has none, and joins at the exit.
void findJoins(std::vector<Instruction> &code) {
  uint32_t exit = code.size();
  std::vector<llvm::SmallVector<uint32_t, 2>> predecessors(exit + 1);
  for (uint32_t i = 0; i < exit; ++i)
    for (uint32_t to : successors(code, i))
      predecessors[to].push_back(i);

  findMeetings(code, predecessors);

  // Post-order of a walk from the exit backwards.
  std::vector<uint32_t> order, number(exit + 1, UINT32_MAX);
  std::vector<std::pair<uint32_t, unsigned>> stack = {{exit, 0}};
  std::vector<bool> seen(exit + 1);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[node, edge] = stack.back();
    if (edge < predecessors[node].size()) {
      uint32_t next = predecessors[node][edge++];
      if (!seen[next]) {
        seen[next] = true;
        stack.push_back({next, 0});
      }
      continue;
    }
    number[node] = order.size();
    order.push_back(node);
    stack.pop_back();
  }

  std::vector<uint32_t> join(exit + 1, UINT32_MAX);
  join[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = order.rbegin() + 1; node < order.rend(); ++node) {
      uint32_t found = UINT32_MAX;
      for (uint32_t a : successors(code, *node)) {
        if (join[a] == UINT32_MAX)
          continue;
        if (found == UINT32_MAX) {
          found = a;
          continue;
        }
        for (uint32_t b = found; a != b; found = a)
          (number[a] < number[b] ? a : b) = join[number[a] < number[b] ? a : b];
      }
      if (found != join[*node]) {
        join[*node] = found;
        changed = true;
      }
    }
  }
  for (uint32_t i = 0; i < exit; ++i)
    code[i].join = join[i] == UINT32_MAX ? exit : join[i];
}

} // namespace attn::ptx
