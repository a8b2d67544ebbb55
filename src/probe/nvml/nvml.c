/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The source "nvml": the state of NVIDIA's GPUs once a second, by the NVIDIA Management Library. It
 * is opened where it is installed; nothing is needed to build. Functions, values and units: NVML
 * API Reference Guide. A thread samples, since the throughput of PCIe is measured for 20 ms per
 * call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "event/kinds.h"
#include "probe/source.h"

#define LIBRARY "libnvidia-ml.so.1"
#define MAX_GPUS 64
#define PERIOD_NS 1000000000ull
#define UNKNOWN UINT64_MAX

struct nvml_utilization {
	unsigned gpu, memory;
};

struct nvml_memory {
	unsigned long long total, free, used;
};

/* nvmlFieldValue_t: a value that is asked for by its number. */
struct nvml_field {
	unsigned id;    /* NVML_FI_… */
	unsigned scope; /* UINT_MAX: all links together */
	long long timestamp, latency;
	int type;   /* enum nvml_value_type */
	int result; /* nvmlReturn_t */
	union {
		double number;
		unsigned unsigned_int;
		unsigned long unsigned_long;
		unsigned long long unsigned_long_long;
		unsigned short unsigned_short;
	} value;
};

enum nvml_value_type {
	NVML_TYPE_DOUBLE,
	NVML_TYPE_UNSIGNED_INT,
	NVML_TYPE_UNSIGNED_LONG,
	NVML_TYPE_UNSIGNED_LONG_LONG,
	NVML_TYPE_SIGNED_LONG_LONG,
	NVML_TYPE_SIGNED_INT,
	NVML_TYPE_UNSIGNED_SHORT,
};

/* NVML's functions that are used: name, parameters. All return 0 for success. */
#define NVML_FUNCTIONS(FUNCTION)                                                                   \
	FUNCTION(nvmlInit_v2, void)                                                                \
	FUNCTION(nvmlShutdown, void)                                                               \
	FUNCTION(nvmlDeviceGetCount_v2, unsigned *)                                                \
	FUNCTION(nvmlDeviceGetHandleByIndex_v2, unsigned, void **)                                 \
	FUNCTION(nvmlDeviceGetName, void *, char *, unsigned)                                      \
	FUNCTION(nvmlDeviceGetUtilizationRates, void *, struct nvml_utilization *)                 \
	FUNCTION(nvmlDeviceGetMemoryInfo, void *, struct nvml_memory *)                            \
	FUNCTION(nvmlDeviceGetPowerUsage, void *, unsigned *)                                      \
	FUNCTION(nvmlDeviceGetTemperature, void *, int, unsigned *)                                \
	FUNCTION(nvmlDeviceGetClockInfo, void *, int, unsigned *)                                  \
	FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons, void *, unsigned long long *)          \
	FUNCTION(nvmlDeviceGetTotalEccErrors, void *, int, int, unsigned long long *)              \
	FUNCTION(nvmlDeviceGetPcieThroughput, void *, int, unsigned *)                             \
	FUNCTION(nvmlDeviceGetPcieReplayCounter, void *, unsigned *)                               \
	FUNCTION(nvmlDeviceGetFieldValues, void *, int, struct nvml_field *)

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_PCIE_SENT = 0, NVML_PCIE_RECEIVED = 1 };

struct nvml_library {
	void *handle;
#define FIELD_OF_FUNCTION(name, ...) int (*name)(__VA_ARGS__);
	NVML_FUNCTIONS(FIELD_OF_FUNCTION)
#undef FIELD_OF_FUNCTION
};

/* Counters of NVLink at the last sample: bytes; UNKNOWN before the first one. */
struct nvml_traffic {
	uint64_t sent, received;
	uint64_t time; /* ns */
};

struct nvml_source {
	const struct gt_host *host;
	struct nvml_library library;
	unsigned count;
	void *gpus[MAX_GPUS];
	struct nvml_traffic traffic[MAX_GPUS];
	pthread_t thread;
	bool started;
	atomic_bool stop;
	int ready;             /* readable when samples wait */
	pthread_mutex_t mutex; /* of the samples */
	struct gt_event_queue samples;
	uint64_t recorded;
};

/* ---- the library -------------------------------------------------------------------------- */

static void close_library(struct nvml_library *library)
{
	if (library->handle)
		dlclose(library->handle);
	library->handle = NULL;
}

