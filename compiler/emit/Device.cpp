//===- Device.cpp - device code of a module of kernels ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Device.h"

#include "compiler/emit/Machine.h"
#include "compiler/emit/Optimize.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace attn;

mlir::ModuleOp attn::findDeviceModule(mlir::ModuleOp host) {
  return host.lookupSymbol<mlir::ModuleOp>(deviceModuleName);
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// Functions of a mathematical library, which no instruction computes and a device does not have.
static bool isLibraryFunction(mlir::Operation *op) {
  using namespace mlir::LLVM;
  return mlir::isa<ExpOp, Exp10Op, LogOp, Log10Op, PowOp, SinOp, CosOp>(op);
}

static llvm::Error checkCalls(mlir::ModuleOp kernels) {
  std::string missing;
  llvm::raw_string_ostream os(missing);
  kernels.walk([&](mlir::Operation *op) {
    auto call = mlir::dyn_cast<mlir::LLVM::CallOp>(op);
    std::optional<llvm::StringRef> callee = call ? call.getCallee() : std::nullopt;
    auto function = callee ? kernels.lookupSymbol<mlir::LLVM::LLVMFuncOp>(*callee) : mlir::LLVM::LLVMFuncOp();
    bool isOutside = call && (!function || function.isExternal());
    if (missing.empty() && (isOutside || isLibraryFunction(op)))
      os << (callee ? *callee : op->getName().stripDialect()) << "' that is needed at " << op->getLoc();
  });
  return missing.empty() ? llvm::Error::success()
                         : llvm::createStringError("code for CUDA devices has no function '" + missing);
}

/// NVVM's marks may stand on functions of the LLVM dialect only. The parameter stays in constant memory: nobody writes it.
static void markKernels(mlir::ModuleOp kernels) {
  using NVVM = mlir::NVVM::NVVMDialect;
  mlir::Builder b(kernels.getContext());
  for (auto function : kernels.getOps<mlir::LLVM::LLVMFuncOp>()) {
    auto threads = function->getAttrOfType<mlir::IntegerAttr>(kernelThreadsName);
    if (!threads)
      continue;
    function->removeAttr(kernelThreadsName);
    function->setAttr(NVVM::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::getReqntidAttrName(), b.getDenseI32ArrayAttr({int32_t(threads.getInt())}));
    function.setArgAttr(0, NVVM::getGridConstantAttrName(), b.getUnitAttr());
  }
}

llvm::Expected<std::string> attn::makePtx(mlir::ModuleOp kernels, const Target &target) {
  if (llvm::Error error = checkCalls(kernels))
    return std::move(error);
  auto machine = makeDeviceMachine(target);
  if (!machine)
    return machine.takeError();
  mlir::MLIRContext &context = *kernels.getContext();
  mlir::registerBuiltinDialectTranslation(context);
  mlir::registerLLVMDialectTranslation(context);
  mlir::registerNVVMDialectTranslation(context);
  mlir::OwningOpRef<mlir::ModuleOp> source = kernels.clone();
  markKernels(*source);
  mlir::Builder builder(&context);
  (*source)->setAttr(mlir::LLVM::LLVMDialect::getDataLayoutAttrName(),
                     builder.getStringAttr((*machine)->createDataLayout().getStringRepresentation()));
  (*source)->setAttr(mlir::LLVM::LLVMDialect::getTargetTripleAttrName(),
                     builder.getStringAttr((*machine)->getTargetTriple().str()));
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = mlir::translateModuleToLLVMIR(*source, llvmContext, "attnc");
  if (!module)
    return llvm::createStringError("the kernels could not be translated to LLVM IR");
  if (llvm::Error error = verify(*module))
    return std::move(error);
  if (llvm::Error error = optimize(*module, **machine))
    return std::move(error);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  if (llvm::Error error = generate(*module, **machine, llvm::CodeGenFileType::AssemblyFile, stream))
    return std::move(error);
  return text.str().str();
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

static std::string findPtxas() {
  std::vector<std::string> folders;
  for (llvm::StringRef variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto home = llvm::sys::Process::GetEnv(variable))
      folders.push_back(*home + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string &folder : folders)
    if (llvm::sys::fs::can_execute(folder + "/ptxas"))
      return folder + "/ptxas";
  auto found = llvm::sys::findProgramByName("ptxas");
  return found ? *found : "";
}

static std::string contentsOf(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

llvm::Expected<std::string> attn::assemble(llvm::StringRef ptx, int64_t arch) {
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    return std::string();
  llvm::SmallString<128> input, output, said;
  for (auto [path, suffix] : {std::pair(&input, "ptx"), {&output, "cubin"}, {&said, "txt"}})
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("attnc", suffix, *path))
      return llvm::createStringError(error, "no temporary file: " + error.message());
  llvm::FileRemover removers[] = {llvm::FileRemover(input), llvm::FileRemover(output), llvm::FileRemover(said)};
  std::error_code error;
  llvm::raw_fd_ostream(input, error) << ptx;
  std::string name = "-arch=sm_" + std::to_string(arch);
  llvm::StringRef arguments[] = {ptxas, name, input, "-o", output};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, said.str(), said.str()};
  std::string why;
  if (error || llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0, 0, &why))
    return llvm::createStringError("ptxas refuses the kernels: " + why + contentsOf(said));
  return contentsOf(output);
}

//===----------------------------------------------------------------------===//
// The host's global
//===----------------------------------------------------------------------===//

static llvm::Constant *bytesGlobal(llvm::Module &module, llvm::StringRef bytes, bool isText) {
  llvm::Constant *data = llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/isText);
  auto *global = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, data, "attn.cuda.code");
  global->setAlignment(llvm::Align(16));
  return global;
}

void attn::defineDeviceGlobal(llvm::Module &host, llvm::ArrayRef<DeviceCode> code) {
  llvm::LLVMContext &context = host.getContext();
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Constant *> images;
  auto add = [&](int64_t arch, bool isBinary, llvm::StringRef bytes) {
    llvm::Constant *fields[] = {llvm::ConstantInt::get(i64, arch), llvm::ConstantInt::get(i64, isBinary),
                                bytesGlobal(host, bytes, !isBinary),
                                llvm::ConstantInt::get(i64, bytes.size() + (isBinary ? 0 : 1))};
    images.push_back(llvm::ConstantStruct::getAnon(fields));
  };
  for (const DeviceCode &one : code) {
    if (!one.cubin.empty())
      add(one.arch, true, one.cubin);
    add(one.arch, false, one.ptx);
  }
  llvm::Constant *table =
      llvm::ConstantArray::get(llvm::ArrayType::get(images.front()->getType(), images.size()), images);
  auto *imageTable = new llvm::GlobalVariable(host, table->getType(), true, llvm::GlobalValue::InternalLinkage, table,
                                              "attn.cuda.images");
  llvm::Constant *fields[] = {llvm::ConstantInt::get(i64, images.size()), imageTable};
  llvm::Constant *value = llvm::ConstantStruct::getAnon(fields);
  llvm::GlobalVariable *declared = host.getNamedGlobal(deviceGlobalName);
  auto *defined =
      new llvm::GlobalVariable(host, value->getType(), true, llvm::GlobalValue::InternalLinkage, value, "");
  declared->replaceAllUsesWith(defined);
  defined->takeName(declared);
  declared->eraseFromParent();
}
