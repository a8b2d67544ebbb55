/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the sources "i915", "xe" and "amdgpu": their buffers and requests have one layout. */
#include "layers/drivers.h"

#include "base/text.h"
#include "layers/layers.h"
#include "layers/padded.h"

/* The three layouts are the same: event.def. */
typedef struct gt_event_i915_buffer driver_buffer;
typedef struct gt_event_i915_request driver_request;

const char *gt_driver_buffer_operation_name(unsigned operation)
{
	static const char *const names[] = {
		[GT_DRIVER_CREATE] = "create",
		[GT_DRIVER_DESTROY] = "destroy",
		[GT_DRIVER_BIND] = "bind",
		[GT_DRIVER_UNBIND] = "unbind",
		[GT_DRIVER_REBIND] = "rebind",
		[GT_DRIVER_MOVE] = "move",
		[GT_DRIVER_EVICT] = "evict",
		[GT_DRIVER_SHRINK] = "shrink",
		[GT_DRIVER_FAULT] = "fault",
		[GT_DRIVER_GPU_FAULT] = "gpu_fault",
		[GT_DRIVER_INVALIDATE] = "invalidate",
		[GT_DRIVER_PREAD] = "pread",
		[GT_DRIVER_PWRITE] = "pwrite",
	};

	return operation < gt_countof(names) ? names[operation] : "unknown";
}

static const char *buffer_variant(const struct gt_event *event)
{
	return gt_driver_buffer_operation_name(((const driver_buffer *)event)->operation);
}

static const char *request_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_DRIVER_QUEUE] = "queue", [GT_DRIVER_SUBMIT] = "submit",
		[GT_DRIVER_RUN] = "run",     [GT_DRIVER_DONE] = "done",
		[GT_DRIVER_WAIT] = "wait",   [GT_DRIVER_TIMEOUT] = "timeout",
		[GT_DRIVER_ERROR] = "error",
	};
	const driver_request *request = (const void *)event;

	return request->operation < gt_countof(names) ? names[request->operation] : "unknown";
}

/* ---- types of memory ---------------------------------------------------------------------- */

void gt_put_driver_memory(struct gt_strbuf *text, unsigned kind, uint64_t type)
{
	static const char *const types[] = {
		[GT_DRIVER_MEMORY_SYSTEM] = "system",
		[GT_DRIVER_MEMORY_GTT] = "GTT",
		[GT_DRIVER_MEMORY_VRAM] = "VRAM",
	};

	if (type == GT_DRIVER_NO_MEMORY)
		return;
	if (type < gt_countof(types))
		gt_strbuf_puts(text, types[type]);
	else if (kind == GT_EVENT_xe_buffer && type == 3)
		gt_strbuf_puts(text, "VRAM1");
	else
		gt_strbuf_printf(text, "driver:%u", (unsigned)type);
}

/* The names of the bits of a value, "A|B|0x80". */
static void put_bits(struct gt_strbuf *text, const char *const *names, size_t count, uint64_t value)
{
	const char *separator = "";

	for (size_t bit = 0; bit < count; bit++)
		if (value >> bit & 1) {
			gt_strbuf_printf(text, "%s%s", separator, names[bit]);
			separator = "|";
		}
	if (value >> count) {
		gt_strbuf_puts(text, separator);
		gt_strbuf_hex(text, value >> count << count);
	}
}

/* AMDGPU_GEM_DOMAIN_* */
static void put_domains(struct gt_strbuf *text, uint64_t value)
{
	static const char *const domains[] = {"CPU", "GTT", "VRAM", "GDS", "GWS", "OA", "DOORBELL"};

	put_bits(text, domains, gt_countof(domains), value);
}

/* I915_SHRINK_*: which objects give memory, and how. */
static void put_shrink(struct gt_strbuf *text, uint64_t value)
{
	static const char *const objects[] = {"unbound", "bound", "active", "vmaps", "writeback"};

	put_bits(text, objects, gt_countof(objects), value);
}

