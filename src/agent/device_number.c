/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The number of the GPU that executes patched code. The text of a library is the same for all GPUs,
 * so that the number is in a variable, of which each context has its own. It is 0 until something
 * else is written: in contexts of the first GPU nothing is.
 *
 * It is written by a thread that is going to launch work in the context, which exists at least
 * until then: other contexts may end at any time, or may have to wait for their kernels until they
 * can load a library. No lock is held while the driver is called: a library that is written to has
 * a user, and is unloaded when it has none.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/functions.h"
#include "agent/own_call.h"

enum {
	CU_STREAM_NON_BLOCKING = 1,
	LAST_SPECIAL_STREAM = 2, /* CU_STREAM_PER_THREAD; less are the default stream's */
	MAX_LIBRARIES = 1024,
	MAX_CONTEXTS = 64, /* that are remembered; of others, each thread writes again */
};

struct numbered_library {
	void *handle; /* NULL: unused */
	uint64_t serial;
	unsigned users;
	char symbol[GT_AGENT_SYMBOL];
};

/* A context in which the libraries up to a serial number have their number. */
struct numbered_context {
	void *handle; /* NULL: unused */
	uint64_t serial;
	uint64_t ends; /* of contexts, before it was written */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct numbered_library items[MAX_LIBRARIES];
	atomic_uint count; /* used or not, at the start of `items` */
	struct numbered_context contexts[MAX_CONTEXTS];
	atomic_uint_fast64_t serial; /* of the last library */
	atomic_uint_fast64_t ends;   /* of contexts */
} libraries = {.lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};

/* A child must not execute CUDA code after fork. */
void gt_agent_numbers_forked(void)
{
	pthread_mutex_init(&libraries.lock, NULL);
	pthread_cond_init(&libraries.released, NULL);
	atomic_store(&libraries.count, 0);
	memset(libraries.contexts, 0, sizeof(libraries.contexts));
}

/* ---- writing --------------------------------------------------------------------------- */

static bool can_write(void)
{
	return gt_driver.cuCtxGetDevice && gt_driver.cuMemcpyHtoDAsync_v2 &&
	       gt_driver.cuStreamCreate && gt_driver.cuStreamSynchronize &&
	       gt_driver.cuStreamDestroy_v2;
}

static void *current_context(void)
{
	void *context = NULL;

	return !gt_driver.cuCtxGetCurrent || OWN1(cuCtxGetCurrent, &context) ? NULL : context;
}

/* The number of the GPU of the current context. Negative: unknown. */
static int current_device(void)
{
	int device = -1;

	return !gt_driver.cuCtxGetDevice || OWN1(cuCtxGetDevice, &device) ? -1 : device;
}

/* In a stream that does not wait for kernels of the program. */
static bool write_word(uint64_t address, uint64_t word)
{
	void *stream = NULL;
	bool is_written;

	if (!can_write() || OWN2(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING))
		return false;
	is_written = !OWN4(cuMemcpyHtoDAsync_v2, address, &word, sizeof(word), stream) &&
		     !OWN1(cuStreamSynchronize, stream);
	OWN1(cuStreamDestroy_v2, stream);
	return is_written;
}

/* The variable in the current context. Where no kernel reads it, linkers remove it. */
static CUresult find_variable(enum gt_agent_container kind, void *handle, const char *symbol,
			      uint64_t *ret_address, size_t *ret_size)
{
	if (kind == GT_AGENT_LIBRARY && gt_driver.cuLibraryGetGlobal)
		return OWN4(cuLibraryGetGlobal, ret_address, ret_size, handle, symbol);
	if (kind == GT_AGENT_MODULE && gt_driver.cuModuleGetGlobal_v2)
		return OWN4(cuModuleGetGlobal_v2, ret_address, ret_size, handle, symbol);
	return -1;
}

/*
 * Write the number of the current context's GPU. A library that cannot be loaded there is not
 * executed there.
 */
static bool write_number(enum gt_agent_container kind, void *handle, const char *symbol)
{
	uint64_t address = 0;
	int device = current_device();
	size_t size = 0;
	CUresult error;

	if (device <= 0)
		return !device;
	error = find_variable(kind, handle, symbol, &address, &size);
	if (error)
		return kind == GT_AGENT_LIBRARY || error == CUDA_ERROR_NOT_FOUND;
	return size == sizeof(uint64_t) && write_word(address, (uint64_t)device);
}

/* ---- libraries ------------------------------------------------------------------------- */

/* False: there are too many. */
static bool add_library(void *handle, const char *symbol)
{
	unsigned count, at = 0;

	pthread_mutex_lock(&libraries.lock);
	count = atomic_load(&libraries.count);
	while (at < count && libraries.items[at].handle)
		at++;
	if (at < MAX_LIBRARIES) {
		libraries.items[at] = (struct numbered_library){
			.handle = handle,
			.serial = atomic_load(&libraries.serial) + 1,
		};
		memcpy(libraries.items[at].symbol, symbol, strlen(symbol) + 1);
		if (at == count)
			atomic_store(&libraries.count, count + 1);
		atomic_fetch_add(&libraries.serial, 1);
	}
	pthread_mutex_unlock(&libraries.lock);
	return at < MAX_LIBRARIES;
}

