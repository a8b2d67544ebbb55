/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mix [OPERATIONS [THREADS [PROCESSES]]]
 *
 * Several processes of several threads allocate, free, copy and launch at random (500 operations,
 * 8 threads, 4 processes), also what another thread has allocated, and some of it wrongly. Each
 * process prints one JSON object of what it did, by its own count: what a tracer must come to, too.
 * Some memory is never freed.
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER 65536 /* bytes of the buffers of copies */
#define SHARED 64    /* allocations that threads pass to each other */

enum memory { DEVICE, HOST, MANAGED, POOL, MEMORIES };
enum direction { H2H, H2D, D2H, D2D, DIRECTIONS };

struct part {
	unsigned long count, bytes;
};

struct memory_log {
	struct part allocations, frees;
};

struct log {
	struct memory_log memory[MEMORIES];
	struct part waiting[DIRECTIONS], asynchronous[DIRECTIONS];
	struct part pinned[DIRECTIONS], pageable[DIRECTIONS];
	unsigned long launches, failed_launches, failed_allocations, foreign_frees;
};

struct allocation {
	void *pointer;
	size_t bytes;
	enum memory memory;
};

struct worker {
	pthread_t thread;
	unsigned long long random;
	long operations;
	struct log log;
	cudaStream_t stream;
	char *device[2], *pinned, *pageable;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation shared[SHARED];
static const char *program = "mix";

__global__ void add(unsigned int *values, unsigned int count)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] += i;
}

static unsigned long random_below(struct worker *worker, unsigned long limit)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random % limit;
}

static void must(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s: %s\n", program, what, cudaGetErrorName(error));
	exit(1);
}

static void count(struct part *part, size_t bytes)
{
	part->count++;
	part->bytes += bytes;
}

static struct allocation allocate(struct worker *worker, enum memory memory, size_t bytes)
{
	struct allocation allocation = {NULL, bytes, memory};

	switch (memory) {
	case DEVICE:
		must(cudaMalloc(&allocation.pointer, bytes), "cudaMalloc");
		break;
	case HOST:
		must(cudaMallocHost(&allocation.pointer, bytes), "cudaMallocHost");
		break;
	case MANAGED:
		must(cudaMallocManaged(&allocation.pointer, bytes), "cudaMallocManaged");
		break;
	default:
		must(cudaMallocAsync(&allocation.pointer, bytes, worker->stream),
		     "cudaMallocAsync");
	}
	count(&worker->log.memory[memory].allocations, bytes);
	return allocation;
}

static void release(struct worker *worker, struct allocation allocation)
{
	if (!allocation.pointer)
		return;
	if (allocation.memory == HOST)
		must(cudaFreeHost(allocation.pointer), "cudaFreeHost");
	else if (allocation.memory == POOL)
		must(cudaFreeAsync(allocation.pointer, worker->stream), "cudaFreeAsync");
	else
		must(cudaFree(allocation.pointer), "cudaFree");
	count(&worker->log.memory[allocation.memory].frees, allocation.bytes);
}

/* Publish an allocation for any thread to take, and free the one that was there. */
static void exchange(struct worker *worker)
{
	enum memory memory = (enum memory)random_below(worker, MEMORIES);
	struct allocation mine = {NULL, 0, DEVICE}, other;
	unsigned long place = random_below(worker, SHARED);

	if (random_below(worker, 3))
		mine = allocate(worker, memory, 1 + random_below(worker, 100000));
	pthread_mutex_lock(&lock);
	other = shared[place];
	shared[place] = mine;
	pthread_mutex_unlock(&lock);
	release(worker, other);
}

static void copy(struct worker *worker)
{
	enum direction direction = (enum direction)random_below(worker, DIRECTIONS);
	static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToHost, cudaMemcpyHostToDevice,
					       cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
	bool pinned = random_below(worker, 2), waits = random_below(worker, 2);
	bool crosses = direction == H2D || direction == D2H;
	size_t bytes = 1 + random_below(worker, BUFFER);
	char *host = pinned ? worker->pinned : worker->pageable;
	char *target = direction == H2D || direction == D2D ? worker->device[0] : host;
	char *source = direction == D2H || direction == D2D ? worker->device[1] : worker->pinned;
	cudaMemcpyKind kind = kinds[direction];

	if (direction == H2D)
		source = host;
	if (direction == H2H)
		target = worker->pageable;
	if (crosses && random_below(worker, 4) == 0)
		kind = cudaMemcpyDefault;
	if (waits)
		must(cudaMemcpy(target, source, bytes, kind), "cudaMemcpy");
	else
		must(cudaMemcpyAsync(target, source, bytes, kind, worker->stream),
		     "cudaMemcpyAsync");
	count(waits ? &worker->log.waiting[direction] : &worker->log.asynchronous[direction],
	      bytes);
	if (crosses)
		count(pinned ? &worker->log.pinned[direction] : &worker->log.pageable[direction],
		      bytes);
}

static void launch(struct worker *worker)
{
	unsigned int *values = (unsigned int *)worker->device[0], number = 64;
	void *arguments[] = {&values, &number};
	bool wrong = random_below(worker, 16) == 0;
	cudaError_t error = cudaLaunchKernel((const void *)add, dim3(1 + random_below(worker, 3)),
					     dim3(wrong ? 4096 : 64), arguments, 0, worker->stream);

	if ((error == cudaSuccess) == wrong)
		must(cudaErrorUnknown, "cudaLaunchKernel");
	if (wrong)
		worker->log.failed_launches++;
	else
		worker->log.launches++;
}