/*
 * PIN_* of drivers/gpu/drm/i915/i915_gem_gtt.h: for what kind of binding there must be room. The
 * first ones are the same from Linux 5.4 on.
 */
static void put_eviction(struct gt_strbuf *text, uint64_t value)
{
	static const char *const flags[] = {"noevict", "nosearch", "nonblock",    "mappable",
					    "zone_4g", "high",     "offset_bias", "offset_fixed"};

	put_bits(text, flags, gt_countof(flags), value);
}

/* The domains in which a new buffer may be; 0: not known. */
static uint64_t allowed_domains(const driver_buffer *buffer)
{
	return buffer->operation == GT_DRIVER_CREATE ? buffer->flags >> GT_DRIVER_ALLOWED_SHIFT : 0;
}

/* Whether `from` has flags of i915: PIN_*. */
static bool has_pin_flags(const driver_buffer *buffer)
{
	return buffer->operation == GT_DRIVER_EVICT && buffer->head.kind == GT_EVENT_i915_buffer;
}

static bool has_memory(const driver_buffer *buffer)
{
	return buffer->operation == GT_DRIVER_MOVE ||
	       (buffer->operation == GT_DRIVER_CREATE && buffer->head.kind != GT_EVENT_i915_buffer);
}

static void put_from(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *event, uint64_t value)
{
	const driver_buffer *buffer = (const void *)event;

	if (buffer->operation == GT_DRIVER_MOVE)
		gt_put_driver_memory(text, event->kind, value);
	else if (buffer->operation == GT_DRIVER_CREATE)
		put_domains(text, value);
	else if (buffer->operation == GT_DRIVER_SHRINK)
		put_shrink(text, value);
	else if (has_pin_flags(buffer))
		put_eviction(text, value);
}

static void put_to(struct gt_strbuf *text, const struct gt_names *names,
		   const struct gt_event *event, uint64_t value)
{
	if (has_memory((const void *)event))
		gt_put_driver_memory(text, event->kind, value);
}

/* ---- lines -------------------------------------------------------------------------------- */

static void put_placement(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_event *event)
{
	const driver_buffer *buffer = (const void *)event;

	const char *label = buffer->operation == GT_DRIVER_CREATE ? " asked="
			    : has_pin_flags(buffer)               ? " flags="
								  : " from=";

	if (!has_memory(buffer) && buffer->operation != GT_DRIVER_SHRINK && !has_pin_flags(buffer))
		return;
	if (buffer->operation == GT_DRIVER_MOVE || buffer->from) {
		gt_strbuf_puts(text, label);
		put_from(text, names, event, buffer->from);
	}
	if (allowed_domains(buffer) && allowed_domains(buffer) != buffer->from) {
		gt_strbuf_puts(text, " allowed=");
		put_domains(text, allowed_domains(buffer));
	}
	if (has_memory(buffer) && buffer->to != GT_DRIVER_NO_MEMORY) {
		gt_strbuf_puts(text, " to=");
		gt_put_driver_memory(text, event->kind, buffer->to);
	}
}

static void put_flags(struct gt_strbuf *text, const driver_buffer *buffer)
{
	static const struct {
		uint16_t operation, flag;
		const char *name;
	} flags[] = {
		{GT_DRIVER_FAULT, GT_DRIVER_WRITE, " write"},
		{GT_DRIVER_FAULT, GT_DRIVER_GTT, " gtt"},
		{GT_DRIVER_MOVE, GT_DRIVER_NO_COPY, " no-copy"},
		{GT_DRIVER_CREATE, GT_DRIVER_VISIBLE, " visible"},
	};

	for (size_t i = 0; i < gt_countof(flags); i++)
		if (buffer->operation == flags[i].operation && buffer->flags & flags[i].flag)
			gt_strbuf_puts(text, flags[i].name);
}

