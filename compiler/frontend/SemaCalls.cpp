//===- SemaCalls.cpp - functions --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Sema.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

Node *Sema::checkCall(const CallExpr *call) {
  if (const Def *def = defs.lookup(call->callee.text))
    return checkDefUse(call, def);
  const Builtin *builtin = findBuiltin(call->callee.text);
  if (!builtin) {
    NearestWord nearest(call->callee.text);
    visitBuiltins([&](StringRef name) { nearest.offer(name); });
    for (const auto &def : defs)
      nearest.offer(def.first());
    bool isTensor = names.count(call->callee.text) != 0;
    error(placeOf(call->callee.range()),
          isTensor ? "`" + call->callee.text + "` is a tensor, not a function; read it with `[...]`"
                   : "no function is called `" + call->callee.text + "`" + nearest.question());
  }
  if (!builtin || !checkSignature(call, *builtin)) {
    for (const Expr *arg : call->args)
      check(arg); // for the mistakes in them
    return build.poison();
  }
  switch (builtin->group) {
  case Builtin::Group::Elementwise:
  case Builtin::Group::Random:
    return checkElementwise(call, *builtin);
  case Builtin::Group::Select:
    return checkSelect(call);
  case Builtin::Group::Reduction:
    return checkReduction(call, *builtin);
  case Builtin::Group::Normaliser:
    return checkNormaliser(call);
  case Builtin::Group::Dot:
    return checkDot(call);
  case Builtin::Group::Project:
    return checkProject(call);
  case Builtin::Group::Rope:
    return checkRope(call);
  case Builtin::Group::Append:
    error(placeOf(call->range), "`append` is a statement of its own: `cache = append(cache, k, at: pos, over: M)`");
    return build.poison();
  }
  llvm_unreachable("every group of functions is above");
}

bool Sema::checkSignature(const CallExpr *call, const Builtin &builtin) {
  bool ok = true;
  size_t given = call->args.size();
  if (given < builtin.minArgs || given > builtin.maxArgs) {
    std::string wanted = llvm::utostr(builtin.minArgs);
    if (builtin.maxArgs != builtin.minArgs)
      wanted += " or " + llvm::utostr(builtin.maxArgs);
    error(placeOf(call->range), "`" + builtin.name + "` takes " + wanted +
                                    (builtin.maxArgs == 1 ? " argument, " : " arguments, ") + llvm::Twine(given) +
                                    (given == 1 ? " is given" : " are given"));
    ok = false;
  }
  llvm::SmallVector<StringRef> allowed;
  builtin.options.split(allowed, ' ', -1, /*KeepEmpty=*/false);
  for (const Option &option : call->options) {
    if (llvm::is_contained(allowed, option.name.text))
      continue;
    NearestWord nearest(option.name.text);
    for (StringRef name : allowed)
      nearest.offer(name);
    error(placeOf(option.name.range()),
          "`" + builtin.name + "` has no option `" + option.name.text + ":`" + nearest.question());
    ok = false;
  }
  return ok;
}

Node *Sema::checkDefUse(const CallExpr *call, const Def *def) {
  static constexpr unsigned maxFrames = 32;
  if (call->args.size() != def->params.size() || !call->options.empty()) {
    error(placeOf(call->range),
          "`" + def->name.text + "` takes " + llvm::Twine(def->params.size()) + " plain argument" +
              (def->params.size() == 1 ? "" : "s"),
          {{def->name.range(), "defined here"}});
    return build.poison();
  }
  for (const Frame *outer = frame; outer; outer = outer->caller)
    if (outer->def == def) {
      error(placeOf(call->range), "`" + def->name.text + "` uses itself, and a def is an expression put in its place");
      return build.poison();
    }
  if (frames == maxFrames || build.isFull()) {
    error(placeOf(call->range), "defs within defs make this program too large");
    return build.poison();
  }
  Frame inner;
  inner.def = def;
  inner.caller = frame;
  for (auto [param, arg] : llvm::zip(def->params, call->args))
    inner.params[param.text] = arg;
  if (!frame)
    outermostUse = call->range;
  frame = &inner;
  ++frames;
  Node *value = check(def->body);
  --frames;
  frame = inner.caller;
  return value;
}

