/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Side modules: where programs match some kernels of a module, patched copies of these kernels
 * alone are in a module or library beside the original one, and look-ups of them find the copies.
 * The program never sees the side module: what it asks for has the original's handle.
 *
 * Pairs of handles are known from the load to the unload of the original, or to the end of its
 * context. The driver may use the address of a handle again as soon as it has freed it, before the
 * pair is removed here. So pairs have numbers: a call that ends handles removes the pairs that were
 * there before it, and a load forgets what was known of the handle that the driver returned. No
 * lock is held while the driver is called.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/environment.h"
#include "agent/functions.h"
#include "agent/own_call.h"

/* The kernels that are in a side module, in memory of its own: see side_pair. */
struct side_kernels {
	unsigned users; /* pairs */
	uint32_t count;
	size_t size;         /* of the mapping */
	const char *names[]; /* sorted; after them the characters */
};

/* The program's allocator is not used: a hook may be called where it cannot be. */
struct side_pair {
	uint64_t number;
	enum gt_agent_container kind;
	void *original, *side;
	void *context;    /* of a module */
	uint64_t library; /* a module of a library: the number of that pair; else 0 */
	struct side_kernels *kernels;
	struct side_pair *next;
};

enum {
	MANY_PAIRS = 512, /* allocated together */
};

static struct {
	pthread_mutex_t lock;
	struct side_pair *pairs; /* newest first */
	struct side_pair *unused;
	uint64_t last; /* number */
	atomic_uint count;
} sides = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Their memory is lost: a child must not execute CUDA code after fork. */
void gt_agent_sides_forked(void)
{
	pthread_mutex_init(&sides.lock, NULL);
	sides.pairs = NULL;
	sides.unused = NULL;
	atomic_store(&sides.count, 0);
}

/* ---- the table ------------------------------------------------------------------------- */

