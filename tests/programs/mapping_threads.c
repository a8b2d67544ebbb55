/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mapping_threads CALLS: allocations while other threads map and unmap memory all the time, so that
 * the lock of the address space is taken at many of the calls.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cuda_runtime_api.h>

#define THREADS 3
#define BYTES (8u << 20)

static volatile bool done;

static void *map_and_unmap(void *unused)
{
	while (!done) {
		void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory != MAP_FAILED)
			munmap(memory, BYTES);
	}
	return unused;
}

static __attribute__((noinline)) void allocate(void)
{
	void *memory = NULL;

	cudaMalloc(&memory, 1);
	__asm__ volatile("");
}

int main(int count, char **arguments)
{
	pthread_t threads[THREADS];
	int calls = count > 1 ? atoi(arguments[1]) : 1;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, map_and_unmap, NULL))
			return 1;
	for (int i = 0; i < calls; i++)
		allocate();
	done = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
