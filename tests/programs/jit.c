/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls cudaMalloc by a function that it makes at run time (x86-64), as JIT compilers do, and names
 * it in /tmp/perf-PID.map: jit::train_step(int). It prints the path, and ends once there is a file
 * "go".
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; mov %rdx,%rsi; call *%rax; pop
	 * %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89,
					     0xf7, 0x48, 0x89, 0xd6, 0xff, 0xd0, 0x5d, 0xc3};
	int (*train_step)(void *function, void **pointer, size_t size);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *pointer;
	char path[64];
	FILE *map;
	int status;

	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof(code));
	memcpy(&train_step, &page, sizeof(page));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx jit::train_step(int)\n", (unsigned long)page, sizeof(code));
	fclose(map);
	status = train_step((void *)cudaMalloc, &pointer, 64);
	puts(path);
	fflush(stdout);
	while (access("go", F_OK))
		usleep(10000);
	return status;
}
