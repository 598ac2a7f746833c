//===- Gpu.cpp - kernels on this machine's CUDA device --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver is opened at run time: building needs nothing of CUDA.
#include "tools/attnc/Device.h"

#include "llvm/Support/DynamicLibrary.h"

using namespace attnc;

namespace {
/// What is called of the driver's interface. A result of 0 is success.
struct Driver {
  int (*cuInit)(unsigned);
  int (*cuGetErrorName)(int, const char **);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetName)(char *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuCtxSynchronize)();
  int (*cuMemAlloc_v2)(uint64_t *, size_t);
  int (*cuMemFree_v2)(uint64_t);
  int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
  int (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t);

  static llvm::Expected<Driver> open() {
    std::string why;
    llvm::sys::DynamicLibrary library = llvm::sys::DynamicLibrary::getPermanentLibrary("libcuda.so.1", &why);
    if (!library.isValid())
      return llvm::createStringError("there is no CUDA device here: " + why);
    Driver driver;
    const char *missing = nullptr;
    auto find = [&](auto &function, const char *name) {
      void *found = library.getAddressOfSymbol(name);
      missing = found ? missing : name;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(driver.cuInit, "cuInit");
    find(driver.cuGetErrorName, "cuGetErrorName");
    find(driver.cuDeviceGet, "cuDeviceGet");
    find(driver.cuDeviceGetName, "cuDeviceGetName");
    find(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    find(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
    find(driver.cuCtxSynchronize, "cuCtxSynchronize");
    find(driver.cuMemAlloc_v2, "cuMemAlloc_v2");
    find(driver.cuMemFree_v2, "cuMemFree_v2");
    find(driver.cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2");
    find(driver.cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2");
    if (missing)
      return llvm::createStringError(llvm::Twine("the CUDA driver is too old: it has no ") + missing);
    return driver;
  }

  llvm::Error check(const char *what, int result) const {
    const char *name = "unknown error";
    if (result && cuGetErrorName)
      cuGetErrorName(result, &name);
    return result ? llvm::createStringError(llvm::Twine(what) + ": " + name) : llvm::Error::success();
  }
};

class Gpu : public Device {
public:
  Gpu(Driver driver, std::string called) : driver(driver), called(std::move(called)) {}

  std::string name() const override { return called; }

  llvm::Expected<uint64_t> allocate(llvm::StringRef, size_t bytes, bool) override {
    uint64_t address = 0;
    if (llvm::Error error = driver.check("cuMemAlloc", driver.cuMemAlloc_v2(&address, std::max<size_t>(bytes, 1))))
      return std::move(error);
    return address;
  }
  void release(uint64_t address) override { driver.cuMemFree_v2(address); }
  llvm::Error upload(uint64_t to, llvm::ArrayRef<uint8_t> bytes) override {
    return driver.check("cuMemcpyHtoD", driver.cuMemcpyHtoD_v2(to, bytes.data(), bytes.size()));
  }
  llvm::Error download(llvm::MutableArrayRef<uint8_t> bytes, uint64_t from) override {
    return driver.check("cuMemcpyDtoH", driver.cuMemcpyDtoH_v2(bytes.data(), from, bytes.size()));
  }
  void attach(attn_context &context) override { context.cuda = &attn_cuda_driver; }
  llvm::Error finish() override { return driver.check("cuCtxSynchronize", driver.cuCtxSynchronize()); }

private:
  Driver driver;
  std::string called;
};
} // namespace

llvm::Expected<std::unique_ptr<Device>> attnc::openGpu() {
  auto driver = Driver::open();
  if (!driver)
    return driver.takeError();
  int device = 0;
  void *context = nullptr;
  char name[128] = "CUDA device";
  std::pair<const char *, int> steps[] = {{"cuInit", driver->cuInit(0)},
                                          {"cuDeviceGet", driver->cuDeviceGet(&device, 0)},
                                          {"cuDeviceGetName", driver->cuDeviceGetName(name, sizeof(name), device)},
                                          {"cuDevicePrimaryCtxRetain", driver->cuDevicePrimaryCtxRetain(&context, device)},
                                          {"cuCtxSetCurrent", driver->cuCtxSetCurrent(context)}};
  for (auto [what, result] : steps)
    if (llvm::Error error = driver->check(what, result))
      return llvm::createStringError("there is no CUDA device here: " + llvm::toString(std::move(error)));
  return std::make_unique<Gpu>(*driver, name);
}
