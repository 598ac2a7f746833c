//===- Scratch.cpp - how much memory a task allocates ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedules/halide/Scratch.h"

using namespace attn;
using namespace Halide;
using namespace Halide::Internal;

/// What an allocation takes besides its elements: padding that is read but not used, its head and its alignment
/// (runtime/bind/Arena.c).
static constexpr int64_t besides = 512;

namespace {

/// Expressions of lowered code as expressions of the plan's scalars.
class Resolver : public IRGraphMutator {
public:
  explicit Resolver(StageParts &parts) : parts(parts) {}

  std::map<std::string, Expr> known;

private:
  using IRGraphMutator::visit;

  Expr visit(const Variable *variable) override {
    auto found = known.find(variable->name);
    if (found != known.end())
      return found->second;
    for (Param<int64_t> &scalar : parts.stageInputs().scalars)
      if (scalar.name() == variable->name)
        return scalar;
    return variable;
  }

  /// Of results: a task begins at a multiple of its size, so it may as well begin at 0.
  Expr visit(const Call *call) override {
    bool isMin = call->name == "_halide_buffer_get_min", isExtent = call->name == "_halide_buffer_get_extent";
    const Variable *buffer = call->args.empty() ? nullptr : call->args[0].as<Variable>();
    if (buffer && (isMin || isExtent))
      for (size_t i = 0; i < parts.results().size(); ++i)
        if (buffer->name == parts.results()[i].name() + ".buffer")
          return isMin ? Expr(0) : parts.largestExtent(i, int(*as_const_int(call->args[1])));
    return IRGraphMutator::visit(call);
  }

  StageParts &parts;
};

/// The peak of a statement: allocations end with their bodies, one statement follows the other.
class Peak : public IRVisitor {
public:
  explicit Peak(StageParts &parts) : resolver(parts) {
    for (const auto &[name, most] : parts.largestParams())
      ranges.push(name, Interval(0, most));
  }

  Expr of(const Stmt &body) {
    Expr before = peak;
    peak = Expr(int64_t(0));
    body.accept(this);
    std::swap(before, peak);
    return before;
  }

private:
  using IRVisitor::visit;

  void visit(const LetStmt *let) override {
    bind(let->name, let->value);
    let->body.accept(this);
  }

  void visit(const For *loop) override {
    // Of an outer loop's iteration both may depend on.
    Interval first = bounds_of_expr_in_scope(resolved(loop->min), ranges);
    Interval last = bounds_of_expr_in_scope(resolved(loop->min + loop->extent - 1), ranges);
    ranges.push(loop->name, Interval(first.min, last.max));
    loop->body.accept(this);
    ranges.pop(loop->name);
  }

  void visit(const Block *block) override {
    Expr first = of(block->first), rest = of(block->rest);
    peak = simplify(max(peak, max(first, rest)));
  }

  void visit(const IfThenElse *branch) override {
    Expr one = of(branch->then_case);
    Expr other = branch->else_case.defined() ? of(branch->else_case) : Expr(int64_t(0));
    peak = simplify(max(peak, max(one, other)));
  }

  void visit(const Allocate *allocation) override {
    if (is_const_zero(allocation->condition)) // Of a device.
      return allocation->body.accept(this);
    Expr bytes = make_const(Int(64), allocation->type.bytes() * int64_t(allocation->type.lanes()));
    for (const Expr &extent : allocation->extents)
      bytes = bytes * Halide::cast<int64_t>(most(extent));
    bytes = bytes + make_const(Int(64), besides + int64_t(allocation->padding) * allocation->type.bytes());
    Expr inside = of(allocation->body);
    peak = simplify(max(peak, inside + bytes));
  }

  void bind(const std::string &name, const Expr &value) { resolver.known[name] = resolved(value); }
  Expr resolved(const Expr &value) { return simplify(resolver.mutate(value)); }

  /// The most that an extent is, whatever iteration it is in.
  Expr most(const Expr &extent) {
    Expr bound = bounds_of_expr_in_scope(resolved(extent), ranges).max;
    if (!bound.defined() || !Interval(bound, bound).is_bounded())
      throw CompileError("how much a task allocates is not bounded");
    return max(simplify(bound), 0);
  }

  Resolver resolver;
  Scope<Interval> ranges;
  Expr peak = Expr(int64_t(0));
};

} // namespace

Expr attn::scratchBytes(const LoweredFunc &function, StageParts &parts) { return Peak(parts).of(function.body); }