/* Only the first four functions must exist: older libraries lack some of the others. */
static int open_library(struct nvml_library *library, struct gt_diag *diag)
{
	library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return gt_diag(diag, -ENOENT, "nvml", NULL,
			       LIBRARY " cannot be opened: it comes with NVIDIA's driver");
#define FIND_FUNCTION(name, ...) *(void **)&library->name = dlsym(library->handle, #name);
	NVML_FUNCTIONS(FIND_FUNCTION)
#undef FIND_FUNCTION
	if (library->nvmlInit_v2 && library->nvmlShutdown && library->nvmlDeviceGetCount_v2 &&
	    library->nvmlDeviceGetHandleByIndex_v2)
		return 0;
	close_library(library);
	return gt_diag(diag, -ENOENT, "nvml", NULL, LIBRARY " lacks functions: it is too old");
}

static int initialize(struct nvml_source *source, struct gt_diag *diag)
{
	struct nvml_library *library = &source->library;
	int error = open_library(library, diag), result;

	if (error)
		return error;
	result = library->nvmlInit_v2();
	if (!result)
		result = library->nvmlDeviceGetCount_v2(&source->count);
	if (source->count > MAX_GPUS)
		source->count = MAX_GPUS;
	for (unsigned i = 0; i < source->count && !result; i++)
		result = library->nvmlDeviceGetHandleByIndex_v2(i, &source->gpus[i]);
	if (result)
		return gt_diag(diag, -EIO, "nvml", NULL,
			       "NVML cannot be initialized (nvmlReturn_t %d): 'nvidia-smi' shows "
			       "whether the driver works",
			       result);
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------ */

/* The value of a call that may be missing or fail. */
#define READ(function, type, ...)                                                                  \
	({                                                                                         \
		type value_read = 0;                                                               \
		library->function && !library->function(__VA_ARGS__, &value_read)                  \
			? (uint64_t)value_read                                                     \
			: UNKNOWN;                                                                 \
	})

static uint64_t scale(uint64_t value, uint64_t factor)
{
	return value == UNKNOWN ? value : value * factor;
}

static void fill_sample(const struct nvml_library *library, void *gpu,
			struct gt_event_gpu_sample *sample)
{
	struct nvml_utilization utilization;
	struct nvml_memory memory;
	bool has_utilization = library->nvmlDeviceGetUtilizationRates &&
			       !library->nvmlDeviceGetUtilizationRates(gpu, &utilization);
	bool has_memory =
		library->nvmlDeviceGetMemoryInfo && !library->nvmlDeviceGetMemoryInfo(gpu, &memory);

	sample->memory_used = has_memory ? memory.used : UNKNOWN;
	sample->memory_total = has_memory ? memory.total : UNKNOWN;
	sample->utilization = has_utilization ? utilization.gpu : (uint32_t)UNKNOWN;
	sample->memory_utilization = has_utilization ? utilization.memory : (uint32_t)UNKNOWN;
	sample->power = READ(nvmlDeviceGetPowerUsage, unsigned, gpu);
	sample->temperature = READ(nvmlDeviceGetTemperature, unsigned, gpu, 0);
	sample->sm_clock = READ(nvmlDeviceGetClockInfo, unsigned, gpu, NVML_CLOCK_SM);
	sample->memory_clock = READ(nvmlDeviceGetClockInfo, unsigned, gpu, NVML_CLOCK_MEMORY);
	sample->throttle = READ(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, gpu);
	sample->ecc_corrected =
		READ(nvmlDeviceGetTotalEccErrors, unsigned long long, gpu, NVML_ECC_CORRECTED, 0);
	sample->ecc_uncorrected =
		READ(nvmlDeviceGetTotalEccErrors, unsigned long long, gpu, NVML_ECC_UNCORRECTED, 0);
	/* NVML has KB/s. */
	sample->pcie_sent =
		scale(READ(nvmlDeviceGetPcieThroughput, unsigned, gpu, NVML_PCIE_SENT), 1000);
	sample->pcie_received =
		scale(READ(nvmlDeviceGetPcieThroughput, unsigned, gpu, NVML_PCIE_RECEIVED), 1000);
	sample->pcie_replays = READ(nvmlDeviceGetPcieReplayCounter, unsigned, gpu);
}

/* NULL: an event that there was no memory for. */
static void push_sample(struct nvml_source *source, struct gt_event *sample)
{
	pthread_mutex_lock(&source->mutex);
	gt_event_queue_push(&source->samples, sample);
	pthread_mutex_unlock(&source->mutex);
}

static void take_sample(struct nvml_source *source, unsigned index, const char *name)
{
	struct gt_event_gpu_sample *sample =
		(void *)gt_event_new(GT_EVENT_gpu_sample, name, strlen(name));

	if (sample) {
		sample->gpu = index;
		fill_sample(&source->library, source->gpus[index], sample);
		sample->head.time = gt_clock_monotonic();
	}
	push_sample(source, sample ? &sample->head : NULL);
}

/* ---- NVLink ------------------------------------------------------------------------------- */

/* The fields that are read, in this order. */
enum nvlink_field {
	NVLINK_LINKS,
	NVLINK_SENT, /* KiB since the driver was loaded */
	NVLINK_RECEIVED,
	NVLINK_CRC_FLIT,
	NVLINK_CRC_DATA,
	NVLINK_REPLAYS,
	NVLINK_RECOVERIES,
	NVLINK_FIELDS
};

static const unsigned nvlink_ids[NVLINK_FIELDS] = {
	[NVLINK_LINKS] = 91,      /* NVML_FI_DEV_NVLINK_LINK_COUNT */
	[NVLINK_SENT] = 138,      /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX */
	[NVLINK_RECEIVED] = 139,  /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX */
	[NVLINK_CRC_FLIT] = 38,   /* NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL */
	[NVLINK_CRC_DATA] = 45,   /* NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL */
	[NVLINK_REPLAYS] = 52,    /* NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL */
	[NVLINK_RECOVERIES] = 59, /* NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL */
};

static uint64_t value_of(const struct nvml_field *field)
{
	if (field->result)
		return UNKNOWN;
	switch (field->type) {
	case NVML_TYPE_DOUBLE:
		return field->value.number >= 0 && field->value.number < 1e18
			       ? (uint64_t)field->value.number
			       : UNKNOWN;
	case NVML_TYPE_UNSIGNED_INT:
	case NVML_TYPE_SIGNED_INT:
		return field->value.unsigned_int;
	case NVML_TYPE_UNSIGNED_LONG:
		return field->value.unsigned_long;
	case NVML_TYPE_UNSIGNED_LONG_LONG:
	case NVML_TYPE_SIGNED_LONG_LONG:
		return field->value.unsigned_long_long;
	case NVML_TYPE_UNSIGNED_SHORT:
		return field->value.unsigned_short;
	}
	return UNKNOWN;
}

/* Whether the GPU has NVLink. */
static bool read_nvlink(const struct nvml_library *library, void *gpu,
			uint64_t ret_values[NVLINK_FIELDS])
{
	struct nvml_field fields[NVLINK_FIELDS] = {0};

	if (!library->nvmlDeviceGetFieldValues)
		return false;
	for (unsigned i = 0; i < NVLINK_FIELDS; i++) {
		fields[i].id = nvlink_ids[i];
		fields[i].scope = i == NVLINK_SENT || i == NVLINK_RECEIVED ? UINT_MAX : 0;
	}
	if (library->nvmlDeviceGetFieldValues(gpu, NVLINK_FIELDS, fields))
		return false;
	for (unsigned i = 0; i < NVLINK_FIELDS; i++)
		ret_values[i] = value_of(&fields[i]);
	return ret_values[NVLINK_LINKS] != UNKNOWN && ret_values[NVLINK_LINKS];
}

/* What a counter has grown since the last sample; a counter that was reset is not known. */
static uint64_t growth(uint64_t *before, uint64_t now)
{
	uint64_t grown =
		*before == UNKNOWN || now == UNKNOWN || now < *before ? UNKNOWN : now - *before;

	*before = now;
	return grown;
}

static void take_nvlink_sample(struct nvml_source *source, unsigned index, const char *name)
{
	struct nvml_traffic *last = &source->traffic[index];
	uint64_t values[NVLINK_FIELDS], now;
	struct gt_event_gpu_nvlink *sample;

	if (!read_nvlink(&source->library, source->gpus[index], values))
		return;
	now = gt_clock_monotonic();
	sample = (void *)gt_event_new(GT_EVENT_gpu_nvlink, name, strlen(name));
	if (sample) {
		sample->head.time = now;
		sample->duration = last->time ? now - last->time : 0;
		sample->sent = growth(&last->sent, scale(values[NVLINK_SENT], 1024));
		sample->received = growth(&last->received, scale(values[NVLINK_RECEIVED], 1024));
		sample->crc_flit_errors = values[NVLINK_CRC_FLIT];
		sample->crc_data_errors = values[NVLINK_CRC_DATA];
		sample->replays = values[NVLINK_REPLAYS];
		sample->recoveries = values[NVLINK_RECOVERIES];
		sample->gpu = index;
		sample->links = (uint32_t)values[NVLINK_LINKS];
		last->time = now;
	}
	push_sample(source, sample ? &sample->head : NULL);
}

static void take_samples(struct nvml_source *source, unsigned index)
{
	const struct nvml_library *library = &source->library;
	char name[96] = "";

	if (library->nvmlDeviceGetName &&
	    library->nvmlDeviceGetName(source->gpus[index], name, sizeof(name) - 1))
		name[0] = '\0';
	take_sample(source, index, name);
	take_nvlink_sample(source, index, name);
}

static void *sample_until_stopped(void *opaque)
{
	const struct timespec step = {0, 20000000};
	struct nvml_source *source = opaque;
	uint64_t next = gt_clock_monotonic();

	while (!atomic_load(&source->stop)) {
		if (gt_clock_monotonic() < next) {
			nanosleep(&step, NULL);
			continue;
		}
		next += PERIOD_NS;
		for (unsigned i = 0; i < source->count; i++)
			take_samples(source, i);
		eventfd_write(source->ready, 1);
	}
	return NULL;
}

static int start_thread(struct nvml_source *source, struct gt_diag *diag)
{
	int error = gt_thread_start(&source->thread, sample_until_stopped, source);

	source->started = !error;
	return error ? gt_diag(diag, -error, "nvml", NULL, "pthread_create: %s", strerror(error))
		     : 0;
}

/* ---- the source --------------------------------------------------------------------------- */

static void nvml_detach(void *opaque)
{
	struct nvml_source *source = opaque;

	if (!source->started)
		return;
	atomic_store(&source->stop, true);
	pthread_join(source->thread, NULL);
	source->started = false;
}

static void nvml_close(void *opaque)
{
	struct nvml_source *source = opaque;

	if (!source)
		return;
	nvml_detach(source);
	if (source->library.handle) {
		source->library.nvmlShutdown();
		close_library(&source->library);
	}
	gt_event_queue_clear(&source->samples);
	if (source->ready >= 0)
		close(source->ready);
	pthread_mutex_destroy(&source->mutex);
	free(source);
}
GT_DEFINE_AUTO(nvml, struct nvml_source, nvml_close)

static struct nvml_source *new_source(const struct gt_host *host)
{
	struct nvml_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->host = host;
	source->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (unsigned i = 0; i < MAX_GPUS; i++)
		source->traffic[i] = (struct nvml_traffic){UNKNOWN, UNKNOWN, 0};
	pthread_mutex_init(&source->mutex, NULL);
	return source;
}

static int nvml_check(struct gt_kernel_types *types, struct gt_diag *diag)
{
	gt_auto(nvml) struct nvml_source *source = new_source(NULL);

	return source ? initialize(source, diag)
		      : gt_diag(diag, -ENOMEM, "nvml", NULL, "out of memory");
}

static int nvml_open(const struct gt_host *host, void **ret_state, struct gt_diag *diag)
{
	gt_auto(nvml) struct nvml_source *source = new_source(host);
	int error;

	if (!source || source->ready < 0)
		return gt_diag(diag, -ENOMEM, "nvml", NULL, "out of memory");
	error = initialize(source, diag);
	if (!error)
		error = start_thread(source, diag);
	if (!error)
		*ret_state = gt_take(source);
	return error;
}

static int nvml_wait_on(void *opaque)
{
	return ((struct nvml_source *)opaque)->ready;
}

static void nvml_poll(void *opaque)
{
	struct nvml_source *source = opaque;
	eventfd_t ignored;

	eventfd_read(source->ready, &ignored);
	pthread_mutex_lock(&source->mutex);
	gt_vec_each (sample, &source->samples.events) {
		gt_event_queue_copy(source->host->events, *sample);
		source->recorded++;
	}
	gt_event_queue_clear(&source->samples);
	pthread_mutex_unlock(&source->mutex);
}

static void nvml_collect(void *opaque)
{
	struct nvml_source *source = opaque;
	struct gt_event_totals *event =
		(void *)gt_event_new(GT_EVENT_totals, "nvml", strlen("nvml"));

	nvml_poll(source);
	if (event) {
		event->head.time = gt_clock_monotonic();
		event->recorded = source->recorded;
		event->lost = source->samples.lost;
	}
	gt_event_queue_push(source->host->events, event ? &event->head : NULL);
}

static void nvml_count(void *opaque, struct gt_counts *counts)
{
	counts->others_lost += ((struct nvml_source *)opaque)->samples.lost;
}

const struct gt_source gt_source_nvml = {
	.name = "nvml",
	.summary = "utilization, memory, clocks, power, errors, PCIe and NVLink traffic of NVIDIA "
		   "GPUs, once a second",
	.needs = LIBRARY ", which comes with NVIDIA's driver",
	.check = nvml_check,
	.open = nvml_open,
	.wait_on = nvml_wait_on,
	.poll = nvml_poll,
	.detach = nvml_detach,
	.collect = nvml_collect,
	.count = nvml_count,
	.close = nvml_close,
};
