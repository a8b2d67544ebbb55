/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that do what an agent in the process could disturb, or be disturbed by. The argument
 * names one of them (the list at the end). Each loads modules, runs their kernel and prints "right"
 * where the results are right and the process is as it left it.
 *
 * With -DOWN_ALLOCATOR the program has an allocator of its own, which calls the loader.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	THREADS = 64,
	LOADERS = 8,
};

/* Each thread adds 1 to the word. The second kernel waits until the host says so. */
static const char text[] =
	".version 7.8\n.target sm_75\n.address_size 64\n"
	".visible .entry count(.param .u64 word)\n{\n\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [word];\n\tred.global.add.u32 [%rd1], 1;\n\tret;\n}\n"
	".visible .entry wait(.param .u64 word)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\t.reg .pred %p<2>;\n\tld.param.u64 %rd1, [word];\nagain:\n"
	"\tld.volatile.global.u32 %r1, [%rd1];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n"
	"\tred.global.add.u32 [%rd1], 1;\n\tret;\n}\n";

static char **arguments;

static bool fails(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return false;
}

/* ---- CUDA ------------------------------------------------------------------------------ */

static bool start_driver(void)
{
	CUcontext context;

	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context);
}

static bool run_kernel(CUmodule module)
{
	unsigned value = 0;
	CUdeviceptr word;
	CUfunction kernel;
	void *parameters[] = {&word};

	return !cuMemAlloc(&word, sizeof(value)) && !cuMemsetD32(word, 0, 1) &&
	       !cuModuleGetFunction(&kernel, module, "count") &&
	       !cuLaunchKernel(kernel, 2, 1, 1, THREADS / 2, 1, 1, 0, NULL, parameters, NULL) &&
	       !cuMemcpyDtoH(&value, word, sizeof(value)) && !cuMemFree(word) && value == THREADS;
}

static bool load_and_run(void)
{
	CUmodule module;
	CUresult error = cuModuleLoadData(&module, text);

	if (error || !run_kernel(module)) {
		printf("cuModuleLoadData: %d\n", (int)error);
		return false;
	}
	return !cuModuleUnload(module);
}

static bool plain(void)
{
	return start_driver() && load_and_run();
}

/* ---- processes ------------------------------------------------------------------------- */

static bool succeeds(pid_t child)
{
	int status = -1;

	return waitpid(child, &status, 0) == child && !status;
}

static bool fork_before(void)
{
	pid_t child = fork();

	if (!child)
		_exit(!plain());
	return succeeds(child) && plain();
}

static bool fork_after(void)
{
	pid_t child;

	if (!plain())
		return false;
	child = fork();
	if (!child)
		_exit(0);
	return succeeds(child) && load_and_run();
}

static void execute_plain(void)
{
	execl(arguments[0], arguments[0], "plain", (char *)NULL);
	_exit(1);
}

static bool fork_and_exec(void)
{
	pid_t child = fork();

	if (!child)
		execute_plain();
	return succeeds(child);
}

static bool vfork_and_exec(void)
{
	pid_t child;

	if (!plain())
		return false;
	child = vfork();
	if (!child)
		execute_plain();
	return succeeds(child);
}

static bool exec_self(void)
{
	execute_plain();
	return false;
}

static bool exec_with_empty_environment(void)
{
	char *words[] = {arguments[0], (char[]){"plain"}, NULL}, *environment[] = {NULL};

	execve(arguments[0], words, environment);
	return false;
}

static bool exec_with_other_preload(void)
{
	return !setenv("LD_PRELOAD", "libm.so.6", 1) && exec_self();
}

/* ---- the environment ------------------------------------------------------------------- */

static bool clear_environment(void)
{
	return !clearenv() && plain();
}

static atomic_bool stop_changing;

/* The environment is allocated and freed again and again. */
static void *change_environment(void *context)
{
	char name[] = "NAME-00";

	(void)context;
	while (!stop_changing) {
		for (int i = 0; i < 100; i++) {
			name[5] = (char)('0' + i / 10);
			name[6] = (char)('0' + i % 10);
			setenv(name, "value", 1);
		}
		clearenv();
	}
	return NULL;
}

