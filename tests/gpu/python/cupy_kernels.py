# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""CuPy: kernels that NVRTC compiles."""
import cupy as cp

axpy = cp.RawKernel(r'''extern "C" __global__ void axpy(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}''', 'axpy')
x = cp.arange(10000, dtype=cp.float32)
y = cp.ones(10000, dtype=cp.float32)
axpy((40,), (256,), (x, y, cp.float32(2), cp.int32(10000)))
print('raw kernel', bool((y == 2 * x + 1).all()))
fused = cp.ElementwiseKernel('float32 a, float32 b', 'float32 c', 'c = a * b + 1', 'fused')
print('elementwise', bool((fused(x, y) == x * y + 1).all()))
print('reduction', float(x.sum()))
