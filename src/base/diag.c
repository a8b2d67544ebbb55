/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gt_diag(struct gt_diag *diag, int error, const char *stage, const char *place,
	    const char *format, ...)
{
	va_list arguments;

	if (!diag || gt_diag_is_set(diag))
		return error;
	snprintf(diag->stage, sizeof(diag->stage), "%s", stage);
	snprintf(diag->place, sizeof(diag->place), "%s", place ? place : "");
	va_start(arguments, format);
	vsnprintf(diag->text, sizeof(diag->text), format, arguments);
	va_end(arguments);
	return error;
}

/* The common errors of files; [GT_FILE_READ] and [GT_FILE_WRITTEN]. */
static const struct {
	int error;
	const char *advice[2];
} file_errors[] = {
	{ENOENT, {": check the path", ": create its folder, or choose another file"}},
	{ENOTDIR,
	 {": check the path: a part of it is no folder",
	  ": check the path: a part of it is no folder"}},
	{EISDIR, {": name a file in it", ": name a file in it"}},
	{EACCES,
	 {": use sudo, or have its owner permit reading",
	  ": use sudo, or choose a file in another folder"}},
	{EPERM,
	 {": use sudo, or have its owner permit reading",
	  ": use sudo, or choose a file in another folder"}},
	{ENOSPC, {"", ": free space, or choose a file on another disk"}},
	{EDQUOT, {"", ": free space, or choose a file on another disk"}},
	{EFBIG, {"", ": raise the limit of file sizes (ulimit -f)"}},
	{EROFS, {"", ": choose a file on another disk"}},
	{ETXTBSY, {"", ": end the program that it is, or choose another file"}},
	{EMFILE,
	 {": raise the limit of open files (ulimit -n)",
	  ": raise the limit of open files (ulimit -n)"}},
};

const char *gt_file_advice(int error, enum gt_file_use use)
{
	for (size_t i = 0; i < sizeof(file_errors) / sizeof(*file_errors); i++)
		if (file_errors[i].error == -error)
			return file_errors[i].advice[use];
	return "";
}

int gt_diag_file(struct gt_diag *diag, int error, const char *stage, const char *path,
		 enum gt_file_use use, const char *what)
{
	return gt_diag(diag, error, stage, path, "%s%s%s%s", what ? what : "", what ? ": " : "",
		       strerror(-error), gt_file_advice(error, use));
}