static bool change_environment_meanwhile(void)
{
	pthread_t thread;
	bool right = start_driver() && !pthread_create(&thread, NULL, change_environment, NULL);

	for (int i = 0; i < 20 && right; i++)
		right = load_and_run();
	stop_changing = true;
	return right && !pthread_join(thread, NULL);
}

/* ---- threads --------------------------------------------------------------------------- */

static void *load_in_thread(void *context)
{
	CUcontext current;

	(void)context;
	if (cuDevicePrimaryCtxRetain(&current, 0) || cuCtxSetCurrent(current))
		return (void *)1;
	return (void *)(uintptr_t)!load_and_run();
}

static bool load_in_threads(void)
{
	pthread_t threads[LOADERS];
	bool right = start_driver();
	void *result;

	for (int i = 0; i < LOADERS; i++)
		right &= !pthread_create(&threads[i], NULL, load_in_thread, NULL);
	for (int i = 0; i < LOADERS; i++)
		right &= !pthread_join(threads[i], &result) && !result;
	return right;
}

static bool load_on_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *result = (void *)1;

	return start_driver() && !pthread_attr_init(&attributes) &&
	       !pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) &&
	       !pthread_create(&thread, &attributes, load_in_thread, NULL) &&
	       !pthread_join(thread, &result) && !result;
}

static atomic_bool has_loaded;

static void *load_while_cancelled(void *context)
{
	CUmodule module;
	CUcontext current;

	(void)context;
	if (cuDevicePrimaryCtxRetain(&current, 0) || cuCtxSetCurrent(current))
		return NULL;
	pthread_cancel(pthread_self());
	has_loaded = !cuModuleLoadData(&module, text);
	pthread_testcancel();
	return NULL;
}

/* The load is no cancellation point; what follows is one. */
static bool cancel_thread(void)
{
	pthread_t thread;
	void *result = NULL;

	return start_driver() && !pthread_create(&thread, NULL, load_while_cancelled, NULL) &&
	       !pthread_join(thread, &result) && result == PTHREAD_CANCELED && has_loaded &&
	       load_and_run();
}

/* ---- signals --------------------------------------------------------------------------- */

static atomic_int signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

/* Handlers without SA_RESTART for all signals, and a mask. */
static void set_handlers(sigset_t *mask)
{
	const struct sigaction action = {.sa_handler = count_signal};

	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			sigaction(number, &action, NULL);
	sigemptyset(mask);
	sigaddset(mask, SIGUSR1);
	sigaddset(mask, SIGCHLD);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static bool handlers_are_as_set(const sigset_t *mask)
{
	struct sigaction action;
	sigset_t now;

	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP && !sigaction(number, NULL, &action) &&
		    (action.sa_handler != count_signal || action.sa_flags & SA_RESTART))
			return false;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&now, number) != sigismember(mask, number))
			return false;
	return true;
}

static bool receive_signals(void)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
	sigset_t mask;
	bool right;

	if (!start_driver())
		return false;
	set_handlers(&mask);
	setitimer(ITIMER_REAL, &often, NULL);
	right = load_and_run();
	right = load_and_run() && right;
	setitimer(ITIMER_REAL, &never, NULL);
	return right && handlers_are_as_set(&mask);
}

static bool keep_errno(void)
{
	CUmodule module;

	if (!start_driver())
		return false;
	errno = EILSEQ;
	if (cuModuleLoadData(&module, text) || errno != EILSEQ)
		return fails("after a load");
	errno = EILSEQ;
	return cuModuleLoad(&module, "/nonexistent") && errno == ENOENT && run_kernel(module);
}

/* ---- descriptors ----------------------------------------------------------------------- */

