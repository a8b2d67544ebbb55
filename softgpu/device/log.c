/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

static int log_fd = -1;

int sg_log_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	log_fd = fd;
	return 0;
}

bool sg_log_is_open(void)
{
	return log_fd >= 0;
}

static void add_shape(struct gt_json *json, const char *key, const uint32_t size[3])
{
	gt_json_array_begin(json, key);
	for (int i = 0; i < 3; i++)
		gt_json_u64(json, NULL, size[i]);
	gt_json_array_end(json);
}

void sg_log_write(const struct sg_record *record)
{
	gt_auto_strbuf line = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&line);

	if (!sg_log_is_open())
		return;
	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "op", record->operation);
	if (record->name)
		gt_json_string(&json, "name", record->name);
	if (record->kind)
		gt_json_string(&json, "kind", record->kind);
	gt_json_u64(&json, "pid", (uint64_t)getpid());
	gt_json_u64(&json, "tid", (uint64_t)syscall(SYS_gettid));
	gt_json_u64(&json, "device", (uint64_t)record->device);
	if (record->stream_id) {
		gt_json_hex(&json, "stream", record->stream);
		gt_json_u64(&json, "stream_id", record->stream_id);
	}
	gt_json_u64(&json, "submitted", record->submitted_ns);
	gt_json_u64(&json, "start", record->start_ns);
	gt_json_u64(&json, "end", record->end_ns);
	if (record->address)
		gt_json_hex(&json, "address", record->address);
	if (record->source)
		gt_json_hex(&json, "source", record->source);
	if (record->bytes)
		gt_json_u64(&json, "bytes", record->bytes);
	if (record->has_shape) {
		add_shape(&json, "grid", record->shape.grid);
		add_shape(&json, "block", record->shape.block);
		gt_json_u64(&json, "shared", record->shape.dynamic_shared);
	}
	gt_json_i64(&json, "result", record->result);
	if (record->fault)
		gt_json_string(&json, "fault", record->fault);
	gt_json_object_end(&json);
	gt_strbuf_putc(&line, '\n');
	if (!line.failed)
		gt_write_all(log_fd, line.data, line.length);
}
