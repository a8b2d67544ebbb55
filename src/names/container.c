/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/container.h"

#include <stddef.h>
#include <string.h>

#define DIGITS (GT_CONTAINER_ID - 1)
#define SCOPE ".scope" /* of systemd */

static bool contains(const char *text, size_t length, const char *word)
{
	return memmem(text, length, word, strlen(word));
}

/* What watches over a container is named after it, too, and is outside of it. */
static bool is_watcher(const char *prefix, size_t length)
{
	return contains(prefix, length, "conmon");
}

static bool find_id(const char *name, size_t length, char ret_id[GT_CONTAINER_ID])
{
	const char *id;

	if (length > strlen(SCOPE) && !memcmp(name + length - strlen(SCOPE), SCOPE, strlen(SCOPE)))
		length -= strlen(SCOPE);
	if (length < DIGITS)
		return false;
	id = name + length - DIGITS;
	if (strspn(id, "0123456789abcdef") < DIGITS)
		return false;
	if (id > name && ((id[-1] != '-' && id[-1] != ':') || is_watcher(name, id - name)))
		return false;
	memcpy(ret_id, id, DIGITS);
	ret_id[DIGITS] = '\0';
	return true;
}

bool gt_container_id(const char *path, char ret_id[GT_CONTAINER_ID])
{
	size_t end = strlen(path);

	while (end) {
		size_t start = end;

		while (start && path[start - 1] != '/')
			start--;
		if (find_id(path + start, end - start, ret_id))
			return true;
		end = start ? start - 1 : 0;
	}
	return false;
}
