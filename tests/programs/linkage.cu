/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkage COUNT: launches kernels of each linkage COUNT times. */
#include <stdlib.h>
#include <unistd.h>

extern "C" __global__ void plain(int *values)
{
	values[0]++;
}

__global__ void mangled(int *values)
{
	values[1]++;
}

static __global__ void local(int *values)
{
	values[2]++;
}

template <class type> __global__ void of(type *values)
{
	values[3]++;
}

namespace inner
{
__global__ void scoped(int *values)
{
	values[4]++;
}
} // namespace inner

static void launch_all(int *values)
{
	plain<<<1, 1>>>(values);
	mangled<<<1, 1>>>(values);
	local<<<1, 1>>>(values);
	of<<<1, 1>>>((float *)values);
	inner::scoped<<<1, 1>>>(values);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1, *values;

	if (cudaMalloc(&values, 4096))
		return 1;
	for (int i = 0; i < count; i++) {
		launch_all(values);
		usleep(1000);
	}
	return cudaDeviceSynchronize() != cudaSuccess;
}
