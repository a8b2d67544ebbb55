/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The number of the GPU that executes patched code. The text of a library is the same for all GPUs,
 * so that the number is in a variable, of which each context has its own. It is 0 until something
 * else is written: in contexts of the first GPU nothing is.
 *
 * It is written when a library is loaded, in the current context, and in others when one of its
 * kernels is going to be launched there: other contexts may end at any time, or may have to wait
 * for their kernels before they can load a library. No lock is held while the driver is called: a
 * library that is written to has a user, and is unloaded when it has none.
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
	MAX_KERNELS = 1 << 15,
	MAX_CONTEXTS = 16, /* that are remembered of a library; others are written to again */
};

struct numbered_library {
	void *handle; /* NULL: unused */
	unsigned users;
	unsigned next;                /* in `contexts` */
	void *contexts[MAX_CONTEXTS]; /* where it has its number */
	char symbol[GT_AGENT_SYMBOL];
};

struct numbered_kernel {
	const void *handle;
	struct numbered_library *library;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct numbered_library items[MAX_LIBRARIES];
	atomic_uint count;                           /* used or not, at the start of `items` */
	struct numbered_kernel kernels[MAX_KERNELS]; /* of these, by handle */
	unsigned kernel_count;
	atomic_uint_fast64_t changes; /* libraries that came, or ended, and contexts that ended */
} libraries = {.lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};

/* A child must not execute CUDA code after fork. */
void gt_agent_numbers_forked(void)
{
	pthread_mutex_init(&libraries.lock, NULL);
	pthread_cond_init(&libraries.released, NULL);
	atomic_store(&libraries.count, 0);
	libraries.kernel_count = 0;
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

/* The caller holds the lock. NULL: it has no number. */
static struct numbered_library *find_library_locked(const void *handle)
{
	unsigned count = atomic_load(&libraries.count);

	for (unsigned i = 0; i < count; i++)
		if (libraries.items[i].handle == handle)
			return &libraries.items[i];
	return NULL;
}

/* False: there are too many. */
static bool add_library(void *handle, const char *symbol)
{
	struct numbered_library *item;
	unsigned count;

	pthread_mutex_lock(&libraries.lock);
	item = find_library_locked(NULL);
	count = atomic_load(&libraries.count);
	if (!item && count < MAX_LIBRARIES) {
		item = &libraries.items[count];
		atomic_store(&libraries.count, count + 1);
	}
	if (item) {
		atomic_fetch_add(&libraries.changes, 1);
		*item = (struct numbered_library){.handle = handle};
		memcpy(item->symbol, symbol, strlen(symbol) + 1);
	}
	pthread_mutex_unlock(&libraries.lock);
	return item;
}

static void forget_kernels_locked(const struct numbered_library *library)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < libraries.kernel_count; i++)
		if (libraries.kernels[i].library != library)
			libraries.kernels[kept++] = libraries.kernels[i];
	libraries.kernel_count = kept;
}

