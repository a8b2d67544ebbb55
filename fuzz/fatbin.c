/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as an archive and as an image; what is read is uncompressed, written again and read
 * again. */
#include <stdlib.h>
#include <string.h>

#include "fatbin/archive.h"
#include "fatbin/cubin_ptx.h"
#include "fatbin/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BIGGEST = 1 << 20 }; /* bytes of a payload that are worth the time */

static void write_again(const struct gt_fatbin_entry *entry,
			const struct gt_fatbin_payload *payload,
			enum gt_fatbin_compression compression)
{
	struct gt_fatbin_source source = {.kind = entry->kind,
					  .version_major = entry->version_major,
					  .version_minor = entry->version_minor,
					  .architecture = entry->architecture,
					  .flags = entry->flags,
					  .name = entry->name,
					  .name_length = entry->name_length,
					  .options = entry->options,
					  .options_length = entry->options_length,
					  .data = payload->data,
					  .size = payload->size};
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	gt_auto(fatbin) struct gt_fatbin *again = NULL;
	gt_auto_fatbin_payload copy = {0};

	if (gt_fatbin_write(&source, 1, compression, &buffer, NULL))
		return;
	if (gt_fatbin_open(buffer.data, buffer.length, &again, NULL) ||
	    gt_fatbin_extract(again->entries, &copy, NULL))
		abort();
	if (entry->kind != GT_FATBIN_KIND_PTX && copy.size < payload->size)
		abort();
	if (memcmp(copy.data, payload->data, strnlen(payload->data, payload->size)) != 0)
		abort();
}

/* The PTX in a cubin is text, and its options are plain words. */
static void read_ptx(const struct gt_fatbin_payload *payload)
{
	gt_auto_cubin_ptx ptx = {0};

	if (gt_cubin_ptx_read(payload->data, payload->size, &ptx, NULL))
		return;
	gt_vec_each (text, &ptx.texts)
		if (strlen(text->text) != text->length)
			abort();
	if (strpbrk(gt_strbuf_string(&ptx.options), "'\"$\n/"))
		abort();
}

/* All bytes of a member's code are in the archive. */
static int see_code(void *context, const char *name, const void *code, size_t size)
{
	volatile uint8_t last = size ? ((const uint8_t *)code)[size - 1] : 0;

	(void)last;
	return strlen(name) > 127;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct gt_diag diag = {0};

	if (gt_archive_each(data, size, see_code, NULL, NULL, NULL) == 1)
		abort();
	if (gt_fatbin_open(data, size, &fatbin, &diag)) {
		if (fatbin || !gt_diag_is_set(&diag))
			abort();
		return 0;
	}
	gt_fatbin_best_ptx(fatbin, 75);
	gt_fatbin_best_cubin(fatbin, 75);
	for (size_t i = 0; i < fatbin->entry_count && i < 8; i++) {
		gt_auto_fatbin_payload payload = {0};

		if (fatbin->entries[i].size > BIGGEST ||
		    gt_fatbin_extract(&fatbin->entries[i], &payload, NULL))
			continue;
		if (fatbin->entries[i].kind == GT_FATBIN_KIND_ELF)
			read_ptx(&payload);
		write_again(&fatbin->entries[i], &payload, i % 3);
	}
	return 0;
}
