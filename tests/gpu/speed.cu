/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * speed THREADS SIZE ROUNDS PAUSE: times three kernels, each ROUNDS times after a launch that is
 * not timed, with PAUSE ms before each: vectorAdd with THREADS threads, matmul of SIZE x SIZE
 * elements, reduction with THREADS threads of 4 elements each. Checks the results of the last
 * launch. Prints a line per kernel: its name, and the median time in µs by events of its stream.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "speed: %s: %s\n", #call, cudaGetErrorString(error_));     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum {
	BLOCK = 256,
	TILE = 16,
	EACH = 4, /* elements of the reduction per thread */
	MAX_ROUNDS = 1001,
};

__global__ void vectorAdd(const float *a, const float *b, float *c, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		c[i] = a[i] + b[i];
}

__global__ void matmul(const float *a, const float *b, float *c, int size)
{
	__shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int first = 0; first < size; first += TILE) {
		tile_a[threadIdx.y][threadIdx.x] = a[row * size + first + threadIdx.x];
		tile_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * size + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
		__syncthreads();
	}
	c[row * size + column] = sum;
}

__global__ void reduction(const float *values, unsigned long long *sum, int count)
{
	__shared__ int sums[BLOCK];
	int threads = gridDim.x * blockDim.x, mine = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
		mine += (int)values[i];
	sums[threadIdx.x] = mine;
	__syncthreads();
	for (int half = BLOCK / 2; half; half /= 2) {
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
		__syncthreads();
	}
	if (!threadIdx.x)
		atomicAdd(sum, (unsigned long long)sums[0]);
}

static int threads, size, rounds, pause_ms;
static float *a, *b, *c, *host;
static unsigned long long *sum;

static void launch_vector_add(void)
{
	vectorAdd<<<threads / BLOCK, BLOCK>>>(a, b, c, threads);
}

static void launch_matmul(void)
{
	matmul<<<dim3(size / TILE, size / TILE), dim3(TILE, TILE)>>>(a, b, c, size);
}

static void launch_reduction(void)
{
	CHECK(cudaMemsetAsync(sum, 0, sizeof(*sum), 0));
	reduction<<<threads / BLOCK, BLOCK>>>(a, sum, EACH * threads);
}

/* The vectors repeat small numbers, so that all sums are exact: a[i] = i % 5, b[i] = i % 3. */
static bool check_vector_add(void)
{
	CHECK(cudaMemcpy(host, c, sizeof(*c) * threads, cudaMemcpyDeviceToHost));
	for (int i = 0; i < threads; i++)
		if (host[i] != i % 5 + i % 3)
			return false;
	return true;
}

static bool check_matmul(void)
{
	CHECK(cudaMemcpy(host, c, sizeof(*c) * size * size, cudaMemcpyDeviceToHost));
	for (int i = 0; i < size * size; i += size / 8 * 9 + 1) {
		int row = i / size, column = i % size;
		float expected = 0;

		for (int k = 0; k < size; k++)
			expected += (row * size + k) % 5 * ((k * size + column) % 3);
		if (host[i] != expected)
			return false;
	}
	return true;
}

static bool check_reduction(void)
{
	unsigned long long found, expected = 0;

	CHECK(cudaMemcpy(&found, sum, sizeof(found), cudaMemcpyDeviceToHost));
	for (int i = 0; i < EACH * threads; i++)
		expected += i % 5;
	return found == expected;
}

static const struct {
	const char *name;
	void (*launch)(void);
	bool (*check)(void);
} kernels[] = {
	{"vectorAdd", launch_vector_add, check_vector_add},
	{"matmul", launch_matmul, check_matmul},
	{"reduction", launch_reduction, check_reduction},
};

static int by_time(const void *left, const void *right)
{
	float difference = *(const float *)left - *(const float *)right;

	return (difference > 0) - (difference < 0);
}

static float time_median(void (*launch)(void))
{
	static float times[MAX_ROUNDS];
	cudaEvent_t start, end;

	CHECK(cudaEventCreate(&start));
	CHECK(cudaEventCreate(&end));
	launch();
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < rounds; i++) {
		usleep(pause_ms * 1000);
		CHECK(cudaEventRecord(start, 0));
		launch();
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(end, 0));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&times[i], start, end));
	}
	qsort(times, rounds, sizeof(*times), by_time);
	return times[rounds / 2] * 1000;
}

static void allocate(void)
{
	size_t elements = EACH * (size_t)threads, square = (size_t)size * size;

	elements = elements > square ? elements : square;
	host = (float *)malloc(elements * sizeof(*host));
	CHECK(cudaMalloc(&a, elements * sizeof(*a)));
	CHECK(cudaMalloc(&b, elements * sizeof(*b)));
	CHECK(cudaMalloc(&c, elements * sizeof(*c)));
	CHECK(cudaMalloc(&sum, sizeof(*sum)));
	for (size_t i = 0; i < elements; i++)
		host[i] = i % 5;
	CHECK(cudaMemcpy(a, host, elements * sizeof(*a), cudaMemcpyHostToDevice));
	for (size_t i = 0; i < elements; i++)
		host[i] = i % 3;
	CHECK(cudaMemcpy(b, host, elements * sizeof(*b), cudaMemcpyHostToDevice));
}

int main(int count, char **words)
{
	int wrong = 0;

	threads = count > 1 ? atoi(words[1]) : 1 << 20;
	size = count > 2 ? atoi(words[2]) : 1024;
	rounds = count > 3 ? atoi(words[3]) : 21;
	pause_ms = count > 4 ? atoi(words[4]) : 0;
	if (threads < BLOCK || threads % BLOCK || size < TILE || size % TILE || rounds < 1 ||
	    rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: speed [THREADS [SIZE [ROUNDS [PAUSE]]]]\n");
		return 2;
	}
	allocate();
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		float time = time_median(kernels[i].launch);

		if (!kernels[i].check()) {
			printf("%s wrong\n", kernels[i].name);
			wrong++;
			continue;
		}
		printf("%s %.2f\n", kernels[i].name, time);
	}
	return wrong != 0;
}