static void fail(struct worker *worker)
{
	void *pointer;

	if (random_below(worker, 2)) {
		if (cudaMalloc(&pointer, (size_t)1 << 50) == cudaSuccess)
			must(cudaErrorUnknown, "cudaMalloc of a PiB");
		worker->log.failed_allocations++;
	} else {
		if (cudaFree((void *)0x12345678) == cudaSuccess)
			must(cudaErrorUnknown, "cudaFree of nothing");
		worker->log.foreign_frees++;
	}
	cudaGetLastError();
}

static void operate(struct worker *worker)
{
	switch (random_below(worker, 16)) {
	case 0:
		must(cudaStreamSynchronize(worker->stream), "cudaStreamSynchronize");
		break;
	case 1:
		must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
		break;
	case 2:
		fail(worker);
		break;
	case 3:
	case 4:
		launch(worker);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		copy(worker);
		break;
	default:
		exchange(worker);
	}
}

static void *work(void *argument)
{
	struct worker *worker = (struct worker *)argument;
	struct allocation buffers[3];

	must(cudaStreamCreate(&worker->stream), "cudaStreamCreate");
	for (int i = 0; i < 3; i++)
		buffers[i] = allocate(worker, i < 2 ? DEVICE : HOST, BUFFER);
	worker->device[0] = (char *)buffers[0].pointer;
	worker->device[1] = (char *)buffers[1].pointer;
	worker->pinned = (char *)buffers[2].pointer;
	worker->pageable = (char *)calloc(1, BUFFER);
	for (long i = 0; i < worker->operations; i++)
		operate(worker);
	must(cudaStreamSynchronize(worker->stream), "cudaStreamSynchronize");
	for (int i = 0; i < 3; i++)
		release(worker, buffers[i]);
	must(cudaStreamDestroy(worker->stream), "cudaStreamDestroy");
	free(worker->pageable);
	return NULL;
}

static void add_part(struct part *sum, const struct part *part)
{
	sum->count += part->count;
	sum->bytes += part->bytes;
}

static void add_log(struct log *sum, const struct log *log)
{
	for (int i = 0; i < MEMORIES; i++) {
		/* Memory of a pool is ordinary device memory. */
		struct memory_log *to = &sum->memory[i == POOL ? DEVICE : i];

		add_part(&to->allocations, &log->memory[i].allocations);
		add_part(&to->frees, &log->memory[i].frees);
	}
	for (int i = 0; i < DIRECTIONS; i++) {
		add_part(&sum->waiting[i], &log->waiting[i]);
		add_part(&sum->asynchronous[i], &log->asynchronous[i]);
		add_part(&sum->pinned[i], &log->pinned[i]);
		add_part(&sum->pageable[i], &log->pageable[i]);
	}
	sum->launches += log->launches;
	sum->failed_launches += log->failed_launches;
	sum->failed_allocations += log->failed_allocations;
	sum->foreign_frees += log->foreign_frees;
}

static void print_parts(FILE *stream, const char *name, const struct part *parts)
{
	static const char *const directions[] = {"H2H", "H2D", "D2H", "D2D"};

	fprintf(stream, ",\"%s\":{", name);
	for (int i = 0; i < DIRECTIONS; i++)
		fprintf(stream, "%s\"%s\":[%lu,%lu]", i ? "," : "", directions[i], parts[i].count,
			parts[i].bytes);
	fprintf(stream, "}");
}

static void print_log(const struct log *log)
{
	static const char *const memories[] = {"device", "host", "managed"};
	char line[4096];
	FILE *stream = fmemopen(line, sizeof(line), "w");

	fprintf(stream, "{\"pid\":%d,\"memory\":{", (int)getpid());
	for (int i = 0; i < POOL; i++) {
		const struct part *allocations = &log->memory[i].allocations;
		const struct part *frees = &log->memory[i].frees;

		fprintf(stream,
			"%s\"%s\":{\"allocations\":%lu,\"allocated_bytes\":%lu,\"frees\":%lu,"
			"\"live\":%lu,\"live_bytes\":%lu}",
			i ? "," : "", memories[i], allocations->count, allocations->bytes,
			frees->count, allocations->count - frees->count,
			allocations->bytes - frees->bytes);
	}
	fprintf(stream, "}");
	print_parts(stream, "waiting", log->waiting);
	print_parts(stream, "asynchronous", log->asynchronous);
	print_parts(stream, "pinned", log->pinned);
	print_parts(stream, "pageable", log->pageable);
	fprintf(stream,
		",\"launches\":%lu,\"failed_launches\":%lu,\"failed_allocations\":%lu,"
		"\"foreign_frees\":%lu}\n",
		log->launches, log->failed_launches, log->failed_allocations, log->foreign_frees);
	fclose(stream);
	/* With one write, so that the lines of processes do not mix. */
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		exit(1);
}

static void run(long operations, long threads, long process)
{
	struct worker *workers = (struct worker *)calloc((size_t)threads, sizeof(*workers));
	struct log log = {};

	for (long i = 0; i < threads; i++) {
		workers[i].operations = operations;
		workers[i].random =
			0x9e3779b97f4a7c15ull * (unsigned long long)(process * 1000 + i + 1);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			exit(1);
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		add_log(&log, &workers[i].log);
	}
	print_log(&log);
}

int main(int argc, char **argv)
{
	long operations = argc > 1 ? atol(argv[1]) : 500;
	long threads = argc > 2 ? atol(argv[2]) : 8;
	long processes = argc > 3 ? atol(argv[3]) : 4;
	int status, failed = 0;

	/* CUDA does not outlive a fork: the processes come first. */
	for (long i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (!child) {
			run(operations, threads, i);
			exit(0);
		}
	}
	for (long i = 0; i < processes; i++)
		if (wait(&status) < 0 || status)
			failed = 1;
	return failed;
}
