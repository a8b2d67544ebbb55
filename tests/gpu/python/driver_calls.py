# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The CUDA driver by ctypes, with PTX: what every other client is built on."""
import ctypes

PTX = b'''.version 6.4
.target sm_60
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r5, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra done;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r1, [%rd3];
    add.u32 %r1, %r1, %r4;
    st.global.u32 [%rd3], %r1;
done:
    ret;
}
'''
N = 1000
cuda = ctypes.CDLL('libcuda.so.1')


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        raise SystemExit(f'{name}: {result}')


device = ctypes.c_int()
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
memory = ctypes.c_uint64()
values = (ctypes.c_uint32 * N)(*([7] * N))
count = ctypes.c_uint32(N)
call('cuInit', 0)
call('cuDeviceGet', ctypes.byref(device), 0)
call('cuDevicePrimaryCtxRetain', ctypes.byref(context), device)
call('cuCtxSetCurrent', context)
call('cuModuleLoadData', ctypes.byref(module), PTX)
call('cuModuleGetFunction', ctypes.byref(kernel), module, b'add')
call('cuMemAlloc_v2', ctypes.byref(memory), ctypes.c_size_t(4 * N))
call('cuMemcpyHtoD_v2', memory, values, ctypes.c_size_t(4 * N))
parameters = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(count))
call('cuLaunchKernel', kernel, 4, 1, 1, 256, 1, 1, 0, None, parameters, None)
call('cuMemcpyDtoH_v2', values, memory, ctypes.c_size_t(4 * N))
print('sums', sum(values) == 7 * N + N * (N - 1) // 2)
