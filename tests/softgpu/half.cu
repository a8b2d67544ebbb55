// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Half precision of our own headers, on the host and on the device. TAP.
#include <cstdio>
#include <cstring>

#include <cuda_fp16.h>

const int COUNT = 1 << 16;

static int number;

static void report(bool good, const char *sentence)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++number, sentence);
}

__global__ void convert(const float *values, unsigned short *halves, float *floats)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	halves[i] = __half_as_ushort(__float2half(values[i]));
	floats[i] = __half2float(__ushort_as_half((unsigned short)i));
}

__global__ void calculate(float *results)
{
	half a = 2.5f, b = 0.5f;
	half2 pair = __floats2half2_rn(3, -4), other = __half2half2(b);

	results[0] = a + b;
	results[1] = a * b;
	results[2] = __hdiv(a, b);
	results[3] = __hgt(a, b) && !__hlt(a, b) && __hne(a, b);
	results[4] = __low2float(pair + other);
	results[5] = __high2float(__hfma2(pair, other, pair));
	results[6] = __half2float(__shfl_sync(0xffffffff, half((float)threadIdx.x), 7));
}

// Every exponent with fractions at and around the middle between two halves.
static float value_of(int i)
{
	unsigned int bits = (unsigned int)(i & 511) << 23 | (unsigned int)(i >> 9) << 12;
	float value;

	bits += (unsigned int)(i % 3) - 1;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

int main()
{
	float *values, *floats;
	unsigned short *halves;
	int wrong_halves = 0, wrong_floats = 0, wrong_conversions = 0;
	const float expected[] = {3, 1.25f, 5, 1, 3.5f, -6, 7};

	cudaMallocManaged(&values, COUNT * sizeof(*values));
	cudaMallocManaged(&floats, COUNT * sizeof(*floats));
	cudaMallocManaged(&halves, COUNT * sizeof(*halves));
	for (int i = 0; i < COUNT; i++)
		values[i] = value_of(i);
	convert<<<COUNT / 256, 256>>>(values, halves, floats);
	cudaDeviceSynchronize();
	for (int i = 0; i < COUNT; i++) {
		half there = __ushort_as_half((unsigned short)i);
		bool is_nan = (i & 0x7fff) > 0x7c00;

		if (values[i] == values[i])
			wrong_halves += __half_as_ushort(__float2half(values[i])) != halves[i];
		if (is_nan)
			continue;
		wrong_floats += memcmp(&floats[i], &(const float &)__half2float(there), 4) != 0;
		wrong_conversions += __half_as_ushort(__float2half(__half2float(there))) != i;
	}
	report(wrong_halves == 0, "the host rounds to half as the device does");
	report(wrong_floats == 0, "the host reads halves as the device does");
	report(wrong_conversions == 0, "a half survives the conversion to float and back");
	calculate<<<1, 32>>>(values);
	cudaDeviceSynchronize();
	report(!memcmp(values, expected, sizeof(expected)),
	       "halves are added, multiplied, compared and shuffled");
	printf("1..%d\n", number);
	return 0;
}