static void *map_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static struct side_pair *take_pair_locked(void)
{
	struct side_pair *pair = sides.unused;

	if (!pair) {
		pair = map_memory(MANY_PAIRS * sizeof(*pair));
		for (unsigned i = 0; pair && i + 1 < MANY_PAIRS; i++)
			pair[i].next = &pair[i + 1];
	}
	sides.unused = pair ? pair->next : NULL;
	return pair;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static bool has_kernel(const struct side_kernels *kernels, const char *name)
{
	return bsearch(&name, kernels->names, kernels->count, sizeof(name), compare_names);
}

static struct side_kernels *copy_kernels(const struct gt_agent_names *names)
{
	size_t pointers = names->count * sizeof(const char *);
	size_t size = sizeof(struct side_kernels) + pointers + names->size;
	struct side_kernels *kernels = map_memory(size);
	char *at;

	if (!kernels)
		return NULL;
	kernels->users = 1;
	kernels->count = names->count;
	kernels->size = size;
	at = (char *)kernels->names + pointers;
	memcpy(at, names->data, names->size);
	for (uint32_t i = 0; i < names->count; i++, at += strlen(at) + 1)
		kernels->names[i] = at;
	return kernels;
}

static void release_kernels_locked(struct side_kernels *kernels)
{
	if (!--kernels->users)
		munmap(kernels, kernels->size);
}

static void remove_pair_locked(struct side_pair **link)
{
	struct side_pair *pair = *link;

	*link = pair->next;
	release_kernels_locked(pair->kernels);
	pair->next = sides.unused;
	sides.unused = pair;
	atomic_fetch_sub(&sides.count, 1);
}

static void forget_locked(enum gt_agent_container kind, const void *original)
{
	for (struct side_pair **link = &sides.pairs; *link;)
		if ((*link)->kind == kind && (*link)->original == original)
			remove_pair_locked(link);
		else
			link = &(*link)->next;
}

static const struct side_pair *find_pair_locked(enum gt_agent_container kind, const void *original)
{
	for (const struct side_pair *pair = sides.pairs; pair; pair = pair->next)
		if (pair->kind == kind && pair->original == original)
			return pair;
	return NULL;
}

static void *current_context(void)
{
	void *context = NULL;

	if (gt_driver.cuCtxGetCurrent)
		OWN1(cuCtxGetCurrent, &context);
	return context;
}

/* Add a pair in place of those of the same original. It takes over the kernels, which have a user.
 */
static bool add_pair(struct side_pair pair)
{
	struct side_pair *added;

	pthread_mutex_lock(&sides.lock);
	forget_locked(pair.kind, pair.original);
	added = take_pair_locked();
	if (added) {
		*added = pair;
		added->number = ++sides.last;
		added->next = sides.pairs;
		sides.pairs = added;
		atomic_fetch_add(&sides.count, 1);
	} else {
		release_kernels_locked(pair.kernels);
	}
	pthread_mutex_unlock(&sides.lock);
	return added;
}

bool gt_agent_add_side(enum gt_agent_container kind, void *original, void *side,
		       const struct gt_agent_names *names)
{
	struct side_kernels *kernels = copy_kernels(names);

	return kernels && add_pair((struct side_pair){
				  .kind = kind,
				  .original = original,
				  .side = side,
				  .context = kind == GT_AGENT_MODULE ? current_context() : NULL,
				  .kernels = kernels,
			  });
}

void gt_agent_forget_side(enum gt_agent_container kind, void *original)
{
	if (!atomic_load(&sides.count))
		return;
	pthread_mutex_lock(&sides.lock);
	forget_locked(kind, original);
	pthread_mutex_unlock(&sides.lock);
}

uint64_t gt_agent_side_time(void)
{
	uint64_t time;

	pthread_mutex_lock(&sides.lock);
	time = sides.last;
	pthread_mutex_unlock(&sides.lock);
	return time;
}

void gt_agent_end_sides(void *context, uint64_t time)
{
	pthread_mutex_lock(&sides.lock);
	for (struct side_pair **link = &sides.pairs; *link;)
		if ((*link)->kind == GT_AGENT_MODULE && (*link)->context == context &&
		    (*link)->number <= time)
			remove_pair_locked(link);
		else
			link = &(*link)->next;
	pthread_mutex_unlock(&sides.lock);
}

/* ---- look-ups of kernels --------------------------------------------------------------- */

/* The module or library to look a kernel up in: the side one, or the original. */
static void *select_container(enum gt_agent_container kind, void *original, const char *name)
{
	const struct side_pair *pair;
	void *selected = original;

	if (!atomic_load(&sides.count) || !name)
		return original;
	pthread_mutex_lock(&sides.lock);
	pair = find_pair_locked(kind, original);
	if (pair && has_kernel(pair->kernels, name))
		selected = pair->side;
	pthread_mutex_unlock(&sides.lock);
	return selected;
}

/*
 * A side module or library that the driver cannot use in a context, or on a device, does not fail
 * calls of the program: the original is in its place.
 */
#define LOOK_UP(function, kind, handle, original, name)                                            \
	void *selected;                                                                            \
	CUresult error;                                                                            \
                                                                                                   \
	NEED(function);                                                                            \
	selected = select_container(kind, original, name);                                         \
	error = gt_driver.function(handle, selected, name);                                        \
	if (error && selected != (original))                                                       \
		error = gt_driver.function(handle, original, name);                                \
	return error

CUresult cuModuleGetFunction(void **function, void *module, const char *name)
{
	LOOK_UP(cuModuleGetFunction, GT_AGENT_MODULE, function, module, name);
}

static CUresult look_up_kernel(void **kernel, void *library, const char *name)
{
	LOOK_UP(cuLibraryGetKernel, GT_AGENT_LIBRARY, kernel, library, name);
}

CUresult cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
	CUresult error = look_up_kernel(kernel, library, name);

	if (!error && kernel && gt_agent_environment()->numbers_devices)
		gt_agent_number_kernel(*kernel, select_container(GT_AGENT_LIBRARY, library, name));
	return error;
}

/* The handle of a kernel's name in place of that in the original. */
static void replace_handle(enum gt_agent_container kind, void *original, const char *name,
			   void **handle)
{
	void *side = select_container(kind, original, name), *found;
	CUresult error;

	if (side == original)
		return;
	error = kind == GT_AGENT_MODULE ? OWN3(cuModuleGetFunction, &found, side, name)
					: OWN3(cuLibraryGetKernel, &found, side, name);
	if (!error)
		*handle = found;
}

CUresult cuModuleEnumerateFunctions(void **functions, unsigned count, void *module)
{
	unsigned there = 0;
	CUresult error;

	NEED(cuModuleEnumerateFunctions);
	error = gt_driver.cuModuleEnumerateFunctions(functions, count, module);
	if (error || !functions || !atomic_load(&sides.count) || !gt_driver.cuFuncGetName ||
	    !gt_driver.cuModuleGetFunctionCount || OWN2(cuModuleGetFunctionCount, &there, module))
		return error;
	for (unsigned i = 0; i < count && i < there; i++) {
		const char *name = NULL;

		if (!OWN2(cuFuncGetName, &name, functions[i]))
			replace_handle(GT_AGENT_MODULE, module, name, &functions[i]);
	}
	return error;
}

