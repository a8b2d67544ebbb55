/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel of the examples in plain C. They find it by its name, hence extern "C": C++ would
 * write its parameters' types into the name.
 */
#include <cuda_runtime.h>

extern "C" __global__ void scale(float *values, float factor, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] *= factor;
}
