/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/device.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/clock.h"
#include "device/condition.h"
#include "device/errors.h"
#include "device/log.h"
#include "device/memory.h"
#include "device/stream.h"

struct sg_state sg_state = {.arena_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t lock;
	atomic_bool ready;  /* cuInit has been called and worked */
	atomic_bool forked; /* this is a forked child of a process that had called it */
	CUresult result;    /* of the first cuInit */
	bool tried;
	pthread_once_t key_once; /* threads call functions before cuInit, too */
	pthread_key_t thread_key;
	bool has_key;
} start = {.lock = PTHREAD_MUTEX_INITIALIZER, .key_once = PTHREAD_ONCE_INIT};

/* ---- threads --------------------------------------------------------------------------- */

static __thread struct sg_thread *this_thread;

static void end_thread(void *value)
{
	struct sg_thread *thread = value;

	this_thread = NULL;
	if (!atomic_load(&start.forked)) {
		gt_vec_each (own, &thread->streams) {
			if (sg_own_stream_lives(own))
				sg_stream_close(own->stream);
		}
	}
	gt_vec_free(&thread->streams);
	gt_vec_free(&thread->contexts);
	free(thread);
}

static void make_key(void)
{
	start.has_key = !pthread_key_create(&start.thread_key, end_thread);
}

struct sg_thread *sg_thread_self(void)
{
	if (!this_thread) {
		pthread_once(&start.key_once, make_key);
		this_thread = calloc(1, sizeof(*this_thread));
		if (this_thread && start.has_key)
			pthread_setspecific(start.thread_key, this_thread);
	}
	return this_thread;
}

/*
 * Block the signals that are meant for the program's threads, but not the synchronous ones, which a
 * host function may cause.
 */
static void block_signals(sigset_t *ret_before)
{
	static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
	sigset_t blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < gt_countof(own); i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, ret_before);
}

int sg_create_thread(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*run)(void *),
		     void *argument)
{
	sigset_t before;
	int error;

	block_signals(&before);
	error = pthread_create(ret_thread, attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

/* ---- the start ------------------------------------------------------------------------- */

static void in_child(void)
{
	if (atomic_load(&start.ready))
		atomic_store(&start.forked, true);
}

static void print_output(void *user, enum sg_output output, const char *text, size_t length)
{
	fwrite(text, 1, length, output == SG_OUTPUT_PRINT ? stdout : stderr);
}

/* A device's share of the arena is larger than its memory: see memory.c. */
static uint64_t share_size(const struct sg_config *config)
{
	uint64_t size = config->memory + config->memory / 8 + (UINT64_C(64) << 20);

	return (size + 0xffff) & ~UINT64_C(0xffff);
}

static int map_arena(struct gt_diag *diag)
{
	void *mapping;

	sg_state.arena_size = share_size(&sg_state.config) * sg_state.config.devices;
	sg_state.arena_fd = memfd_create("softgpu", MFD_CLOEXEC);
	if (sg_state.arena_fd < 0)
		return gt_diag(diag, -errno, "softgpu", "memory", "memfd_create failed");
	if (ftruncate(sg_state.arena_fd, (off_t)sg_state.arena_size))
		return gt_diag(diag, -errno, "softgpu", "memory", "cannot size the device memory");
	mapping = mmap(NULL, sg_state.arena_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE, sg_state.arena_fd, 0);
	if (mapping == MAP_FAILED)
		return gt_diag(diag, -errno, "softgpu", "memory",
			       "cannot map %llu bytes; make SOFTGPU_MEMORY smaller",
			       (unsigned long long)sg_state.arena_size);
	sg_state.arena = (uintptr_t)mapping;
	return 0;
}

static bool read_attribute(void *user, uint32_t device, uint32_t attribute, int32_t *ret_value)
{
	return !sg_device_attribute((CUdevice)device, (int)attribute, ret_value);
}

static const char *error_text(void *user, uint32_t error, bool is_name)
{
	const struct sg_error *found = sg_error_find((int)error);
	const char *text = !found ? NULL : is_name ? found->runtime_name : found->text;

	return text ? text : "unrecognized error code";
}

static int start_machine(struct gt_diag *diag)
{
	const struct sg_config *config = &sg_state.config;
	struct sg_machine_options options = {
		.workers = config->workers,
		.multiprocessors = config->multiprocessors,
		.arena_address = sg_state.arena,
		.arena_size = sg_state.arena_size,
		.timeout_ns = config->timeout_ns,
		.host = {.allocate = sg_memory_host_allocate,
			 .allocate_managed = sg_memory_host_allocate_managed,
			 .release = sg_memory_host_release,
			 .output = print_output,
			 .set_condition = sg_condition_set,
			 .devices = config->devices,
			 .attribute = read_attribute,
			 .error_text = error_text,
			 .clock = sg_clock_timer},
	};
	sigset_t before;
	int error;

	block_signals(&before);
	error = sg_machine_new(&options, &sg_state.machine, diag);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static CUresult start_once(struct gt_diag *diag)
{
	if (sg_config_read(&sg_state.config, diag))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_state.config.devices)
		return CUDA_ERROR_NO_DEVICE;
	pthread_once(&start.key_once, make_key);
	if (!start.has_key)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (sg_state.config.log && sg_log_open(sg_state.config.log))
		gt_diag(diag, -EINVAL, "softgpu", "SOFTGPU_LOG", "cannot open %s",
			sg_state.config.log);
	if (map_arena(diag))
		return CUDA_ERROR_OUT_OF_MEMORY;
	sg_clock_begin();
	if (start_machine(diag))
		return CUDA_ERROR_OPERATING_SYSTEM;
	for (uint32_t i = 0; i < sg_state.config.devices; i++) {
		sg_state.devices[i].ordinal = (int)i;
		sg_state.devices[i].arena_size = share_size(&sg_state.config);
		sg_state.devices[i].arena = sg_state.arena + i * sg_state.devices[i].arena_size;
	}
	pthread_atfork(NULL, NULL, in_child);
	return CUDA_SUCCESS;
}

CUresult sg_start(void)
{
	struct gt_diag diag = {0};
	CUresult result;

	if (atomic_load(&start.forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&start.lock);
	if (!start.tried) {
		start.result = start_once(&diag);
		start.tried = true;
		atomic_store(&start.ready, !start.result);
		/* CUDA has no error for it, and an invalid variable must be reported. */
		if (gt_diag_is_set(&diag))
			fprintf(stderr, "softgpu: %s: %s\n", diag.place, diag.text);
	}
	result = start.result;
	pthread_mutex_unlock(&start.lock);
	return result;
}

CUresult sg_check_started(void)
{
	if (!atomic_load(&start.ready) || atomic_load(&start.forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	return CUDA_SUCCESS;
}

CUresult sg_check(void)
{
	CUresult result = sg_check_started();

	if (!result && this_thread && this_thread->in_host_function)
		return CUDA_ERROR_NOT_PERMITTED;
	return result;
}

struct sg_device *sg_device_find(CUdevice ordinal)
{
	if (ordinal < 0 || (uint32_t)ordinal >= sg_state.config.devices)
		return NULL;
	return &sg_state.devices[ordinal];
}
