//===- Words.cpp - functions, and likely misspellings -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Words.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::language;
using llvm::StringRef;

using Group = Builtin::Group;
static const Builtin builtins[] = {
    {"exp", Group::Elementwise, Function::Exp, 1, 1, ""},
    {"log", Group::Elementwise, Function::Log, 1, 1, ""},
    {"sqrt", Group::Elementwise, Function::Sqrt, 1, 1, ""},
    {"rsqrt", Group::Elementwise, Function::Rsqrt, 1, 1, ""},
    {"tanh", Group::Elementwise, Function::Tanh, 1, 1, ""},
    {"sigmoid", Group::Elementwise, Function::Sigmoid, 1, 1, ""},
    {"sin", Group::Elementwise, Function::Sin, 1, 1, ""},
    {"cos", Group::Elementwise, Function::Cos, 1, 1, ""},
    {"abs", Group::Elementwise, Function::Abs, 1, 1, ""},
    {"floor", Group::Elementwise, Function::Floor, 1, 1, ""},
    {"round", Group::Elementwise, Function::Round, 1, 1, ""},
    {"int", Group::Elementwise, Function::ToInt, 1, 1, ""},
    {"min", Group::Reduction, Function::Min, 1, 2, "over where"},
    {"max", Group::Reduction, Function::Max, 1, 2, "over where"},
    {"sum", Group::Reduction, Function::Add, 1, 1, "over where"},
    {"mean", Group::Reduction, Function::Div, 1, 1, "over where"},
    {"random", Group::Random, Function::Random, 2, 2, ""},
    {"select", Group::Select, Function::Add, 3, 3, ""},
    {"softmax", Group::Normaliser, Function::Add, 1, 1, "over where sink"},
    {"logsumexp", Group::Normaliser, Function::Add, 1, 1, "over where sink"},
    {"dot", Group::Dot, Function::Add, 2, 2, "over where"},
    {"project", Group::Project, Function::Add, 2, 2, "where"},
    {"rope", Group::Rope, Function::Add, 1, 1, "over at base dims pairs angle cos sin"},
    {"append", Group::Append, Function::Add, 2, 2, "at over where"},
};

const Builtin *attn::language::findBuiltin(StringRef name) {
  const Builtin *found = llvm::find_if(builtins, [&](const Builtin &builtin) { return builtin.name == name; });
  return found == std::end(builtins) ? nullptr : found;
}

void attn::language::visitBuiltins(llvm::function_ref<void(StringRef)> visit) {
  for (const Builtin &builtin : builtins)
    visit(builtin.name);
}

/// A third of the letters may differ, one at least.
NearestWord::NearestWord(StringRef wrong) : wrong(wrong), distance(std::max<unsigned>(1, wrong.size() / 3) + 1) {}

void NearestWord::offer(StringRef candidate) {
  // A one-letter word resembles every other one: only its other case is offered.
  if (wrong.size() == 1 && !candidate.equals_insensitive(wrong))
    return;
  unsigned d = wrong.edit_distance_insensitive(candidate, true, distance);
  if (d >= distance)
    return;
  distance = d;
  best = candidate.str();
}

std::string NearestWord::question() const { return best.empty() ? "" : "; did you mean `" + best + "`?"; }
