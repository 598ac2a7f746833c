//===- Link.cpp - one LLVM module from variants and runtime -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Link.h"

#include "compiler/emit/LinkDevice.h"
#include "compiler/emit/LinkHalide.h"
#include "runtime/bind/Embedded.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace attn;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static void setMachine(llvm::Function &function, llvm::StringRef cpu, llvm::StringRef features, unsigned vectorBits) {
  function.addFnAttr("target-cpu", cpu);
  if (!features.empty())
    function.addFnAttr("target-features", features);
  if (vectorBits)
    function.addFnAttr("prefer-vector-width", llvm::utostr(vectorBits));
  function.addFnAttr("no-trapping-math", "true");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

/// Functions keep a name for debuggers and profilers; of data, which is most of what there is, nobody needs one.
static void hide(llvm::GlobalValue &value) {
  value.setVisibility(llvm::GlobalValue::DefaultVisibility);
  bool isData = llvm::isa<llvm::GlobalVariable>(value);
  value.setLinkage(isData ? llvm::GlobalValue::PrivateLinkage : llvm::GlobalValue::InternalLinkage);
  value.setDSOLocal(true);
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

namespace {
/// What runs on a processor of a variant. Code for all CUDA devices lies beside one such program, which launches it.
struct HostPart {
  const Variant *variant;
  mlir::OwningOpRef<mlir::ModuleOp> program;
  std::vector<DeviceCode> device;
};

struct Translated {
  std::unique_ptr<llvm::Module> module;
  /// In the order of the module.
  std::vector<std::string> entries;
};
} // namespace

/// Takes the device's kernels out of the program.
static llvm::Expected<DeviceCode> takeDeviceCode(mlir::ModuleOp program, const Target &target, bool assembles) {
  DeviceCode code;
  code.arch = target.cudaArch;
  mlir::ModuleOp kernels = findDeviceModule(program);
  auto ptx = makePtx(kernels, target);
  if (!ptx)
    return ptx.takeError();
  code.ptx = std::move(*ptx);
  auto cubin = assembles ? assemble(code.ptx, code.arch) : std::string();
  if (!cubin)
    return cubin.takeError();
  code.cubin = std::move(*cubin);
  kernels.erase();
  return std::move(code);
}

static std::string textOf(mlir::ModuleOp program) {
  std::string text;
  llvm::raw_string_ostream(text) << program;
  return text;
}

static llvm::Expected<std::vector<HostPart>> hostParts(llvm::ArrayRef<Variant> variants, bool assembles) {
  std::vector<HostPart> parts;
  for (const Variant &variant : variants) {
    HostPart part{&variant, mlir::ModuleOp(variant.module).clone(), {}};
    if (!findDeviceModule(*part.program)) {
      parts.push_back(std::move(part));
      continue;
    }
    auto code = takeDeviceCode(*part.program, variant.target, assembles);
    if (!code)
      return code.takeError();
    auto other = llvm::find_if(parts, [](const HostPart &part) { return !part.device.empty(); });
    if (other == parts.end()) {
      parts.push_back(std::move(part));
      other = std::prev(parts.end());
    } else if (textOf(*part.program) != textOf(*other->program)) {
      return llvm::createStringError("kernels for " + other->variant->target.name + " and " + variant.target.name +
                                     " are launched in different ways: give them one schedule, or an object each");
    }
    other->device.push_back(std::move(*code));
  }
  return std::move(parts);
}

static llvm::Expected<Translated> translate(HostPart &part, const llvm::TargetMachine &machine,
                                            const llvm::Triple &triple, llvm::LLVMContext &context) {
  Translated result;
  mlir::ModuleOp source = *part.program;
  mlir::registerBuiltinDialectTranslation(*source.getContext());
  mlir::registerLLVMDialectTranslation(*source.getContext());
  // Alignments are chosen during the translation, by this layout.
  mlir::Builder builder(source.getContext());
  source->setAttr(mlir::LLVM::LLVMDialect::getDataLayoutAttrName(),
                  builder.getStringAttr(machine.createDataLayout().getStringRepresentation()));
  source->setAttr(mlir::LLVM::LLVMDialect::getTargetTripleAttrName(),
                  builder.getStringAttr(triple.str()));
  result.module = mlir::translateModuleToLLVMIR(source, context, "attnc");
  if (!result.module)
    return llvm::createStringError("the program could not be translated to LLVM IR");
  if (!part.device.empty())
    defineDeviceGlobal(*result.module, part.device);
  for (auto function : source.getOps<mlir::LLVM::LLVMFuncOp>())
    if (!function.isExternal() && mlir::SymbolTable::getSymbolVisibility(function) == mlir::SymbolTable::Visibility::Public)
      result.entries.push_back(function.getSymName().str());
  return result;
}

/// Gives all that the variant defines its machine and a name of its own, and hides it; entries are hidden later, for
/// the linker must still find them.
static void own(llvm::Module &module, const Variant &variant, llvm::ArrayRef<std::string> entries,
                llvm::StringRef suffix) {
  auto define = [&](llvm::GlobalValue &value) {
    if (!llvm::is_contained(entries, value.getName()))
      hide(value);
    value.setName(value.getName() + suffix);
  };
  for (llvm::Function &function : module)
    if (!function.isDeclaration()) {
      define(function);
      setMachine(function, variant.target.cpu, variant.target.features, variant.target.isCuda() ? 0 : variant.target.lanes * 32);
    }
  for (llvm::GlobalVariable &global : module.globals())
    if (global.hasInitializer())
      define(global);
}

//===----------------------------------------------------------------------===//
// The runtime's part
//===----------------------------------------------------------------------===//

/// The processor that any machine of the architecture is at least: what runs before the dispatch runs on it.
static llvm::StringRef baseline(const llvm::Triple &triple) { return triple.isX86() ? "x86-64" : "generic"; }

/// Halide's runtime runs on any machine of the architecture too; whoever called it has been linked.
static void hideDeviceRuntime(llvm::Module &module, const llvm::StringSet<> &before) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !before.contains(function.getName())) {
      setMachine(function, baseline(module.getTargetTriple()), "", 0);
      hide(function);
    }
}

