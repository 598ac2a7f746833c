//===- Tuning.cpp - what a tuner found ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "schedules/Tuning.h"
#include "schedules/ScheduleYaml.h"

using namespace attn;

LLVM_YAML_IS_SEQUENCE_VECTOR(attn::TuningEntry)

template <>
struct llvm::yaml::MappingTraits<TuningEntry> {
  static void mapping(IO &io, TuningEntry &entry) {
    io.mapRequired("kernel", entry.key.kernel);
    io.mapRequired("extents", entry.key.extents);
    io.mapRequired("target", entry.key.target);
    io.mapRequired("machine", entry.key.machine);
    io.mapRequired("threads", entry.key.threads);
    io.mapRequired("compiler", entry.key.compiler);
    io.mapRequired("program", entry.key.program);
    io.mapRequired("gain", entry.gain);
    io.mapOptional("complete", entry.complete, false);
    io.mapOptional("stages", entry.stages);
    io.mapOptional("tried", entry.tried);
  }

  static std::string validate(IO &, TuningEntry &entry) {
    return entry.gain > 0 ? "" : "gain is not above 0";
  }
};

bool TuningKey::operator==(const TuningKey &other) const {
  return kernel == other.kernel && extents == other.extents && target == other.target && machine == other.machine &&
         threads == other.threads && compiler == other.compiler && program == other.program;
}

llvm::Expected<std::vector<TuningEntry>> attn::parseTuning(llvm::StringRef text) {
  return parseYamlList<TuningEntry>(text, "tuning");
}

std::string attn::printTuning(llvm::ArrayRef<TuningEntry> entries) {
  return printYamlList(std::vector<TuningEntry>(entries.begin(), entries.end()));
}

std::string attn::scheduleKey(llvm::ArrayRef<StageSchedule> stages) {
  std::string text;
  for (const StageSchedule &stage : stages) {
    const Schedule &s = stage.schedule;
    text += llvm::formatv("{0}{1} {2}x{3}x{4} q{5} k{6} d{7} f{8} c{9}", text.empty() ? "" : "; ", stage.name, s.lanes,
                          s.vectors, s.rows, s.queryTile, s.keyTile, s.depthTile, s.decodeQueries, s.decodeChunk);
    if (s.route == Route::Halide)
      text += " halide";
    if (s.products != Products::Unsaid)
      text += (" " + productsName(s.products)).str();
  }
  return text;
}

TuningEntry *attn::findEntry(std::vector<TuningEntry> &entries, const TuningKey &key) {
  for (TuningEntry &entry : entries)
    if (entry.key == key)
      return &entry;
  return nullptr;
}

static std::string whyStale(const TuningKey &found, const TuningKey &wanted) {
  if (found.compiler != wanted.compiler)
    return "it was made with " + found.compiler + ", this is " + wanted.compiler;
  if (found.machine != wanted.machine)
    return "it was made on " + found.machine + ", the code is for " + wanted.machine;
  if (found.program != wanted.program)
    return "the program, or an extent that -D fixes, is another one since";
  return "";
}

TunedChoice attn::chooseTuned(llvm::ArrayRef<TuningEntry> entries, const TuningKey &wanted) {
  TunedChoice choice;
  for (const TuningEntry &entry : entries) {
    if (entry.key.kernel != wanted.kernel || entry.key.target != wanted.target)
      continue;
    if (std::string why = whyStale(entry.key, wanted); !why.empty()) {
      choice.stale = why;
      continue;
    }
    if (choice.entry)
      choice.others.push_back(choice.entry->key.extents);
    choice.entry = &entry;
  }
  return choice;
}
