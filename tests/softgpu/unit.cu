// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The other unit of program.cu.
__device__ int twice(int value)
{
	return value + value;
}
