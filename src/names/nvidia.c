/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/nvidia.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "names/devices.h"

/* /proc: "The /proc file system interface" in the driver's README; MIG: NVIDIA's MIG user guide. */
#define BOUND "/sys/bus/pci/drivers/nvidia"
#define INFORMATION "/proc/driver/nvidia/gpus/%s/information"
#define INSTANCES "/proc/driver/nvidia/capabilities/gpu%s/mig"
#define LONGEST 65536

/* Of a list of PCI devices, which has other entries, too: "0000:3b:00.0". */
static bool is_address(const char *name)
{
	size_t length = strlen(name);

	return isxdigit((unsigned char)name[0]) && length > 8 && name[length - 2] == '.' &&
	       strspn(name, "0123456789abcdefABCDEF:.") == length;
}

/* The PCI address of the only device that is bound to the driver; false: none, or several. */
static bool find_only(const char *root, char *ret_address, size_t room)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct dirent *entry;
	unsigned count = 0;
	DIR *directory;

	gt_strbuf_printf(&path, "%s" BOUND, root);
	directory = opendir(gt_strbuf_string(&path));
	while (directory && (entry = readdir(directory))) {
		if (!is_address(entry->d_name) || strlen(entry->d_name) >= room)
			continue;
		strcpy(ret_address, entry->d_name);
		count++;
	}
	if (directory)
		closedir(directory);
	return count == 1;
}

/* The value behind "NAME:" and blanks in a text of such lines; *ret_length of it. NULL: none. */
static const char *value_of(const char *text, const char *name, size_t *ret_length)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
		const char *value = line + length + 1;

		if (strncmp(line, name, length) || line[length] != ':')
			continue;
		value += strspn(value, " \t");
		*ret_length = strcspn(value, "\n");
		while (*ret_length && isspace((unsigned char)value[*ret_length - 1]))
			--*ret_length;
		return value;
	}
	return NULL;
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* "GPU-3f2a…": false where the driver does not know it yet and gives question marks. */
static bool parse_uuid(const char *text, size_t length, uint8_t ret_uuid[16])
{
	unsigned count = 0;

	if (length != 4 + GT_UUID_TEXT - 1 || strncmp(text, "GPU-", 4))
		return false;
	for (size_t i = 4; i < length; i++) {
		if (text[i] == '-' && (i == 12 || i == 17 || i == 22 || i == 27))
			continue;
		if (!isxdigit((unsigned char)text[i]) || count == 32)
			return false;
		ret_uuid[count / 2] =
			(uint8_t)(count % 2 ? ret_uuid[count / 2] << 4 | digit(text[i])
					    : digit(text[i]));
		count++;
	}
	return count == 32;
}

/* Where a GPU is divided, its ordinals are those of its instances. */
static bool is_divided(const char *root, const char *minor, size_t length)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	gt_auto_strbuf number = GT_STRBUF_INIT;
	struct dirent *entry;
	bool divided = false;
	DIR *directory;

	gt_strbuf_add(&number, minor, length);
	gt_strbuf_printf(&path, "%s" INSTANCES, root, gt_strbuf_string(&number));
	directory = opendir(gt_strbuf_string(&path));
	while (directory && (entry = readdir(directory)))
		divided |= !strncmp(entry->d_name, "gi", 2);
	if (directory)
		closedir(directory);
	return divided;
}

struct gt_event *gt_nvidia_only_device(const char *root)
{
	size_t uuid_length, name_length = 0, minor_length;
	const char *text, *uuid_text, *name_text, *minor;
	gt_auto_strbuf path = GT_STRBUF_INIT, name = GT_STRBUF_INIT;
	gt_auto_file file = {0};
	char address[64];
	uint8_t uuid[16];

	if (!find_only(root, address, sizeof(address)))
		return NULL;
	gt_strbuf_printf(&path, "%s" INFORMATION, root, address);
	if (gt_file_read(gt_strbuf_string(&path), LONGEST, &file, NULL))
		return NULL;
	text = (const char *)file.data;
	uuid_text = value_of(text, "GPU UUID", &uuid_length);
	minor = value_of(text, "Device Minor", &minor_length);
	if (!uuid_text || !minor || !parse_uuid(uuid_text, uuid_length, uuid) ||
	    is_divided(root, minor, minor_length))
		return NULL;
	name_text = value_of(text, "Model", &name_length);
	if (name_text)
		gt_strbuf_add(&name, name_text, name_length);
	return gt_device_event(0, 0, uuid, gt_strbuf_string(&name));
}