Node *Sema::checkElementwise(const CallExpr *call, const Builtin &builtin) {
  llvm::SmallVector<Node *> args;
  for (const Expr *arg : call->args)
    args.push_back(check(arg));
  return build.pointwise(builtin.function, args, placeOf(call->range));
}

Node *Sema::checkSelect(const CallExpr *call) {
  Node *condition = check(call->args[0]);
  Node *onTrue = check(call->args[1]);
  return build.select(condition, onTrue, check(call->args[2]), placeOf(call->range));
}

//===----------------------------------------------------------------------===//
// Axes that go
//===----------------------------------------------------------------------===//

/// The axes after `over:`; nothing after a message.
std::optional<AxisSet> Sema::checkOver(const CallExpr *call) {
  const Option *over = call->find("over");
  if (!over) {
    error(placeOf(call->range), "`" + call->callee.text + "` needs the axis along which it works: `over: T`");
    return std::nullopt;
  }
  AxisSet axes;
  for (const Word &word : over->axes) {
    std::optional<unsigned> axis = findAxis(word);
    if (!axis)
      return std::nullopt;
    if (axes.has(*axis)) {
      error(placeOf(word.range()), "the axis " + word.text + " stands twice after `over:`");
      return std::nullopt;
    }
    axes |= AxisSet::of(*axis);
  }
  return axes;
}

/// `with S as T`, when an axis of the value has the extent of the wanted one.
std::string Sema::renameHint(AxisSet have, unsigned wanted) const {
  for (unsigned axis : have.list())
    if (program->sameExtent(axis, wanted))
      return "; " + program->axes[axis].name + " measures the same: if it plays the role of " +
             program->axes[wanted].name + ", write `with " + program->axes[axis].name + " as " +
             program->axes[wanted].name + "` where the value is computed";
  return "";
}

bool Sema::checkHasAxes(Node *value, AxisSet over, StringRef what, const Place &place) {
  AxisSet missing = over - value->axes;
  if (missing.empty())
    return true;
  unsigned first = missing.list()[0];
  error(place, what + " has no axis " + program->axes[first].name + "; it has " + program->describe(value->axes) +
                   renameHint(value->axes, first));
  return false;
}

/// The value where the call's `where:` holds.
Node *Sema::limited(const CallExpr *call, Node *value) {
  const Option *where = call->find("where");
  return where && !value->isPoison() ? limit(value, check(where->value), placeOf(where->range)) : value;
}

/// `value where condition`: the condition speaks of axes that the value has.
Node *Sema::limit(Node *value, Node *condition, const Place &place) {
  if (value->isPoison() || condition->isPoison() || !build.isCondition(condition, "`where`"))
    return build.poison();
  AxisSet extra = condition->axes - value->axes;
  if (extra.empty())
    return build.where(value, condition, place);
  unsigned first = extra.list()[0];
  error(place, "the condition speaks of " + program->describe(extra) + ", and the value has " +
                   program->describe(value->axes) + ": it can't be absent for one " + program->axes[first].index +
                   " and present for another; put the condition where " + program->axes[first].name + " still is");
  return build.poison();
}

Node *Sema::checkReduction(const CallExpr *call, const Builtin &builtin) {
  Place place = placeOf(call->range);
  Node *value = check(call->args[0]);
  bool pointwise = builtin.maxArgs == 2 && !call->find("over");
  if (pointwise && call->args.size() == 2 && !call->find("where"))
    return build.pointwise(builtin.function, {value, check(call->args[1])}, place);
  if (call->args.size() == 2) {
    error(place, "`" + builtin.name + "` takes two values, or one value and `over:`");
    return build.poison();
  }
  std::optional<AxisSet> over = checkOver(call);
  if (!over || value->isPoison() || !build.isNumber(value) || !checkHasAxes(value, *over, "the value", place) ||
      !checkNoDependence(value->axes - *over, *over, place))
    return build.poison();
  value = limited(call, build.toFloat(value, place));
  if (value->isPoison())
    return value;
  Reduction reduction = builtin.function == Function::Min   ? Reduction::Min
                        : builtin.function == Function::Max ? Reduction::Max
                        : builtin.function == Function::Div ? Reduction::Mean
                                                            : Reduction::Sum;
  return build.reduce(reduction, value, *over, place);
}

