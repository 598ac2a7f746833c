//===- Driver.h - from a spec file to what a user wants of it ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library under attnc: loads a spec, runs the stages, emits files, and loads the object into this process.
// It knows no command line and prints nothing but diagnostics.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_DRIVER_H
#define ATTN_COMPILER_DRIVER_H

#include "compiler/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace attn {

class Code;
struct FrontendOptions;
struct TuningKey;
class ProgramOp;

struct DriverOptions {
  /// Extents that are fixed now: `-D W=4096`.
  std::vector<std::pair<std::string, int64_t>> defines;
  /// The only attention wanted; empty: all of the file.
  std::string kernel;
  /// Where imports are looked for: `-I DIR`.
  std::vector<std::string> importFolders;
  /// The library that comes with the compiler, where they are looked for last.
  std::string libraryFolder;
  /// Machines, by name: `host`, `x86-64-v3`, `aarch64`, `cuda:sm_80`.
  std::vector<std::string> targets = {"host"};
  /// Parameters that are given in the layout that attn_pack makes.
  std::vector<std::string> packed;
  /// A file with schedules to use; empty: the compiler chooses.
  std::string schedulePath;
  /// A file that `attnc tune` wrote, whose schedules are used where they still hold. Not together with schedulePath.
  std::string tuningPath;
  /// What is told of how a program was compiled.
  Remarks remarks = Remarks::None;
};

/// What can be emitted. The order is that of `--emit`'s help.
enum class Output { Object, Header, Library, Shared, Assembly, LLVM, MLIR, Ptx, Cubin, Json };

/// One use of the compiler. Diagnostics go to stderr, with the place in the spec.
class Driver {
public:
  explicit Driver(DriverOptions options);
  ~Driver();

  mlir::MLIRContext &getContext() { return *context; }
  const DriverOptions &getOptions() const { return options; }

  /// The programs of a spec, as the first stage leaves them; of a `.mlir` file, whatever stage it holds.
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> load(llvm::StringRef path);

  /// The programs of a spec as a NumPy module: one function for each, in f64.
  mlir::FailureOr<std::string> printNumpy(llvm::StringRef path);

  /// Runs the stages (Pipelines.h) up to and including `stage` for the first target.
  mlir::LogicalResult lower(mlir::ModuleOp programs, llvm::StringRef stage);

  /// Writes `directory/stem.o` and so on from the programs of the first stage. `written` gets the paths. Targets of
  /// one architecture share one object; with several architectures, each one's files carry its name.
  mlir::LogicalResult emit(mlir::ModuleOp programs, llvm::ArrayRef<Output> outputs, llvm::StringRef directory,
                           llvm::StringRef stem, std::vector<std::string> &written);

  /// Schedules to use from now on, in place of those of a file; their text form.
  void useSchedules(std::string text) { schedules = std::move(text); }

  /// What a schedule of a program is tuned for, but for extents and threads.
  mlir::FailureOr<TuningKey> tuningKey(ProgramOp program, llvm::StringRef target);

  /// The bytes of the object that `emit` would write for targets of one architecture.
  mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> compileObject(mlir::ModuleOp programs);

  /// Every file that was read, for dependency files.
  llvm::ArrayRef<std::string> dependencies() const { return filesRead; }

private:
  struct Diagnostics;
  struct Lowered;
  struct Files;

  mlir::LogicalResult open(llvm::StringRef path);
  FrontendOptions frontendOptions() const;
  mlir::LogicalResult packWeights(mlir::ModuleOp programs);
  mlir::FailureOr<std::string> readInput(const std::string &path);
  mlir::FailureOr<std::string> scheduleText(mlir::ModuleOp programs, llvm::StringRef target);
  mlir::FailureOr<std::string> tunedSchedules(mlir::ModuleOp programs, llvm::StringRef target);
  mlir::FailureOr<std::vector<Lowered>> lowerAll(mlir::ModuleOp programs);
  static mlir::LogicalResult emitDeviceCode(const Code &code, llvm::ArrayRef<Output> outputs, Files &files);
  mlir::LogicalResult emitCode(llvm::ArrayRef<Lowered *> group, llvm::ArrayRef<Output> outputs, Files &files);

  DriverOptions options;
  std::string schedules;
  std::unique_ptr<mlir::MLIRContext> context;
  /// The text that places in diagnostics speak of.
  std::unique_ptr<Diagnostics> diagnostics;
  std::vector<std::string> filesRead;
};

} // namespace attn

#endif // ATTN_COMPILER_DRIVER_H
