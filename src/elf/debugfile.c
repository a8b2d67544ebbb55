/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/debugfile.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>

#define LINK_LIMIT 4096             /* bytes of .gnu_debuglink */
#define DATA_LIMIT (64u << 20)      /* bytes of .gnu_debugdata, compressed and uncompressed */
#define DECODER_MEMORY (128u << 20) /* bytes for xz; its preset -9 needs 65 MB */
#define CHECKED_LIMIT (1u << 30)    /* bytes of a file whose checksum is computed */

/* .gnu_debuglink: a name, NULs up to a multiple of 4, u32 CRC-32 of the file (GDB manual). */
struct debug_link {
	char name[256];
	uint32_t checksum;
};

static bool read_link(struct gt_elf *program, struct debug_link *ret_link)
{
	gt_auto_file section = {0};
	size_t length, at;

	if (gt_elf_read_section(program, ".gnu_debuglink", LINK_LIMIT, &section, NULL))
		return false;
	length = strnlen((const char *)section.data, section.size);
	at = (length + 4) & ~(size_t)3;
	if (!length || length >= sizeof(ret_link->name) || at + 4 > section.size ||
	    memchr(section.data, '/', length))
		return false;
	memcpy(ret_link->name, section.data, length + 1);
	memcpy(&ret_link->checksum, section.data + at, 4);
	return true;
}

static bool has_checksum(const struct gt_elf *elf, uint32_t expected)
{
	static const size_t chunk_size = 1 << 20;
	gt_autofree uint8_t *chunk = malloc(chunk_size);
	uLong checksum = crc32(0, NULL, 0);

	if (!chunk || elf->info.size > CHECKED_LIMIT)
		return false;
	for (uint64_t at = 0; at < elf->info.size; at += chunk_size) {
		uint64_t left = elf->info.size - at;
		size_t size = left < chunk_size ? left : chunk_size;

		if (gt_elf_read(elf, at, chunk, size))
			return false;
		checksum = crc32(checksum, chunk, (uInt)size);
	}
	return checksum == expected;
}

static bool belongs(const struct gt_elf *program, const struct gt_elf *debug,
		    const uint32_t *checksum)
{
	const struct gt_elf_info *mine = &program->info, *other = &debug->info;

	if (mine->device == other->device && mine->inode == other->inode)
		return false;
	if (mine->build_id)
		return mine->build_id_size == other->build_id_size &&
		       !memcmp(mine->build_id, other->build_id, mine->build_id_size);
	return checksum && has_checksum(debug, *checksum);
}

static int try_path(const struct gt_elf *program, const char *path, const uint32_t *checksum,
		    struct gt_elf **ret_debug)
{
	gt_auto(elf) struct gt_elf *debug = NULL;
	int error = gt_elf_open_debug(program, path, &debug, NULL);

	if (error)
		return error == -ENOMEM ? error : -ENOENT;
	if (!belongs(program, debug, checksum))
		return -ENOENT;
	*ret_debug = gt_take(debug);
	return 0;
}

static int try_build_id(struct gt_elf *program, const char *directory, struct gt_elf **ret_debug)
{
	gt_auto_strbuf id = GT_STRBUF_INIT, path = GT_STRBUF_INIT;

	gt_elf_build_id(program, &id);
	if (id.length < 4)
		return -ENOENT;
	gt_strbuf_printf(&path, "%s/.build-id/%.2s/%s.debug", directory, id.data, id.data + 2);
	return path.failed ? -ENOMEM : try_path(program, path.data, NULL, ret_debug);
}

static int try_link(struct gt_elf *program, const char *directory, struct gt_elf **ret_debug)
{
	const char *path = program->info.path, *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0, error = -ENOENT;
	struct debug_link link;

	if (!slash || !read_link(program, &link))
		return -ENOENT;
	for (int way = 0; way < 3 && error == -ENOENT; way++) {
		gt_auto_strbuf candidate = GT_STRBUF_INIT;

		if (way == 2 && (!*directory || path[0] != '/'))
			break;
		gt_strbuf_printf(&candidate, "%s%.*s/%s%s", way == 2 ? directory : "", length, path,
				 way == 1 ? ".debug/" : "", link.name);
		error = candidate.failed
				? -ENOMEM
				: try_path(program, candidate.data, &link.checksum, ret_debug);
	}
	return error;
}

int gt_debug_file_open(struct gt_elf *program, const char *directory, struct gt_elf **ret_debug)
{
	int error = *directory ? try_build_id(program, directory, ret_debug) : -ENOENT;

	return error == -ENOENT ? try_link(program, directory, ret_debug) : error;
}

static int decode(const struct gt_file *packed, struct gt_strbuf *text)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = lzma_stream_decoder(&stream, DECODER_MEMORY, 0);
	uint8_t chunk[16384];

	stream.next_in = packed->data;
	stream.avail_in = packed->size;
	while (result == LZMA_OK && text->length <= DATA_LIMIT && !text->failed) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		result = lzma_code(&stream, LZMA_FINISH);
		gt_strbuf_add(text, (const char *)chunk, sizeof(chunk) - stream.avail_out);
	}
	lzma_end(&stream);
	if (text->failed || result == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (text->length > DATA_LIMIT || result == LZMA_MEMLIMIT_ERROR)
		return -EFBIG;
	return result == LZMA_STREAM_END ? 0 : -EBADMSG;
}

int gt_debug_data_open(struct gt_elf *program, struct gt_file *ret_bytes, struct gt_elf **ret_debug)
{
	gt_auto_file packed = {0}, bytes = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	int error = gt_elf_read_section(program, ".gnu_debugdata", DATA_LIMIT, &packed, NULL);

	if (!error)
		error = decode(&packed, &text);
	if (error)
		return error;
	bytes.size = text.length;
	bytes.data = (uint8_t *)gt_strbuf_steal(&text);
	if (!bytes.data)
		return -ENOMEM;
	error = gt_elf_open_debug_memory(program, bytes.data, bytes.size, ret_debug, NULL);
	if (error)
		return error;
	*ret_bytes = bytes;
	bytes = (struct gt_file){0};
	return 0;
}