Node *Sema::checkNormaliser(const CallExpr *call) {
  Place place = placeOf(call->range);
  Node *value = check(call->args[0]);
  std::optional<AxisSet> over = checkOver(call);
  const Option *sinkOption = call->find("sink");
  Node *sink = sinkOption ? check(sinkOption->value) : nullptr;
  if (!over || value->isPoison() || !build.isNumber(value) || !checkHasAxes(value, *over, "the value", place) ||
      !checkNoDependence(value->axes - *over, *over, place))
    return build.poison();
  value = limited(call, build.toFloat(value, place));
  if (sink)
    sink = build.toFloat(sink, placeOf(sinkOption->range));
  if (value->isPoison() || (sink && sink->isPoison()))
    return build.poison();
  AxisSet rows = value->axes - *over;
  if (sink && !rows.contains(sink->axes)) {
    error(sink->place, "a sink is one more logit of each row, so it may have " + program->describe(rows) +
                           "; this has " + program->describe(sink->axes));
    return build.poison();
  }
  return build.normalise(call->callee.text == "softmax" ? Op::Softmax : Op::LogSumExp, value, sink, *over, place);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Puts the condition of `where:` on the left side, which may gain axes by it.
bool Sema::limitContraction(const CallExpr *call, Node *&left, Node *right) {
  const Option *where = call->find("where");
  if (!where)
    return true;
  Node *condition = check(where->value);
  if (condition->isPoison() || !build.isCondition(condition, "`where:`"))
    return false;
  AxisSet both = left->axes | right->axes, extra = condition->axes - both;
  if (!extra.empty()) {
    error(placeOf(where->range), "the condition speaks of " + program->describe(extra) + ", and the two sides have " +
                                     program->describe(both));
    return false;
  }
  left = build.where(left, condition, placeOf(where->range));
  return true;
}

Node *Sema::checkDot(const CallExpr *call) {
  Place place = placeOf(call->range);
  Node *left = check(call->args[0]), *right = check(call->args[1]);
  std::optional<AxisSet> over = checkOver(call);
  if (!over || left->isPoison() || right->isPoison())
    return build.poison();
  left = build.toFloat(left, place);
  right = build.toFloat(right, place);
  if (left->isPoison() || right->isPoison())
    return build.poison();
  bool leftHas = checkHasAxes(left, *over, "the left side", left->place);
  if (!checkHasAxes(right, *over, "the right side", right->place) || !leftHas ||
      !checkNoDependence((left->axes | right->axes) - *over, *over, place) || !limitContraction(call, left, right))
    return build.poison();
  return build.contract(left, right, *over, ContractRole::Dot, place);
}

Node *Sema::checkProject(const CallExpr *call) {
  Place place = placeOf(call->range);
  Node *left = check(call->args[0]), *right = check(call->args[1]);
  left = build.toFloat(left, place);
  right = build.toFloat(right, place);
  if (left->isPoison() || right->isPoison())
    return build.poison();
  AxisSet over = left->axes & right->axes;
  if (over.empty()) {
    error(place, "`project` has nothing to contract: the left side has " + program->describe(left->axes) +
                     ", the right side " + program->describe(right->axes) +
                     ", and no axis is on both; multiply with `*` if that is meant");
    return build.poison();
  }
  if (!checkNoDependence((left->axes | right->axes) - over, over, place) || !limitContraction(call, left, right))
    return build.poison();
  return build.contract(left, right, over, ContractRole::Project, place);
}
