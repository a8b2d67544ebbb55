# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Triton: kernels that ptxas compiles."""
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, result, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def row_sums(x, result, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(result + row, tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.), 0))


n = 100000
x = torch.arange(n, device='cuda', dtype=torch.float32)
result = torch.empty_like(x)
add[(triton.cdiv(n, 1024),)](x, 2 * x, result, n, BLOCK=1024)
print('add', bool((result == 3 * x).all()))
sums = torch.empty(100, device='cuda')
row_sums[(100,)](x, sums, 1000, BLOCK=1024)
print('sums', bool(torch.allclose(sums, x.view(100, 1000).sum(1))))