/// The part that defines a name, or null.
static const Part *definerOf(llvm::StringRef name, llvm::ArrayRef<Part> parts) {
  auto found = llvm::find_if(parts, [&](const Part &part) { return llvm::is_contained(part.defines, std::string_view(name)); });
  return found == parts.end() ? nullptr : found;
}

/// Puts in the parts that define what is called, and what those call.
static void linkBind(llvm::Module &into) {
  llvm::ArrayRef<Part> parts = into.getTargetTriple().isX86() ? bindPartsX86_64() : bindPartsAArch64();
  llvm::SetVector<const Part *> linked;
  for (llvm::Function &function : into)
    if (const Part *part = function.isDeclaration() ? definerOf(function.getName(), parts) : nullptr) {
      function.setDSOLocal(true);
      linked.insert(part);
    }
  for (size_t i = 0; i < linked.size(); ++i) {
    into.appendModuleInlineAsm(linked[i]->assembly);
    for (std::string_view name : linked[i]->needs)
      if (const Part *part = definerOf(name, parts))
        linked.insert(part);
  }
}

llvm::Error attn::linkRuntime(llvm::Module &into, const Target &target) {
  if (!target.hasDevice()) {
    linkBind(into);
    return llvm::Error::success();
  }
  llvm::StringSet<> before;
  for (const llvm::Function &function : into)
    if (!function.isDeclaration())
      before.insert(function.getName());
  if (llvm::Error error = linkDeviceRuntime(into, target))
    return error;
  linkBind(into);
  hideDeviceRuntime(into, before);
  return llvm::Error::success();
}

void attn::placeFunctions(llvm::Module &module) {
  for (llvm::Function &function : module) {
    llvm::StringRef owner = function.getName().split('.').first;
    llvm::Function *entry = module.getFunction(owner);
    if (!function.isDeclaration() && entry && !entry->hasLocalLinkage())
      function.setSection((".text." + owner).str());
  }
}

//===----------------------------------------------------------------------===//
// All together
//===----------------------------------------------------------------------===//