static bool close_standard_streams(void)
{
	int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 700);
	bool right;

	if (!start_driver())
		return false;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	right = load_and_run();
	for (int fd = 0; fd < 3; fd++)
		right &= fcntl(fd, F_GETFD) < 0;
	dup2(output, STDOUT_FILENO);
	return right;
}

static bool close_all_descriptors(void)
{
	if (!start_driver())
		return false;
	for (int i = 0; i < 3; i++) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		if (!load_and_run())
			return false;
	}
	return true;
}

static atomic_bool stop_closing;

/* A daemon's habit, at the worst time. */
static void *close_descriptors(void *context)
{
	(void)context;
	while (!stop_closing)
		syscall(SYS_close_range, 3, ~0U, 0);
	return NULL;
}

static bool close_meanwhile(void)
{
	pthread_t thread;
	bool right = start_driver() && !pthread_create(&thread, NULL, close_descriptors, NULL);

	for (int i = 0; i < 20 && right; i++)
		right = load_and_run();
	stop_closing = true;
	return right && !pthread_join(thread, NULL);
}

static bool open_no_more(void)
{
	int last;

	if (!start_driver())
		return false;
	last = dup(STDOUT_FILENO);
	close(last);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)last, (rlim_t)last});
	return load_and_run();
}

/* ---- sandboxes ------------------------------------------------------------------------- */

static bool forbid(unsigned call, unsigned action)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static bool forbid_sockets(void)
{
	return start_driver() && forbid(SYS_socket, SECCOMP_RET_ERRNO | EPERM) && load_and_run();
}

static bool die_of_sockets(void)
{
	return start_driver() && forbid(SYS_socket, SECCOMP_RET_KILL_PROCESS) && load_and_run();
}

static bool die_of_sockets_after_exec(void)
{
	return forbid(SYS_socket, SECCOMP_RET_KILL_PROCESS) && exec_self();
}

static bool change_root(void)
{
	return start_driver() && (!chroot("/proc/self/fdinfo") || fails("chroot")) &&
	       load_and_run();
}

static bool leave_network(void)
{
	return (!unshare(CLONE_NEWNET) || fails("unshare")) && plain();
}

/* ---- the collector, which is the parent ------------------------------------------------ */

static bool kill_collector_before(void)
{
	if (!start_driver())
		return false;
	kill(getppid(), SIGKILL);
	return load_and_run();
}

static void *kill_stopped_collector(void *context)
{
	usleep(200 * 1000);
	kill(*(pid_t *)context, SIGKILL);
	return NULL;
}

static bool kill_collector_during_exchange(void)
{
	pid_t collector = getppid();
	pthread_t thread;

	if (!start_driver() || kill(collector, SIGSTOP) ||
	    pthread_create(&thread, NULL, kill_stopped_collector, &collector))
		return false;
	return load_and_run() && !pthread_join(thread, NULL) && load_and_run();
}

static bool kill_collector_while_kernels_run(void)
{
	unsigned value = 1;
	CUdeviceptr word;
	CUfunction kernel;
	CUmodule module;
	CUstream stream;
	volatile unsigned *host;
	void *memory, *parameters[] = {&word};

	if (!start_driver() || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
	    cuMemHostAlloc(&memory, sizeof(value), CU_MEMHOSTALLOC_DEVICEMAP) ||
	    cuMemHostGetDevicePointer(&word, memory, 0))
		return false;
	host = memory;
	*host = 0;
	if (cuModuleLoadData(&module, text) || cuModuleGetFunction(&kernel, module, "wait") ||
	    cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL))
		return false;
	kill(getppid(), SIGKILL);
	usleep(50 * 1000);
	*host = 1;
	return !cuStreamSynchronize(stream) && *host == 33 && load_and_run();
}

/* The deadline is in the environment. */
static bool wait_for_slow_collector(void)
{
	pid_t collector = getppid();
	bool right = start_driver() && !kill(collector, SIGSTOP) && load_and_run();

	kill(collector, SIGCONT);
	return right && load_and_run();
}

/* ---- libraries ------------------------------------------------------------------------- */

