/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Headers that are programs: files that clang finds by a virtual file system. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "opencl/private.h"

static void put_path(char path[GT_CL_HEADER_PATH], int file)
{
	snprintf(path, GT_CL_HEADER_PATH, "/proc/self/fd/%d", file);
}

static int put_header(const struct gt_cl_header *header, struct gt_cl_files *files,
		      struct gt_json *json)
{
	int file = gt_cl_files_add(files, header->text, header->size);
	gt_auto_strbuf name = GT_STRBUF_INIT;
	char path[GT_CL_HEADER_PATH];

	if (file < 0)
		return file;
	gt_strbuf_puts(&name, GT_CL_HEADERS "/");
	gt_strbuf_add(&name, header->name, header->length);
	put_path(path, file);
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "type", "file");
	gt_json_string(json, "name", gt_strbuf_string(&name));
	gt_json_string(json, "external-contents", path);
	gt_json_object_end(json);
	return name.failed ? -ENOMEM : 0;
}

/* The overlay, in YAML, of which JSON is a part. */
static int put_overlay(const struct gt_cl_source *source, struct gt_cl_files *files,
		       struct gt_strbuf *text)
{
	struct gt_json json = GT_JSON_INIT(text);
	int error = 0;

	gt_json_object_begin(&json, NULL);
	gt_json_u64(&json, "version", 0);
	gt_json_array_begin(&json, "roots");
	for (size_t i = 0; i < source->header_count && !error; i++)
		error = put_header(&source->headers[i], files, &json);
	gt_json_array_end(&json);
	gt_json_object_end(&json);
	return error ? error : text->failed ? -ENOMEM : 0;
}

int gt_cl_headers_add(const struct gt_cl_source *source, struct gt_cl_files *files,
		      char overlay[GT_CL_HEADER_PATH], struct gt_diag *diag)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	int file;

	if (source->header_count > GT_CL_MAX_HEADERS)
		return gt_diag(diag, -E2BIG, "device", NULL, "there are more than %d headers",
			       GT_CL_MAX_HEADERS);
	file = put_overlay(source, files, &text);
	if (!file)
		file = gt_cl_files_add(files, text.data, text.length);
	if (file < 0)
		return gt_diag(diag, -ENOMEM, "device", NULL, "cannot create a file in memory");
	put_path(overlay, file);
	return 0;
}
