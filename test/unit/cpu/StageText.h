// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes attn.kernels with one stage as text, so that a test can say only what its stage computes.
#ifndef ATTN_TEST_UNIT_CPU_STAGETEXT_H
#define ATTN_TEST_UNIT_CPU_STAGETEXT_H

#include <map>
#include <set>
#include <string>
#include <vector>

class StageText {
public:
  struct Value {
    std::string name;
    std::set<std::string> axes;
    std::string element = "f32";
    std::string type() const {
      return "!attn.value<[" + join(std::vector<std::string>(axes.begin(), axes.end())) + "], " + element + ">";
    }
  };
  using Names = std::vector<std::string>;

  /// `axes` as in `<B = x.0>, <S = x.1>`.
  explicit StageText(std::string axes) : axes(std::move(axes)) {}

  void argument(const std::string &mode, const std::string &name, const std::string &dims,
                const std::string &element = "f32") {
    refs[name] = "!attn.ref<[" + dims + "], " + element + ">";
    arguments.push_back(mode + " \"" + name + "\" %" + name + " : " + refs[name]);
  }

  Value index(const std::string &axis) {
    auto [known, isNew] = indices.try_emplace(axis, Value{"%i" + axis, {axis}, "i64"});
    if (isNew)
      line(known->second.name + " = attn.index \"" + axis + "\" : " + known->second.type());
    return known->second;
  }

  Value read(const std::string &ref, const Names &along) {
    auto [names, types] = place(along);
    Value result = fresh({along.begin(), along.end()});
    line(result.name + " = attn.read %" + ref + "[" + names + "] : (" + refs[ref] + ", " + types + ") -> " +
         result.type());
    return result;
  }

  Value contract(const Value &a, const Value &b, const Names &over) {
    std::set<std::string> left = united(a.axes, b.axes);
    Names quoted;
    for (const std::string &axis : over) {
      left.erase(axis);
      quoted.push_back('"' + axis + '"');
    }
    Value result = fresh(left);
    line(result.name + " = attn.contract dot " + a.name + ", " + b.name + " over [" + join(quoted) + "] : (" + a.type() +
         ", " + b.type() + ") -> " + result.type());
    return result;
  }

  /// `body` computes %r from %a0, %a1, ...
  Value map(const std::vector<Value> &inputs, const std::string &body, const std::string &element = "f32") {
    std::set<std::string> all;
    Names names, types, arguments;
    for (const Value &input : inputs) {
      all = united(all, input.axes);
      arguments.push_back("%a" + std::to_string(names.size()) + ": " + input.element);
      names.push_back(input.name);
      types.push_back(input.type());
    }
    Value result = fresh(all, element);
    line(result.name + " = attn.map(" + join(names) + ") : (" + join(types) + ") -> " + result.type() + " {\n^bb0(" +
         join(arguments) + "):\n" + body + "\nattn.yield %r : " + element + "\n}");
    return result;
  }

  Value where(const Value &value, const Value &condition) {
    Value result = fresh(united(value.axes, condition.axes));
    line(result.name + " = attn.where " + value.name + ", " + condition.name + " : (" + value.type() + ", " +
         condition.type() + ") -> " + result.type());
    return result;
  }

  void write(const Value &value, const std::string &ref, const Names &along) {
    auto [names, types] = place(along);
    line("attn.write " + value.name + ", %" + ref + "[" + names + "] : " + value.type() + ", " + refs[ref] + ", " + types);
  }

  std::string str(const std::string &kind, const std::string &schedule) const {
    return "attn.kernel @stage(" + join(arguments) + ") axes [" + axes + "] facts [] {\nattn.stage " + kind +
           " #attn.schedule<" + schedule + "> {\n" + body + "}\n}\n";
  }

private:
  static std::string join(const Names &parts) {
    std::string text;
    for (const std::string &part : parts)
      text += (text.empty() ? "" : ", ") + part;
    return text;
  }
  static std::set<std::string> united(std::set<std::string> a, const std::set<std::string> &b) {
    a.insert(b.begin(), b.end());
    return a;
  }
  Value fresh(std::set<std::string> axes, const std::string &element = "f32") {
    return {"%v" + std::to_string(count++), std::move(axes), element};
  }
  std::pair<std::string, std::string> place(const Names &along) {
    Names names, types;
    for (const std::string &axis : along) {
      names.push_back(index(axis).name);
      types.push_back(index(axis).type());
    }
    return {join(names), join(types)};
  }
  void line(const std::string &text) { body += text + "\n"; }

  std::string axes, body;
  Names arguments;
  std::map<std::string, std::string> refs;
  std::map<std::string, Value> indices;
  int count = 0;
};

#endif // ATTN_TEST_UNIT_CPU_STAGETEXT_H
