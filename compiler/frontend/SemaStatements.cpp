//===- SemaStatements.cpp - assignments and writes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Sema.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

void Sema::checkStatement(const Statement &statement) {
  auto *call = llvm::dyn_cast<CallExpr>(stripped(statement.value));
  if (call && call->callee.text == "append" && !defs.contains("append") && !statement.hasPlace)
    return append(statement, call);
  llvm::SmallVector<Node *> indices;
  for (const Expr *index : statement.place)
    indices.push_back(check(index));
  Node *value = rename(statement, check(statement.value));
  if (statement.hasPlace) {
    if (std::optional<unsigned> stored = writable(statement))
      write(statement, *stored, indices, value, statement.condition);
    return;
  }
  if (statement.condition)
    value = limit(value, check(statement.condition), placeOf(statement.condition->range));
  assign(statement, value);
}

Node *Sema::rename(const Statement &statement, Node *value) {
  if (statement.renames.empty())
    return value;
  llvm::SmallVector<unsigned> from, to;
  for (const Rename &rename : statement.renames) {
    std::optional<unsigned> a = findAxis(rename.from), b = findAxis(rename.to);
    if (!a || !b || value->isPoison())
      return build.poison();
    const Axis &old = program->axes[*a], &fresh = program->axes[*b];
    llvm::SMRange range{rename.from.range().Start, rename.to.range().End};
    if (!value->axes.has(*a) || llvm::is_contained(from, *a)) {
      error(range, "this value has no axis " + old.name + " to rename; it has " + program->describe(value->axes));
      return build.poison();
    }
    if (value->axes.has(*b) || llvm::is_contained(to, *b)) {
      error(range, "this value already has the axis " + fresh.name + "; it has " + program->describe(value->axes));
      return build.poison();
    }
    if (!program->sameExtent(*a, *b)) {
      error(range, old.name + " and " + fresh.name +
                       " have different extents as far as this text says; if they are equal, add `" + fresh.name +
                       " = " + old.name + "` to the `where` clause");
      return build.poison();
    }
    if (!checkNoDependence(value->axes - AxisSet::of(*a), AxisSet::of(*a), range))
      return build.poison();
    from.push_back(*a);
    to.push_back(*b);
  }
  return build.rename(value, from, to, placeOf(statement.range));
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

void Sema::assign(const Statement &statement, Node *value) {
  if (refuseIndexName(statement.name, "value")) {
    misnamed.insert(statement.name.text);
    return;
  }
  if (!value->isPoison() && value->name.empty())
    value->name = statement.name.text.str();
  Binding &binding = names[statement.name.text];
  std::optional<Mode> mode;
  if (binding.stored)
    mode = program->stored[*binding.stored].mode;
  if (mode == Mode::Out)
    return assignResult(statement, *binding.stored, value);
  if (mode == Mode::InOut) {
    if (value->isPoison())
      return;
    llvm::SmallVector<Node *> indices;
    Node *whole = readBare(*binding.stored, statement.name.range());
    if (whole->isPoison())
      return;
    return write(statement, *binding.stored, whole->operands, value, nullptr);
  }
  binding.value = value;
  program->steps.push_back({value, false, 0, {}, nullptr, statement.range});
}

void Sema::assignResult(const Statement &statement, unsigned stored, Node *value) {
  const Stored &result = program->stored[stored];
  AxisSet declared;
  for (const Extent &factor : result.factors()) {
    bool twice = factor.kind() == Extent::Kind::Axis && declared.has(factor.axis());
    if (factor.kind() != Extent::Kind::Axis || twice) {
      error(result.range, twice ? "a result has each axis once, and `" + result.name + "` has " +
                                      program->axes[factor.axis()].name + " twice"
                                : "a result's dimensions are axes, and `" + program->describe(factor) +
                                      "` is none; name it: `F = " + program->describe(factor) +
                                      "` in the `where` clause");
      names[statement.name.text].value = build.poison();
      return;
    }
    declared |= AxisSet::of(factor.axis());
  }
  if (!value->isPoison() && value->axes != declared) {
    AxisSet missing = declared - value->axes, extra = value->axes - declared;
    std::string hint;
    for (unsigned axis : missing.list())
      if (hint.empty())
        hint = renameHint(extra, axis);
    std::string lacking = missing.empty() ? "" : "; " + program->describe(missing) + " is missing";
    std::string tooMany = extra.empty() ? "" : "; " + program->describe(extra) + " is too much";
    error(statement.range,
          "the result `" + result.name + "` is declared over " + program->describe(declared) + ", and this value has " +
              program->describe(value->axes) + lacking + tooMany + hint,
          {{result.range, "declared here"}});
    value = build.poison();
  }
  value = fitStore(stored, value);
  if (!value->isPoison())
    program->steps.push_back({value, false, 0, {}, nullptr, statement.range});
  names[statement.name.text].value = value;
}

/// What a tensor of this dtype takes: a condition for bool, a number for all else.
Node *Sema::fitStore(unsigned stored, Node *value) {
  if (value->isPoison())
    return value;
  const Stored &tensor = program->stored[stored];
  ValueKind kind = kindOf(tensor.dtype);
  if (kind == ValueKind::Float && value->kind == ValueKind::Int)
    return build.toFloat(value, value->place);
  if ((kind == ValueKind::Bool) == (value->kind == ValueKind::Bool))
    return value;
  error(value->place,
        kind == ValueKind::Bool
            ? "`" + tensor.name + "` holds conditions, and this is a number; compare it, as in `x != 0`"
            : "`" + tensor.name + "` holds numbers, and this is a condition; write `select(condition, 1, 0)`",
        {{tensor.range, "declared here"}});
  return build.poison();
}

void Sema::finishResults() {
  for (unsigned i = program->numParams; i < program->stored.size(); ++i) {
    const Stored &result = program->stored[i];
    Node *value = names[result.name].value;
    if (!value)
      error(result.range, "the result `" + result.name + "` is not assigned; add `" + result.name + " = ...`");
    if (!value || value->isPoison())
      continue;
    Step store{value, true, i, {}, nullptr, result.range};
    for (const Extent &factor : result.factors())
      store.indices.push_back(build.index(factor.axis(), result.range));
    program->steps.push_back(std::move(store));
    program->results.push_back(value);
  }
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

std::optional<unsigned> Sema::writable(const Statement &statement) {
  Place place = statement.name.range();
  StringRef name = statement.name.text;
  if (refuseIndexName(statement.name, "tensor"))
    return std::nullopt;
  auto found = names.find(name);
  if (found == names.end()) {
    NearestWord nearest(name);
    for (const Stored &stored : program->stored)
      if (stored.mode == Mode::InOut)
        nearest.offer(stored.name);
    error(place, "nothing is called `" + name + "` here" + nearest.question());
    return std::nullopt;
  }
  std::optional<unsigned> stored = found->second.stored;
  if (!stored || program->stored[*stored].mode == Mode::Out) {
    found->second.value = build.poison();
    error(place, "`" + name + "` is a " + (stored ? "result" : "computed value") + ", which is assigned whole, `" +
                     name + " = ...`; only an `inout` argument is written by place");
    return std::nullopt;
  }
  if (program->stored[*stored].mode == Mode::InOut)
    return stored;
  error(place, "`" + name + "` is an argument that is only read; declare it `inout " + name + "` to write into it",
        {{program->stored[*stored].range, "declared here"}});
  return std::nullopt;
}

void Sema::write(const Statement &statement, unsigned stored, llvm::ArrayRef<Node *> indices, Node *value,
                 const Expr *condition) {
  Node *limit = condition ? check(condition) : nullptr;
  if (llvm::any_of(indices, [](Node *index) { return index->isPoison(); }))
    return;
  // A read at that place has the rules that a write needs: how many indices, and of which kind.
  Node *place = readByPlace(stored, indices, statement.range);
  value = fitStore(stored, value);
  if (place->isPoison() || value->isPoison() || (limit && !build.isCondition(limit, "`where`")))
    return;
  const std::string &name = program->stored[stored].name;
  AxisSet extra = value->axes - place->axes;
  if (!extra.empty())
    return error(statement.range, "the value has " + program->describe(extra) + ", which the place in `" + name +
                                      "` has not, so one element would be written many times; the place has " +
                                      program->describe(place->axes));
  if (limit && !place->axes.contains(limit->axes))
    return error(limit->place, "the condition speaks of " + program->describe(limit->axes - place->axes) +
                                   ", which the place in `" + name + "` has not; it has " +
                                   program->describe(place->axes));
  llvm::SmallVector<Node *, 4> where(indices.begin(), indices.end());
  program->steps.push_back({value, true, stored, where, limit, statement.range});
  build.noteWrite();
}

/// `cache = append(cache, k, at: pos, over: M)` is `cache[..., pos, ...] = k`.
void Sema::append(const Statement &statement, const CallExpr *call) {
  if (!checkSignature(call, *findBuiltin("append")))
    return;
  const Option *at = call->find("at"), *over = call->find("over"), *where = call->find("where");
  auto *cache = llvm::dyn_cast<NameExpr>(stripped(call->args[0]));
  std::optional<unsigned> stored = writable(statement);
  if (!stored)
    return;
  if (!cache || cache->name != statement.name.text || !at || !over || over->axes.size() != 1)
    return error(statement.range, "`append` stores into the cache that it is given: `" + statement.name.text +
                                      " = append(" + statement.name.text + ", k, at: pos, over: M)`");
  std::optional<unsigned> axis = findAxis(over->axes[0]);
  if (!axis)
    return;
  Node *value = rename(statement, check(call->args[1]));
  llvm::SmallVector<Node *> indices;
  bool found = false;
  for (const Extent &factor : program->stored[*stored].factors()) {
    if (factor.kind() != Extent::Kind::Axis)
      return error(statement.range, "`" + statement.name.text + "` has the unnamed dimension `" +
                                        program->describe(factor) + "`, so write by place: `" + placeExample(*stored) +
                                        " = ...`");
    found |= factor.axis() == *axis;
    indices.push_back(factor.axis() == *axis ? check(at->value) : build.index(factor.axis(), placeOf(call->range)));
  }
  if (!found)
    return error(over->range,
                 "`" + statement.name.text + "` has no dimension " + over->axes[0].text + " to append along");
  if (where && statement.condition)
    return error(statement.condition->range, "the condition is given twice; join both with `and`");
  write(statement, *stored, indices, value, where ? where->value : statement.condition);
}
