/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes a fatbin of PTX files, to be embedded into a CUDA program that clang builds. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "fatbin/fatbin.h"

enum { MAX_INPUT = 128 << 20 };

static const char usage[] =
	"usage: mkfatbin [--compress none|lz4|zstd] [--arch 75] -o OUT.fatbin IN.ptx…\n";

struct mkfatbin_options {
	enum gt_fatbin_compression compression;
	uint64_t architecture; /* 0: that of each text's .target */
	const char *output;
};

static int parse_options(int argc, char **argv, struct mkfatbin_options *options)
{
	static const struct option known[] = {
		{"compress", required_argument, NULL, 'c'},
		{"arch", required_argument, NULL, 'a'},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "o:h", known, NULL)) >= 0) {
		int error = 0;

		if (option == 'c')
			error = gt_fatbin_compression_parse(optarg, &options->compression);
		else if (option == 'a')
			error = gt_parse_u64(optarg, &options->architecture) ||
						options->architecture > 9999
					? -EINVAL
					: 0;
		else if (option == 'o')
			options->output = optarg;
		else
			return -EINVAL;
		if (error) {
			fprintf(stderr, "mkfatbin: \"%s\" is no value for --%s\n", optarg,
				option == 'c' ? "compress" : "arch");
			return error;
		}
	}
	return options->output && optind < argc ? 0 : -EINVAL;
}

static int fail(const struct gt_diag *diag, const char *path)
{
	fprintf(stderr, "mkfatbin: %s: %s\n", path, diag->text);
	return 1;
}

static int write_output(const char *path, const struct gt_strbuf *buffer)
{
	gt_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int error = fd < 0 ? -errno : gt_write_all(fd, buffer->data, buffer->length);

	if (!error)
		return 0;
	fprintf(stderr, "mkfatbin: %s: %s\n", path, strerror(-error));
	return 1;
}

static int make(const struct mkfatbin_options *options, char **paths, size_t count)
{
	gt_autofree struct gt_fatbin_source *sources = calloc(count, sizeof(*sources));
	gt_autofree struct gt_file *files = calloc(count, sizeof(*files));
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	int status = sources && files ? 0 : 1;

	for (size_t i = 0; i < count && !status; i++) {
		if (gt_file_read(paths[i], MAX_INPUT, &files[i], &diag))
			status = fail(&diag, paths[i]);
		else if (gt_fatbin_classify(files[i].data, files[i].size) != GT_FATBIN_IMAGE_PTX)
			status = fail(&(struct gt_diag){.text = "no PTX text"}, paths[i]);
		sources[i] =
			(struct gt_fatbin_source){.kind = GT_FATBIN_KIND_PTX,
						  .architecture = (uint32_t)options->architecture,
						  .data = files[i].data,
						  .size = files[i].size};
	}
	if (!status && gt_fatbin_write(sources, count, options->compression, &buffer, &diag))
		status = fail(&diag, options->output);
	if (!status)
		status = write_output(options->output, &buffer);
	for (size_t i = 0; files && i < count; i++)
		gt_file_free(&files[i]);
	return status;
}

int main(int argc, char **argv)
{
	struct mkfatbin_options options = {0};

	if (parse_options(argc, argv, &options)) {
		fputs(usage, stderr);
		return 2;
	}
	return make(&options, argv + optind, (size_t)(argc - optind));
}
