# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ctypes_client.py SOURCE [OPTIONS…]: compiles a source by NVRTC, or PTX by a ptxas process, loads the cubin and
# runs its kernel `add`, all by ctypes, as many Python packages do.
import ctypes
import os
import subprocess
import sys
import tempfile

COUNT, BLOCK = 1000, 256

cuda = ctypes.CDLL("libcuda.so.1")
nvrtc = None if sys.argv[1].endswith(".ptx") else ctypes.CDLL("libnvrtc.so.13")


def check(name, error):
    if error:
        sys.exit("%s: %d" % (name, error))


def call(library, name, *arguments):
    check(name, getattr(library, name)(*arguments))


def compile_source(path, options):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    with open(path, "rb") as file:
        source = file.read()
    call(nvrtc, "nvrtcCreateProgram", ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    call(nvrtc, "nvrtcCompileProgram", program, len(options), words)
    call(nvrtc, "nvrtcGetCUBINSize", program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    call(nvrtc, "nvrtcGetCUBIN", program, cubin)
    call(nvrtc, "nvrtcDestroyProgram", ctypes.byref(program))
    return cubin


def assemble(path, options):
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "cubin")
        subprocess.run(["ptxas", path, "-o", cubin] + options, check=True)
        with open(cubin, "rb") as file:
            return file.read()


def start():
    context, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    call(cuda, "cuInit", 0)
    call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call(cuda, "cuCtxSetCurrent", context)
    call(cuda, "cuDeviceGetAttribute", ctypes.byref(major), 75, 0)
    call(cuda, "cuDeviceGetAttribute", ctypes.byref(minor), 76, 0)
    return "-arch=sm_%d%d" % (major.value, minor.value)


def run_add(function):
    numbers = ctypes.c_float * COUNT
    a, b, c = numbers(*range(COUNT)), numbers(*range(0, 2 * COUNT, 2)), numbers()
    memory = [ctypes.c_uint64() for _ in range(3)]
    for one in memory:
        call(cuda, "cuMemAlloc_v2", ctypes.byref(one), ctypes.sizeof(a))
    call(cuda, "cuMemcpyHtoD_v2", memory[0], a, ctypes.c_size_t(ctypes.sizeof(a)))
    call(cuda, "cuMemcpyHtoD_v2", memory[1], b, ctypes.c_size_t(ctypes.sizeof(b)))
    values = [*memory, ctypes.c_int(COUNT)]
    arguments = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    blocks = (COUNT + BLOCK - 1) // BLOCK
    call(cuda, "cuLaunchKernel", function, blocks, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
    call(cuda, "cuMemcpyDtoH_v2", c, memory[2], ctypes.c_size_t(ctypes.sizeof(c)))
    print("add: %d sums are right" % sum(c[i] == 3 * i for i in range(COUNT)))


def main():
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    architecture = start()
    compiler = compile_source if nvrtc else assemble
    cubin = compiler(sys.argv[1], [architecture] + sys.argv[2:])
    call(cuda, "cuModuleLoadData", ctypes.byref(module), cubin)
    call(cuda, "cuModuleGetFunction", ctypes.byref(function), module, b"add")
    run_add(function)


main()