/// ".x86_64_v3": the target's name as part of a symbol.
static std::string suffixOf(const Target &target) {
  std::string suffix = ".";
  for (char c : target.name)
    suffix += llvm::isAlnum(c) ? c : '_';
  return suffix;
}

/// One implementation stands for itself when any processor runs it; otherwise calls go by way of a choice.
static void exportEntry(llvm::Module &module, llvm::StringRef name, const Implementations &of) {
  bool isOnly = of.processors.empty() || (!of.device && of.processors.front().level == 0);
  if (isOnly) {
    llvm::Function *only = of.processors.empty() ? of.device : of.processors.front().function;
    only->setLinkage(llvm::GlobalValue::ExternalLinkage);
    only->setDSOLocal(false);
    only->setName(name);
    return;
  }
  addDispatch(module, name, of);
  setMachine(*module.getFunction(name), baseline(module.getTargetTriple()), "", 0);
}

namespace {
/// An entry's function in one variant.
struct Entry {
  std::string name, symbol;
  bool isDevice;
  int level;
};
using EntryMap = llvm::MapVector<std::string, Implementations, llvm::StringMap<unsigned>>;
} // namespace

/// Hides the functions, and sorts them by entry.
static EntryMap implementationsOf(llvm::Module &module, llvm::ArrayRef<Entry> all) {
  EntryMap entries;
  for (const Entry &entry : all) {
    llvm::Function *function = module.getFunction(entry.symbol);
    hide(*function);
    Implementations &known = entries[entry.name];
    known.tensors = function->arg_size() - 1;
    if (entry.isDevice) {
      known.device = function;
      continue;
    }
    auto worse = llvm::find_if(known.processors, [&](const Implementation &other) { return other.level < entry.level; });
    known.processors.insert(worse, {function, entry.level});
  }
  // NAME_workspace has one pointer more, behind the arguments of NAME.
  for (auto &[name, implementations] : entries)
    if (llvm::StringRef kernel = name; kernel.consume_back("_workspace") && entries.count(kernel.str()))
      --implementations.tensors;
  return entries;
}

llvm::Expected<LinkedModule> attn::linkVariants(llvm::ArrayRef<Variant> variants, bool assembles,
                                               llvm::LLVMContext &context) {
  auto parts = hostParts(variants, assembles);
  if (!parts)
    return parts.takeError();
  LinkedModule result;
  std::vector<Entry> entries;
  for (HostPart &part : *parts) {
    const Target &target = part.variant->target;
    auto machine = makeTargetMachine(target);
    if (!machine)
      return machine.takeError();
    // Names of vendors may differ within one architecture; the first stands for all.
    llvm::Triple triple = (result.machine ? result.machine : *machine)->getTargetTriple();
    if ((*machine)->getTargetTriple().getArch() != triple.getArch())
      return llvm::createStringError("targets of one object are of one architecture, but " + variants[0].target.name +
                                     " and " + target.name + " are not");
    if (variants.size() > 1 && target.hasDevice())
      return llvm::createStringError("kernels for " + target.name + " share no object with those of other targets");
    auto translated = translate(part, **machine, triple, context);
    if (!translated)
      return translated.takeError();
    if (llvm::Error error = linkHalideTasks(*translated->module, *part.variant))
      return std::move(error);
    std::string suffix = suffixOf(target);
    int level = requiredLevel(*translated->module, **machine);
    own(*translated->module, *part.variant, translated->entries, suffix);
    for (const std::string &entry : translated->entries)
      entries.push_back({entry, entry + suffix, !part.device.empty(), level});
    llvm::move(part.device, std::back_inserter(result.device));
    if (!result.module) {
      result.module = std::move(translated->module);
      result.machine = std::move(*machine);
      continue;
    }
    if (llvm::Linker(*result.module).linkInModule(std::move(translated->module)))
      return llvm::createStringError("the variants of the kernels could not be linked");
  }
  result.module->setSourceFileName("attnc");
  for (auto &[name, implementations] : implementationsOf(*result.module, entries))
    exportEntry(*result.module, name, implementations);
  return result;
}