static void buffer_text(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event)
{
	const driver_buffer *buffer = (const void *)event;

	gt_put_padded(text, "device", event, 0, GT_DRM_NAME_SIZE);
	if (buffer->buffer)
		gt_strbuf_printf(text, " buffer=0x%llx", (unsigned long long)buffer->buffer);
	if (buffer->offset)
		gt_strbuf_printf(text, " offset=0x%llx", (unsigned long long)buffer->offset);
	if (buffer->bytes) {
		gt_strbuf_puts(text, " bytes=");
		gt_format_bytes(text, buffer->bytes);
	}
	put_placement(text, names, event);
	if (buffer->repeats)
		gt_strbuf_printf(text, " repeats=%u", buffer->repeats);
	put_flags(text, buffer);
	if (buffer->operation == GT_DRIVER_CREATE || buffer->operation == GT_DRIVER_DESTROY) {
		gt_strbuf_puts(text, " allocated=");
		gt_format_bytes(text, buffer->allocated);
	}
}

static void put_time(struct gt_strbuf *text, const char *key, uint64_t ns)
{
	if (!ns)
		return;
	gt_strbuf_printf(text, " %s=", key);
	gt_format_duration(text, ns);
}

static void request_text(struct gt_strbuf *text, const struct gt_names *names,
			 const struct gt_event *event)
{
	const driver_request *request = (const void *)event;

	gt_put_fence_key(text, "request", request->context, request->seqno);
	gt_put_padded(text, "engine", event, 0, GT_DRM_NAME_SIZE);
	gt_put_padded(text, "device", event, GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
	if (request->count)
		gt_strbuf_printf(text, " count=%u", request->count);
	put_time(text, "delay", request->delay);
	put_time(text, "ran", request->ran);
}

static void buffer_json(struct gt_json *json, const struct gt_names *names,
			const struct gt_event *event)
{
	uint64_t domains = allowed_domains((const void *)event);
	gt_auto_strbuf allowed = GT_STRBUF_INIT;

	gt_json_padded(json, "device", event, 0, GT_DRM_NAME_SIZE);
	if (!domains)
		return;
	put_domains(&allowed, domains);
	gt_json_string(json, "allowed", gt_strbuf_string(&allowed));
}

static void request_json(struct gt_json *json, const struct gt_names *names,
			 const struct gt_event *event)
{
	gt_json_padded(json, "engine", event, 0, GT_DRM_NAME_SIZE);
	gt_json_padded(json, "device", event, GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void put_buffer_operation(struct gt_strbuf *text, const struct gt_names *names,
				 const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, buffer_variant(event));
}

static void put_request_operation(struct gt_strbuf *text, const struct gt_names *names,
				  const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, request_variant(event));
}

static const struct gt_layer_field buffer_fields[] = {
	{"operation", put_buffer_operation},
	{"from", put_from},
	{"to", put_to},
};

static const struct gt_layer_field request_fields[] = {
	{"operation", put_request_operation},
};

/* clang-format off */
#define BUFFER_ROW(driver)                                                                         \
	{.kind = GT_EVENT_##driver##_buffer, .source = #driver, .variant = buffer_variant,         \
	 .fields = buffer_fields, .field_count = gt_countof(buffer_fields), .text = buffer_text,   \
	 .json = buffer_json}
#define REQUEST_ROW(driver)                                                                        \
	{.kind = GT_EVENT_##driver##_request, .source = #driver, .variant = request_variant,       \
	 .fields = request_fields, .field_count = gt_countof(request_fields),                      \
	 .text = request_text, .json = request_json}
/* clang-format on */

static const struct gt_layer_kind kinds[] = {
	BUFFER_ROW(i915),
	REQUEST_ROW(i915),
	BUFFER_ROW(xe),
	REQUEST_ROW(xe),
	BUFFER_ROW(amdgpu),
	REQUEST_ROW(amdgpu),
	{.kind = GT_EVENT_amdgpu_interrupt, .source = "amdgpu", .name = "interrupt"},
};

const struct gt_layer_kinds gt_layer_drivers = {kinds, gt_countof(kinds)};