/* As a plugin opens and closes the driver. */
static bool reopen_driver(void)
{
	for (int i = 0; i < 3; i++) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		CUresult (*load)(CUmodule *, const void *) =
			driver ? (CUresult(*)(CUmodule *, const void *))dlsym(driver,
									      "cuModuleLoadData")
			       : NULL;
		CUmodule module;

		if (!load || !start_driver() || load(&module, text) || !run_kernel(module) ||
		    dlclose(driver))
			return false;
	}
	return true;
}

#ifdef OWN_ALLOCATOR
/*
 * An allocator as profilers and sanitizers have: it looks its functions up by the loader when it is
 * called first, opens a library at times, and never reuses memory.
 */
static _Alignas(64) char heap[1 << 28];
static atomic_size_t heap_used;
static _Thread_local bool in_allocator;
static atomic_int allocations;

static void call_loader(void)
{
	void *library;

	if (in_allocator)
		return;
	in_allocator = true;
	if (!dlsym(RTLD_NEXT, "malloc") || !dlsym(RTLD_DEFAULT, "cuModuleLoadData"))
		abort();
	if (!(allocations++ % 64)) {
		library = dlopen("libm.so.6", RTLD_NOW);
		if (library)
			dlclose(library);
	}
	in_allocator = false;
}

void *malloc(size_t size)
{
	size_t at;

	call_loader();
	size = (size + 31) & ~(size_t)15;
	at = atomic_fetch_add(&heap_used, size);
	if (at + size > sizeof(heap))
		return NULL;
	*(size_t *)(heap + at) = size - 16;
	return heap + at + 16;
}

void free(void *memory)
{
	(void)memory;
}

void *calloc(size_t count, size_t size)
{
	return size && count > SIZE_MAX / size ? NULL : malloc(count * size);
}

void *realloc(void *memory, size_t size)
{
	void *moved = malloc(size);
	size_t had = memory ? *(size_t *)((char *)memory - 16) : 0;

	if (moved && memory)
		memcpy(moved, memory, had < size ? had : size);
	return moved;
}

void *memalign(size_t alignment, size_t size)
{
	char *memory = malloc(size + alignment);
	uintptr_t at = ((uintptr_t)memory + alignment) & ~(uintptr_t)(alignment - 1);

	if (!memory)
		return NULL;
	*(size_t *)(at - 16) = size;
	return (void *)at;
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}
#endif

static const struct {
	const char *name;
	bool (*run)(void);
} programs[] = {
	{"plain", plain},
	{"fork-before", fork_before},
	{"fork-after", fork_after},
	{"fork-exec", fork_and_exec},
	{"vfork-exec", vfork_and_exec},
	{"exec", exec_self},
	{"exec-empty", exec_with_empty_environment},
	{"exec-preload", exec_with_other_preload},
	{"clear-environment", clear_environment},
	{"change-environment", change_environment_meanwhile},
	{"threads", load_in_threads},
	{"small-stack", load_on_small_stack},
	{"cancel", cancel_thread},
	{"signals", receive_signals},
	{"errno", keep_errno},
	{"close-standard", close_standard_streams},
	{"close-all", close_all_descriptors},
	{"close-meanwhile", close_meanwhile},
	{"no-more-files", open_no_more},
	{"no-sockets", forbid_sockets},
	{"deadly-sockets", die_of_sockets},
	{"deadly-sockets-exec", die_of_sockets_after_exec},
	{"chroot", change_root},
	{"network", leave_network},
	{"reopen", reopen_driver},
	{"kill-before", kill_collector_before},
	{"kill-during", kill_collector_during_exchange},
	{"kill-while-running", kill_collector_while_kernels_run},
	{"slow", wait_for_slow_collector},
};

int main(int count, char **words)
{
	arguments = words;
	for (size_t i = 0; count > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(programs[i].name, words[1])) {
			bool right = programs[i].run();

			puts(right ? "right" : "wrong");
			return !right;
		}
	return 2;
}