static CUresult enumerate_kernels(void **kernels, unsigned count, void *library)
{
	unsigned there = 0;
	CUresult error;

	NEED(cuLibraryEnumerateKernels);
	error = gt_driver.cuLibraryEnumerateKernels(kernels, count, library);
	if (error || !kernels || !atomic_load(&sides.count) || !gt_driver.cuKernelGetName ||
	    !gt_driver.cuLibraryGetKernelCount || OWN2(cuLibraryGetKernelCount, &there, library))
		return error;
	for (unsigned i = 0; i < count && i < there; i++) {
		const char *name = NULL;

		if (!OWN2(cuKernelGetName, &name, kernels[i]))
			replace_handle(GT_AGENT_LIBRARY, library, name, &kernels[i]);
	}
	return error;
}

CUresult cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
	CUresult error = enumerate_kernels(kernels, count, library);
	unsigned there = 0;

	if (error || !kernels || !gt_agent_environment()->numbers_devices ||
	    !gt_driver.cuLibraryGetKernelCount || !gt_driver.cuKernelGetLibrary ||
	    OWN2(cuLibraryGetKernelCount, &there, library))
		return error;
	for (unsigned i = 0; i < count && i < there; i++) {
		void *owner;

		if (!OWN2(cuKernelGetLibrary, &owner, kernels[i]))
			gt_agent_number_kernel(kernels[i], owner);
	}
	return error;
}

/* ---- containers of kernels ------------------------------------------------------------- */

static void *find_original(enum gt_agent_container kind, void *side)
{
	void *original = side;

	if (!atomic_load(&sides.count))
		return side;
	pthread_mutex_lock(&sides.lock);
	for (const struct side_pair *pair = sides.pairs; pair; pair = pair->next)
		if (pair->kind == kind && pair->side == side)
			original = pair->original;
	pthread_mutex_unlock(&sides.lock);
	return original;
}

CUresult cuKernelGetLibrary(void **library, void *kernel)
{
	CUresult error;

	NEED(cuKernelGetLibrary);
	error = gt_driver.cuKernelGetLibrary(library, kernel);
	if (!error && library)
		*library = find_original(GT_AGENT_LIBRARY, *library);
	return error;
}

/* ---- kernels of side libraries ---------------------------------------------------------- */

/* The kernel of the original, for that of a side library; else NULL. */
static void *find_original_kernel(void *kernel)
{
	void *library, *original, *found;
	const char *name;

	if (!atomic_load(&sides.count) || !gt_driver.cuKernelGetLibrary ||
	    !gt_driver.cuKernelGetName || !gt_driver.cuLibraryGetKernel ||
	    OWN2(cuKernelGetLibrary, &library, kernel))
		return NULL;
	original = find_original(GT_AGENT_LIBRARY, library);
	if (original == library || OWN2(cuKernelGetName, &name, kernel) ||
	    OWN3(cuLibraryGetKernel, &found, original, name))
		return NULL;
	return found;
}

CUresult cuKernelGetFunction(void **function, void *kernel)
{
	void *original;
	CUresult error;

	NEED(cuKernelGetFunction);
	error = gt_driver.cuKernelGetFunction(function, kernel);
	if (!error)
		gt_agent_number_launch(kernel, NULL);
	original = error ? find_original_kernel(kernel) : NULL;
	return original ? gt_driver.cuKernelGetFunction(function, original) : error;
}

CUresult cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
	void *original;
	CUresult error;

	NEED(cuKernelGetAttribute);
	error = gt_driver.cuKernelGetAttribute(value, attribute, kernel, device);
	original = error ? find_original_kernel(kernel) : NULL;
	return original ? gt_driver.cuKernelGetAttribute(value, attribute, original, device)
			: error;
}

/* The original gets what is set, too. It succeeds if one of both does. */
CUresult cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
	void *original;
	CUresult error;

	NEED(cuKernelSetAttribute);
	error = gt_driver.cuKernelSetAttribute(attribute, value, kernel, device);
	original = find_original_kernel(kernel);
	if (original && !OWN4(cuKernelSetAttribute, attribute, value, original, device))
		error = 0;
	return error;
}

CUresult cuKernelSetCacheConfig(void *kernel, int config, int device)
{
	void *original;
	CUresult error;

	NEED(cuKernelSetCacheConfig);
	error = gt_driver.cuKernelSetCacheConfig(kernel, config, device);
	original = find_original_kernel(kernel);
	if (original && !OWN3(cuKernelSetCacheConfig, original, config, device))
		error = 0;
	return error;
}

/* ---- modules of libraries --------------------------------------------------------------- */

/* The pair of a library, with a use of its kernels. False: it has none. */
static bool borrow_library(const void *library, struct side_pair *ret_pair)
{
	const struct side_pair *pair;

	pthread_mutex_lock(&sides.lock);
	pair = find_pair_locked(GT_AGENT_LIBRARY, library);
	if (pair) {
		*ret_pair = *pair;
		pair->kernels->users++;
	}
	pthread_mutex_unlock(&sides.lock);
	return pair;
}