void gt_agent_forget_number(const void *library)
{
	int cancel;

	if (!atomic_load(&libraries.count))
		return;
	/* Whoever is cancelled while it waits would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&libraries.lock);
	for (unsigned i = 0; i < atomic_load(&libraries.count); i++) {
		struct numbered_library *item = &libraries.items[i];

		if (item->handle != library)
			continue;
		while (item->users)
			pthread_cond_wait(&libraries.released, &libraries.lock);
		item->handle = NULL;
	}
	pthread_mutex_unlock(&libraries.lock);
	pthread_setcancelstate(cancel, NULL);
}

/* Write to a library that is newer than a serial number, unless it is being unloaded. */
static bool write_to_library(struct numbered_library *item, uint64_t serial)
{
	bool is_written;
	void *handle;

	pthread_mutex_lock(&libraries.lock);
	handle = item->serial > serial ? item->handle : NULL;
	item->users += handle != NULL;
	pthread_mutex_unlock(&libraries.lock);
	if (!handle)
		return true;
	is_written = write_number(GT_AGENT_LIBRARY, handle, item->symbol);
	pthread_mutex_lock(&libraries.lock);
	item->users--;
	pthread_cond_broadcast(&libraries.released);
	pthread_mutex_unlock(&libraries.lock);
	return is_written;
}

bool gt_agent_number_device(enum gt_agent_container kind, void *handle, const char *symbol)
{
	void *context = current_context();

	if (kind == GT_AGENT_LIBRARY && (!can_write() || !add_library(handle, symbol)))
		return false;
	return !context || write_number(kind, handle, symbol);
}

/* ---- contexts -------------------------------------------------------------------------- */

static struct numbered_context *find_context_locked(const void *handle)
{
	for (unsigned i = 0; i < MAX_CONTEXTS; i++)
		if (libraries.contexts[i].handle == handle)
			return &libraries.contexts[i];
	return NULL;
}

/* The serial number up to which libraries have their number in a context. */
static uint64_t find_serial(const void *context)
{
	const struct numbered_context *found;
	uint64_t serial;

	pthread_mutex_lock(&libraries.lock);
	found = find_context_locked(context);
	serial = found ? found->serial : 0;
	pthread_mutex_unlock(&libraries.lock);
	return serial;
}

/* Unless the context may have ended meanwhile, and there is another one. */
static void keep_context(const struct numbered_context *context)
{
	struct numbered_context *kept;

	pthread_mutex_lock(&libraries.lock);
	kept = find_context_locked(context->handle);
	if (!kept)
		kept = find_context_locked(NULL);
	if (kept && context->ends == atomic_load(&libraries.ends) &&
	    (!kept->handle || kept->serial < context->serial))
		*kept = *context;
	pthread_mutex_unlock(&libraries.lock);
}

void gt_agent_forget_context_number(const void *context)
{
	struct numbered_context *kept;

	pthread_mutex_lock(&libraries.lock);
	atomic_fetch_add(&libraries.ends, 1);
	kept = find_context_locked(context);
	if (kept)
		*kept = (struct numbered_context){0};
	pthread_mutex_unlock(&libraries.lock);
}

/* Write to the libraries that are new in the current context. */
static bool write_to_libraries(const struct numbered_context *context)
{
	uint64_t serial = find_serial(context->handle);
	unsigned count = atomic_load(&libraries.count);
	bool is_written = true;

	for (unsigned i = 0; serial < context->serial && i < count; i++)
		is_written &= write_to_library(&libraries.items[i], serial);
	if (is_written)
		keep_context(context);
	return is_written;
}

/* False: some could not be written, and the next launch tries again. */
static bool number_context(const struct numbered_context *context)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	bool is_written = false;
	void *popped;

	if (context->handle == current_context()) {
		is_written = write_to_libraries(context);
	} else if (gt_driver.cuCtxPushCurrent_v2 && gt_driver.cuCtxPopCurrent_v2 &&
		   !OWN1(cuCtxPushCurrent_v2, context->handle)) {
		is_written = write_to_libraries(context);
		OWN1(cuCtxPopCurrent_v2, &popped);
	}
	gt_agent_restore_caller(&caller);
	return is_written;
}

/* The context of a stream, or the current one. */
static void *context_of(void *stream)
{
	void *context = NULL;

	if ((uintptr_t)stream > LAST_SPECIAL_STREAM && gt_driver.cuStreamGetCtx &&
	    !OWN2(cuStreamGetCtx, stream, &context))
		return context;
	return current_context();
}

void gt_agent_number_launch(void *stream)
{
	static __thread struct numbered_context last; /* of this thread */
	struct numbered_context now = {0};

	if (!atomic_load(&libraries.count))
		return;
	now.ends = atomic_load(&libraries.ends);
	now.serial = atomic_load(&libraries.serial);
	now.handle = context_of(stream);
	if (!now.handle || !memcmp(&now, &last, sizeof(now)))
		return;
	if (number_context(&now))
		last = now;
}
