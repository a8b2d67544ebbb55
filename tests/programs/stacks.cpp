/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Allocations from stacks that are hard to unwind without frame pointers. For each, prints its size
 * and the return addresses that backtrace(3) finds. Tests build it without frame pointers.
 */
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>

#include <cuda_runtime_api.h>

#define APART __attribute__((noinline, noclone))

static size_t next_size;

/* Its own return address differs from that of backtrace(): it is not printed. */
extern "C" APART void allocate(void)
{
	void *addresses[100], *memory = nullptr;
	int count = backtrace(addresses, 100);

	cudaMalloc(&memory, ++next_size);
	printf("%zu", next_size);
	for (int i = 1; i < count; i++)
		printf(" %p", addresses[i]);
	printf("\n");
}

APART static int from_depth(int depth)
{
	volatile int own[7] = {depth};

	if (depth > 1)
		own[1] = from_depth(depth - 1);
	else
		allocate();
	return own[0] + own[1];
}

static int compare(const void *, const void *)
{
	static bool done;

	if (!done)
		allocate();
	done = true;
	return 0;
}

/* The frame pointer is a register like the others here. */
APART static long with_many_values(long a, long b, long c)
{
	long d = a * b, e = b * c, f = c * a, g = a + 7, h = b + 9;

	allocate();
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

/* By the frame pointer, since the size of the frame is known at run time only. */
APART static void with_alloca(size_t size)
{
	char *bytes = static_cast<char *>(alloca(size));

	memset(bytes, 1, size);
	allocate();
	printf("%s", bytes[size / 2] ? "" : "?");
}

/* A realigned stack. */
APART static int with_alignment(int number)
{
	alignas(64) volatile char bytes[128] = {};

	bytes[number] = 1;
	allocate();
	return bytes[number];
}

/* Larger than what is read of the stack at once. */
APART static int with_large_frame(int number)
{
	volatile char bytes[20000];

	bytes[number] = 1;
	from_depth(3);
	return bytes[number];
}

static void handler(int)
{
	allocate();
}

APART static void interrupted(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	allocate();
}

static void on_another_stack(void)
{
	static char room[1 << 16];
	stack_t stack = {};
	struct sigaction action = {};

	stack.ss_sp = room;
	stack.ss_size = sizeof(room);
	sigaltstack(&stack, nullptr);
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, nullptr);
	raise(SIGUSR2);
}

struct base {
	virtual ~base()
	{
	}
	virtual void call() = 0;
};

struct derived : base {
	/* By a destructor, while an exception passes. */
	APART ~derived() override
	{
		allocate();
	}
	void call() override
	{
		allocate();
		throw 1;
	}
};

APART static void by_exception(void)
{
	try {
		derived object;
		base *volatile pointer = &object;

		pointer->call();
	} catch (int) {
		allocate();
	}
}

static void *thread(void *)
{
	from_depth(5);
	return nullptr;
}

static void at_end(void)
{
	allocate();
}

int main(int count, char **)
{
	int numbers[] = {4, 2, 3, 1};
	pthread_t other;

	from_depth(40);
	with_many_values(count, count + 1, count + 2);
	qsort(numbers, 4, sizeof(int), compare);
	with_alloca(size_t(count) * 1000);
	with_alignment(count);
	with_large_frame(count);
	interrupted();
	on_another_stack();
	by_exception();
	if (!pthread_create(&other, nullptr, thread, nullptr))
		pthread_join(other, nullptr);
	atexit(at_end);
	return 0;
}
