/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mathematical functions of a CUDA toolkit's library, against those of the C library. */
#include <cmath>

#include "kernels_check.h"

enum { COUNT = 2048 };

__host__ __device__ static float input(int i)
{
	constexpr float special[] = {0.f,    -0.f,   1.f,    -1.f,       0.5f,  2.f,
				     1e-40f, 1e30f,  -1e30f, 88.f,       -88.f, 100.25f,
				     -7.5f,  1e-10f, 0.1f,   3.14159265f};

	return i < 16 ? special[i] : (float)(int)number(i) / (1 << 26);
}

__host__ __device__ static float second(int i)
{
	return input((i * 7 + 3) % COUNT);
}

/* Functions of one and of two numbers, and by how many units in the last place they may differ. */
#define FUNCTIONS(X)                                                                               \
	X(sinf, float, (input(i)), 4)                                                              \
	X(cosf, float, (input(i)), 4)                                                              \
	X(tanf, float, (input(i)), 5)                                                              \
	X(asinf, float, (input(i)), 4)                                                             \
	X(acosf, float, (input(i)), 4)                                                             \
	X(atanf, float, (input(i)), 4)                                                             \
	X(sinhf, float, (input(i)), 4)                                                             \
	X(tanhf, float, (input(i)), 4)                                                             \
	X(asinhf, float, (input(i)), 4)                                                            \
	X(expf, float, (input(i)), 4)                                                              \
	X(exp2f, float, (input(i)), 4)                                                             \
	X(expm1f, float, (input(i)), 4)                                                            \
	X(logf, float, (input(i)), 4)                                                              \
	X(log2f, float, (input(i)), 4)                                                             \
	X(log1pf, float, (input(i)), 4)                                                            \
	X(cbrtf, float, (input(i)), 4)                                                             \
	X(erff, float, (input(i)), 4)                                                              \
	X(erfcf, float, (input(i)), 6)                                                             \
	X(roundf, float, (input(i)), 0)                                                            \
	X(rintf, float, (input(i)), 0)                                                             \
	X(logbf, float, (input(i)), 0)                                                             \
	X(powf, float, (input(i), second(i)), 4)                                                   \
	X(fmodf, float, (input(i), second(i)), 0)                                                  \
	X(remainderf, float, (input(i), second(i)), 0)                                             \
	X(atan2f, float, (input(i), second(i)), 4)                                                 \
	X(hypotf, float, (input(i), second(i)), 4)                                                 \
	X(fdimf, float, (input(i), second(i)), 0)                                                  \
	X(nextafterf, float, (input(i), second(i)), 0)                                             \
	X(sin, double, ((double)input(i)), 4)                                                      \
	X(tan, double, ((double)input(i)), 4)                                                      \
	X(acos, double, ((double)input(i)), 4)                                                     \
	X(cosh, double, ((double)input(i)), 4)                                                     \
	X(exp, double, ((double)input(i)), 4)                                                      \
	X(log, double, ((double)input(i)), 4)                                                      \
	X(log10, double, ((double)input(i)), 4)                                                    \
	X(sqrt, double, ((double)input(i)), 0)                                                     \
	X(cbrt, double, ((double)input(i)), 4)                                                     \
	X(erf, double, ((double)input(i)), 4)                                                      \
	X(tgamma, double, ((double)input(i)), 16)                                                  \
	X(floor, double, ((double)input(i)), 0)                                                    \
	X(pow, double, ((double)input(i), (double)second(i)), 4)                                   \
	X(fmod, double, ((double)input(i), (double)second(i)), 0)                                  \
	X(atan2, double, ((double)input(i), (double)second(i)), 4)                                 \
	X(hypot, double, ((double)input(i), (double)second(i)), 4)                                 \
	X(copysign, double, ((double)input(i), (double)second(i)), 0)

#define KERNEL(function, type, arguments, units)                                                   \
	__global__ void kernel_##function(type *out)                                               \
	{                                                                                          \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
                                                                                                   \
		out[i] = function arguments;                                                       \
	}
FUNCTIONS(KERNEL)

/* Numbers in the order of the real ones: neighbours differ by 1. */
static int64_t place(float value)
{
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

static int64_t place(double value)
{
	int64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits < 0 ? INT64_MIN - bits : bits;
}

template <class T> static bool is_near(T result, T expected, int64_t units)
{
	if (std::isnan(result) || std::isnan(expected))
		return std::isnan(result) && std::isnan(expected);
	return llabs(place(result) - place(expected)) <= units;
}

#define COMPARE(function, type, arguments, units)                                                  \
	{                                                                                          \
		type *out = (type *)memory;                                                        \
                                                                                                   \
		kernel_##function<<<COUNT / 256, 256>>>(out);                                      \
		finish(#function);                                                                 \
		for (int i = 0; i < COUNT; i++)                                                    \
			EXPECT(is_near<type>(out[i], ::function arguments, units),                 \
			       #function " of %.9g (%.9g) is %.17g, not %.17g", input(i),          \
			       second(i), (double)out[i], (double)::function arguments);           \
	}

int main()
{
	double *memory = managed<double>(COUNT);

	FUNCTIONS(COMPARE)
	return failures != 0;
}