static void release_kernels(struct side_kernels *kernels)
{
	pthread_mutex_lock(&sides.lock);
	release_kernels_locked(kernels);
	pthread_mutex_unlock(&sides.lock);
}

/* The module of a library in the current context is known: pair it with that of the side library.
 */
static void pair_modules(void *library, void *module)
{
	struct side_pair pair;
	void *side = NULL;

	if (!atomic_load(&sides.count))
		return;
	if (!borrow_library(library, &pair)) {
		gt_agent_forget_side(GT_AGENT_MODULE, module);
		return;
	}
	if (OWN2(cuLibraryGetModule, &side, pair.side)) {
		release_kernels(pair.kernels);
		gt_agent_forget_side(GT_AGENT_MODULE, module);
		return;
	}
	gt_agent_number_library(pair.side);
	pair.kind = GT_AGENT_MODULE;
	pair.original = module;
	pair.side = side;
	pair.library = pair.number;
	pair.context = current_context();
	add_pair(pair);
}

CUresult cuLibraryGetModule(void **module, void *library)
{
	CUresult error;

	NEED(cuLibraryGetModule);
	error = gt_driver.cuLibraryGetModule(module, library);
	if (error || !module)
		return error;
	gt_agent_number_library(library);
	pair_modules(library, *module);
	return error;
}

/* The next side library by number, from *number on. */
static bool next_library(uint64_t *number, void **ret_original, void **ret_side)
{
	const struct side_pair *found = NULL;

	pthread_mutex_lock(&sides.lock);
	for (const struct side_pair *pair = sides.pairs; pair; pair = pair->next)
		if (pair->kind == GT_AGENT_LIBRARY && pair->number > *number &&
		    (!found || pair->number < found->number))
			found = pair;
	if (found) {
		*number = found->number;
		*ret_original = found->original;
		*ret_side = found->side;
	}
	pthread_mutex_unlock(&sides.lock);
	return found;
}

/* A module of a side library that the program has not asked for. */
static void *find_library_module(void *module)
{
	void *original, *side, *found;
	uint64_t number = 0;

	while (gt_driver.cuLibraryGetModule && next_library(&number, &original, &side)) {
		if (OWN2(cuLibraryGetModule, &found, side) || found != module ||
		    OWN2(cuLibraryGetModule, &found, original))
			continue;
		pair_modules(original, found);
		return found;
	}
	return module;
}

CUresult cuFuncGetModule(void **module, void *function)
{
	CUresult error;
	void *original;

	NEED(cuFuncGetModule);
	error = gt_driver.cuFuncGetModule(module, function);
	if (error || !module || !atomic_load(&sides.count))
		return error;
	original = find_original(GT_AGENT_MODULE, *module);
	*module = original == *module ? find_library_module(*module) : original;
	return error;
}

/* ---- unloading ------------------------------------------------------------------------- */

/* The side of a handle that is to be unloaded, and the number of the pair. */
static void *find_side(enum gt_agent_container kind, const void *original, uint64_t *ret_number)
{
	const struct side_pair *pair;
	void *side = NULL;

	if (!atomic_load(&sides.count))
		return NULL;
	pthread_mutex_lock(&sides.lock);
	pair = find_pair_locked(kind, original);
	/* A module of a library is unloaded with it. */
	if (pair && !pair->library) {
		side = pair->side;
		*ret_number = pair->number;
	}
	pthread_mutex_unlock(&sides.lock);
	return side;
}

/* Remove a pair, and those of a library's modules. */
static void remove_pairs(uint64_t number)
{
	pthread_mutex_lock(&sides.lock);
	for (struct side_pair **link = &sides.pairs; *link;)
		if ((*link)->number == number || (*link)->library == number)
			remove_pair_locked(link);
		else
			link = &(*link)->next;
	pthread_mutex_unlock(&sides.lock);
}

#define UNLOAD(function, kind, original)                                                           \
	uint64_t number = 0;                                                                       \
	void *side;                                                                                \
	CUresult error;                                                                            \
                                                                                                   \
	NEED(function);                                                                            \
	side = find_side(kind, original, &number);                                                 \
	gt_agent_forget_number(side ? side : (original));                                          \
	error = gt_driver.function(original);                                                      \
	if (!error && side) {                                                                      \
		remove_pairs(number);                                                              \
		OWN1(function, side);                                                              \
	}                                                                                          \
	return error

CUresult cuModuleUnload(void *module)
{
	UNLOAD(cuModuleUnload, GT_AGENT_MODULE, module);
}

CUresult cuLibraryUnload(void *library)
{
	UNLOAD(cuLibraryUnload, GT_AGENT_LIBRARY, library);
}
