/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_hip.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "elf/elf.h"
#include "fatbin/bundle.h"

enum {
	MAX_SECTION = 512 << 20, /* bytes, and those of compressed bundles */
	MAX_NAME = 64,           /* characters of a processor's */
	MAX_NAMES = 200,         /* of all */
};

/* The remark on each kind of code, before the processors. NULL: none. */
static const char *const remarks[] = {
	[GT_BUNDLE_MACHINE] = "no portable intermediate code, no program is inserted",
	[GT_BUNDLE_SPIRV] = "SPIR-V, into which programs are inserted where the HIP library builds "
			    "it by OpenCL",
	[GT_BUNDLE_UNKNOWN] = "unknown code, no program is inserted",
};

struct hip_kernels {
	struct gt_strbuf names[gt_countof(remarks)]; /* of processors, each with ", " */
};

/* Whether a name is in a list already; `name` ends with its separator, as those in the list do. */
static bool has_name(const struct gt_strbuf *list, const char *name)
{
	const char *found = strstr(gt_strbuf_string(list), name);

	return found && (found == gt_strbuf_string(list) || found[-1] == ' ');
}

static void add_entry(struct hip_kernels *kernels, const struct gt_bundle_entry *entry)
{
	struct gt_strbuf *list = &kernels->names[entry->code];
	gt_auto_strbuf raw = GT_STRBUF_INIT, name = GT_STRBUF_INIT;

	if (list->length > MAX_NAMES)
		return;
	gt_strbuf_add(&raw, entry->processor,
		      entry->processor_length < MAX_NAME ? entry->processor_length : MAX_NAME);
	gt_put_printable(&name, raw.length ? gt_strbuf_string(&raw) : "unknown");
	gt_strbuf_puts(&name, ", ");
	if (!has_name(list, gt_strbuf_string(&name)))
		gt_strbuf_puts(list, gt_strbuf_string(&name));
}

/* 0 or -Exxx. */
static int examine_bundles(const void *bytes, size_t size, struct hip_kernels *ret_kernels,
			   struct gt_diag *diag)
{
	struct gt_bundle_entry entry;
	struct gt_bundles bundles;
	int result = gt_bundles_open(bytes, size, &bundles, diag);

	while (!result && (result = gt_bundles_next(&bundles, &entry, diag)) == 1) {
		add_entry(ret_kernels, &entry);
		result = 0;
	}
	return result;
}

/* The same where the bundles may be compressed. */
static int examine_section(const struct gt_file *section, struct hip_kernels *ret_kernels,
			   struct gt_diag *diag)
{
	int error = examine_bundles(section->data, section->size, ret_kernels, diag);
	gt_auto_strbuf bundles = GT_STRBUF_INIT;

	if (error != -EOPNOTSUPP)
		return error;
	*diag = (struct gt_diag){0};
	error = gt_bundles_decompress(section->data, section->size, MAX_SECTION, &bundles, diag);
	return error ? error : examine_bundles(bundles.data, bundles.length, ret_kernels, diag);
}

static void remark_kernels(const struct hip_kernels *kernels, void (*remark)(const char *text))
{
	for (size_t i = 0; i < gt_countof(remarks); i++) {
		const struct gt_strbuf *names = &kernels->names[i];
		gt_auto_strbuf text = GT_STRBUF_INIT;

		if (!remarks[i] || names->length <= strlen(", "))
			continue;
		gt_strbuf_printf(&text, "HIP kernels (%.*s): %s",
				 (int)(names->length - strlen(", ")), names->data, remarks[i]);
		remark(gt_strbuf_string(&text));
	}
}

void gt_inject_remark_hip(const struct gt_command *command, void (*remark)(const char *text))
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct hip_kernels kernels = {0};
	struct gt_diag diag = {0};
	struct gt_file section;
	int error;

	if (!command->count || gt_elf_open(command->paths[command->count - 1], &elf, &diag) ||
	    gt_elf_read_section(elf, ".hip_fatbin", MAX_SECTION, &section, &diag))
		return;
	error = examine_section(&section, &kernels, &diag);
	if (error) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_strbuf_printf(&text, "HIP kernels: %s", diag.text);
		remark(gt_strbuf_string(&text));
	}
	remark_kernels(&kernels, remark);
	for (size_t i = 0; i < gt_countof(kernels.names); i++)
		gt_strbuf_free(&kernels.names[i]);
	gt_file_free(&section);
}