void gt_agent_forget_number(const void *handle)
{
	struct numbered_library *library;
	int cancel;

	if (!atomic_load(&libraries.count) || !handle)
		return;
	/* Whoever is cancelled while it waits would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&libraries.lock);
	library = find_library_locked(handle);
	if (library) {
		atomic_fetch_add(&libraries.changes, 1);
		forget_kernels_locked(library);
		while (library->users)
			pthread_cond_wait(&libraries.released, &libraries.lock);
		library->handle = NULL;
	}
	pthread_mutex_unlock(&libraries.lock);
	pthread_setcancelstate(cancel, NULL);
}

/* ---- kernels --------------------------------------------------------------------------- */

/* Where a kernel is, or belongs, in the table. */
static unsigned find_kernel_locked(const void *handle)
{
	unsigned low = 0, high = libraries.kernel_count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if ((uintptr_t)libraries.kernels[middle].handle < (uintptr_t)handle)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct numbered_library *library_of_locked(const void *kernel)
{
	unsigned at = find_kernel_locked(kernel);

	return at < libraries.kernel_count && libraries.kernels[at].handle == kernel
		       ? libraries.kernels[at].library
		       : NULL;
}

void gt_agent_number_kernel(const void *kernel, const void *handle)
{
	struct numbered_kernel *kernels = libraries.kernels;
	struct numbered_library *library;
	unsigned at;

	if (!atomic_load(&libraries.count) || !kernel || !handle)
		return;
	pthread_mutex_lock(&libraries.lock);
	library = find_library_locked(handle);
	at = find_kernel_locked(kernel);
	if (library && library_of_locked(kernel)) {
		kernels[at].library = library;
	} else if (library && libraries.kernel_count < MAX_KERNELS) {
		memmove(&kernels[at + 1], &kernels[at],
			(libraries.kernel_count++ - at) * sizeof(*kernels));
		kernels[at] = (struct numbered_kernel){kernel, library};
	}
	pthread_mutex_unlock(&libraries.lock);
}

/* ---- contexts -------------------------------------------------------------------------- */

static bool has_number_locked(const struct numbered_library *library, const void *context)
{
	for (unsigned i = 0; i < MAX_CONTEXTS; i++)
		if (library->contexts[i] == context)
			return true;
	return false;
}

/* changes: before it was written. If a context has ended since, it may have been this one. */
static void keep_context_locked(struct numbered_library *library, void *context, uint64_t changes)
{
	if (changes == atomic_load(&libraries.changes) && !has_number_locked(library, context))
		library->contexts[library->next++ % MAX_CONTEXTS] = context;
}

void gt_agent_forget_context_number(const void *context)
{
	unsigned count;

	pthread_mutex_lock(&libraries.lock);
	atomic_fetch_add(&libraries.changes, 1);
	count = atomic_load(&libraries.count);
	for (unsigned i = 0; i < count * MAX_CONTEXTS; i++) {
		void **kept = &libraries.items[i / MAX_CONTEXTS].contexts[i % MAX_CONTEXTS];

		if (*kept == context)
			*kept = NULL;
	}
	pthread_mutex_unlock(&libraries.lock);
}

/* Write in a context, which may not be the current one. */
static bool write_in_context(const struct numbered_library *library, void *context)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	bool is_written = false;
	void *popped;

	if (context == current_context()) {
		is_written = write_number(GT_AGENT_LIBRARY, library->handle, library->symbol);
	} else if (gt_driver.cuCtxPushCurrent_v2 && gt_driver.cuCtxPopCurrent_v2 &&
		   !OWN1(cuCtxPushCurrent_v2, context)) {
		is_written = write_number(GT_AGENT_LIBRARY, library->handle, library->symbol);
		OWN1(cuCtxPopCurrent_v2, &popped);
	}
	gt_agent_restore_caller(&caller);
	return is_written;
}

/* The caller holds the lock, which is released. False: it could not be written. */
static bool number_library_locked(struct numbered_library *library, void *context)
{
	uint64_t changes = atomic_load(&libraries.changes);
	bool is_written = !library || has_number_locked(library, context);

	if (library && !is_written) {
		library->users++;
		pthread_mutex_unlock(&libraries.lock);
		is_written = write_in_context(library, context);
		pthread_mutex_lock(&libraries.lock);
		if (is_written)
			keep_context_locked(library, context, changes);
		library->users--;
		pthread_cond_broadcast(&libraries.released);
	}
	pthread_mutex_unlock(&libraries.lock);
	return is_written;
}

static bool number_library(const void *handle, void *context)
{
	pthread_mutex_lock(&libraries.lock);
	return number_library_locked(find_library_locked(handle), context);
}

bool gt_agent_number_device(enum gt_agent_container kind, void *handle, const char *symbol)
{
	void *context = current_context();

	if (kind == GT_AGENT_MODULE)
		return write_number(kind, handle, symbol);
	if (!can_write() || !add_library(handle, symbol))
		return false;
	return !context || number_library(handle, context);
}

void gt_agent_number_library(const void *library)
{
	void *context = atomic_load(&libraries.count) ? current_context() : NULL;

	if (context && library)
		number_library(library, context);
}

/* ---- launches -------------------------------------------------------------------------- */

/* The context of a stream, or the current one. */
static void *context_of(void *stream)
{
	void *context = NULL;

	if ((uintptr_t)stream > LAST_SPECIAL_STREAM && gt_driver.cuStreamGetCtx &&
	    !OWN2(cuStreamGetCtx, stream, &context))
		return context;
	return current_context();
}

void gt_agent_number_launch(const void *kernel, void *stream)
{
	static __thread struct {
		const void *kernel, *context;
		uint64_t changes;
	} last; /* of this thread */
	void *context;
	uint64_t changes;

	if (!atomic_load(&libraries.count))
		return;
	changes = atomic_load(&libraries.changes);
	context = context_of(stream);
	if (!context ||
	    (kernel == last.kernel && context == last.context && changes == last.changes))
		return;
	pthread_mutex_lock(&libraries.lock);
	if (!number_library_locked(library_of_locked(kernel), context))
		return;
	last.kernel = kernel;
	last.context = context;
	last.changes = changes;
}
