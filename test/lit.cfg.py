# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How lit runs the tests: which files are tests, what they may call, which features they may require.
import glob
import os
import shutil
import subprocess

import lit.formats

config.name = "attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".attn", ".mlir", ".test", ".c", ".cpp", ".yaml"]
config.excludes = ["unit", "inputs", "Inputs", "project", "bench"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.attn_build_root, "test")

bin_dir = os.path.join(config.attn_build_root, "bin")
config.environment["PATH"] = os.pathsep.join([bin_dir, config.llvm_tools_dir, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --dump-input=fail"
config.environment["OMP_WAIT_POLICY"] = "passive"
# LLVM's allocators poison memory in headers that we compile, and never unpoison it in the library that we don't.
config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

root = config.attn_source_root
config.substitutions += [
    ("%python", config.python),
    ("%clangxx", config.cxx_compiler),
    ("%clang", config.c_compiler),
    ("%cmake", config.cmake),
    ("%source_root", root),
    ("%build_root", config.attn_build_root),
    ("%examples", os.path.join(root, "examples")),
    ("%runtime_include", os.path.join(root, "runtime", "include")),
]

if config.host in ("x86_64", "AMD64"):
    config.available_features.add("host-x86_64")
    with open("/proc/cpuinfo") as info:
        flags = next((line.split() for line in info if line.startswith("flags")), [])
    for flag in ("avx2", "avx512f", "amx_bf16"):
        if flag in flags:
            config.available_features.add(flag)
elif config.host == "aarch64":
    config.available_features.add("host-aarch64")
if shutil.which("qemu-aarch64-static") and shutil.which("aarch64-linux-gnu-gcc"):
    config.available_features.add("qemu-aarch64")
if shutil.which("qemu-x86_64-static") and "host-x86_64" in config.available_features:
    config.available_features.add("qemu-x86_64")
# An OpenCL device; what PoCL compiles stays here.
if glob.glob("/etc/OpenCL/vendors/*.icd"):
    config.available_features.add("opencl-device")
config.environment["POCL_CACHE_DIR"] = os.path.join(config.test_exec_root, "pocl")
if config.halide:
    config.available_features.add("halide")
if "-fsanitize" in config.build_flags:
    config.available_features.add("sanitizers")
ptxas = shutil.which("ptxas", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if os.path.exists("/dev/nvidiactl"):
    config.available_features.add("cuda-device")
for module in ("numpy", "onnx"):
    if subprocess.run([config.python, "-c", f"import {module}"], capture_output=True).returncode == 0:
        config.available_features.add(module)
    else:
        lit_config.note(f"{config.python} has no {module}: tests that need it are skipped (see tools/setup --python)")
