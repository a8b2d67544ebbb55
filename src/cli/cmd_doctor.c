/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "doctor": what works here, and why the rest does not. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/vendor_runtimes.h"
#include "launch/gpu.h"
#include "probe/api/multi_link.h"
#include "probe/api/watch.h"
#include "probe/hold/hold.h"
#include "probe/kernel_types.h"
#include "probe/load.h"
#include "probe/source.h"

struct doctor_options {
	bool json;
};

static const struct gt_option options[] = {
	{0, "json", NULL, "print a JSON object", GT_OPTION_FLAG,
	 offsetof(struct doctor_options, json), NULL},
};

enum doctor_verdict {
	FINE,
	WORSE,  /* something is less good without it */
	BROKEN, /* tracing does not work without it */
};

static const char *const verdicts[] = {"ok", "missing", "broken"};

/* One examination. Returns the verdict and says in `text` what it found. */
struct examination {
	const char *name;
	enum doctor_verdict (*examine)(struct gt_strbuf *text);
};

static enum doctor_verdict examine_kernel(struct gt_strbuf *text)
{
	struct utsname name;

	if (uname(&name) < 0)
		return WORSE;
	gt_strbuf_printf(text, "%s %s on %s", name.sysname, name.release, name.machine);
	return FINE;
}

static enum doctor_verdict examine_btf(struct gt_strbuf *text)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		gt_strbuf_puts(text, "the kernel describes its types (/sys/kernel/btf/vmlinux)");
		return FINE;
	}
	gt_strbuf_printf(
		text, "/sys/kernel/btf/vmlinux: %s; a kernel with CONFIG_DEBUG_INFO_BTF is needed",
		strerror(errno));
	return BROKEN;
}

static enum doctor_verdict examine_bpf(struct gt_strbuf *text)
{
	struct gt_diag diag = {0};

	if (!gt_load_check(&diag)) {
		gt_strbuf_puts(text, "programs can be loaded");
		return FINE;
	}
	gt_strbuf_puts(text, diag.text);
	return BROKEN;
}

static bool has_capability(uint64_t effective, unsigned number)
{
	return effective >> number & 1;
}

static enum doctor_verdict examine_privileges(struct gt_strbuf *text)
{
	gt_auto_file status = {0};
	const char *line = NULL;
	uint64_t effective;

	if (!gt_file_read("/proc/self/status", 65536, &status, NULL))
		line = strstr((const char *)status.data, "\nCapEff:");
	if (!line || sscanf(line, "\nCapEff: %" SCNx64, &effective) != 1) {
		gt_strbuf_puts(text, "/proc/self/status has no capabilities");
		return WORSE;
	}
	if (has_capability(effective, CAP_SYS_ADMIN)) {
		gt_strbuf_puts(text, "those of root");
		return FINE;
	}
	if (has_capability(effective, CAP_BPF) && has_capability(effective, CAP_PERFMON)) {
		bool ptrace = has_capability(effective, CAP_SYS_PTRACE);

		gt_strbuf_puts(text, ptrace ? "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"
					    : "CAP_BPF and CAP_PERFMON without CAP_SYS_PTRACE: "
					      "processes of other users can be traced only where "
					      "gputap sees their files at the same paths");
		return ptrace ? FINE : WORSE;
	}
	gt_strbuf_puts(text, "neither root nor CAP_BPF with CAP_PERFMON: only captures can be "
			     "shown; use sudo, or 'setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep' "
			     "on gputap");
	return BROKEN;
}

static enum doctor_verdict examine_multi(struct gt_strbuf *text)
{
	int error = gt_multi_link_check(GT_MULTI_ENTRY);

	if (!error) {
		gt_strbuf_printf(
			text, "many functions are attached by one call%s",
			gt_multi_link_check(GT_MULTI_SESSION)
				? "; returns take another one (sessions require Linux 6.13)"
				: ", entries and returns together (sessions)");
		return FINE;
	}
	if (error == -EPERM || error == -EACCES) {
		gt_strbuf_puts(text, "cannot be tried without the privileges for BPF");
		return WORSE;
	}
	gt_strbuf_printf(text,
			 "%s: functions are attached by perf events, which takes longer "
			 "(Linux 6.6 and later have it)",
			 strerror(-error));
	return WORSE;
}

static enum doctor_verdict examine_watch(struct gt_strbuf *text)
{
	gt_auto(watch) struct gt_watch *watch = NULL;
	struct gt_diag diag = {0};

	if (!gt_watch_open(&watch, &diag)) {
		gt_strbuf_puts(text, "libraries that are loaded later are seen (perf events)");
		return FINE;
	}
	gt_strbuf_puts(text, diag.text);
	return WORSE;
}

static enum doctor_verdict examine_hold(struct gt_strbuf *text)
{
	struct gt_diag diag = {0};

	if (!gt_hold_check(&diag)) {
		gt_strbuf_puts(text, "libraries that a command opens later are traced from their "
				     "first call (seccomp)");
		return FINE;
	}
	gt_strbuf_printf(text,
			 "%s: the first calls into libraries that a command opens later may "
			 "be missed, which the totals say",
			 diag.text);
	return WORSE;
}

static enum doctor_verdict examine_nvidia(struct gt_strbuf *text)
{
	bool there = gt_gpu_has_nvidia();

	gt_strbuf_puts(text, there ? "the driver is loaded"
				   : "no driver here: commands get the software GPU");
	return there ? FINE : WORSE;
}

static enum doctor_verdict examine_softgpu(struct gt_strbuf *text)
{
	gt_autofree char *directory = NULL;
	struct gt_diag diag = {0};

	if (!gt_gpu_soft_directory(&directory, &diag)) {
		gt_strbuf_printf(text, "its libraries are in %s", directory);
		return FINE;
	}
	gt_strbuf_puts(text, diag.text);
	return WORSE;
}

static enum doctor_verdict examine_opencl(struct gt_strbuf *text)
{
	return gt_vendor_runtime(GT_VENDOR_OPENCL, text) ? FINE : WORSE;
}

static enum doctor_verdict examine_hip(struct gt_strbuf *text)
{
	return gt_vendor_runtime(GT_VENDOR_HIP, text) ? FINE : WORSE;
}

static enum doctor_verdict examine_level_zero(struct gt_strbuf *text)
{
	return gt_vendor_runtime(GT_VENDOR_LEVEL_ZERO, text) ? FINE : WORSE;
}

static const struct examination examinations[] = {
	{"kernel", examine_kernel},
	{"BTF", examine_btf},
	{"privileges", examine_privileges},
	{"BPF", examine_bpf},
	{"uprobe_multi", examine_multi},
	{"library watch", examine_watch},
	{"library hold", examine_hold},
	{"NVIDIA driver", examine_nvidia},
	{"software GPU", examine_softgpu},
	{"OpenCL", examine_opencl},
	{"HIP", examine_hip},
	{"Level Zero", examine_level_zero},
};

/* without: what is optional and missing, "" if nothing. */
static void print_examination(struct gt_json *json, const char *name, enum doctor_verdict verdict,
			      const char *text, const char *without)
{
	if (!json) {
		printf("%-8s %-16s %s%s%s\n", verdicts[verdict], name, text, *without ? "; " : "",
		       without);
		return;
	}
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "name", name);
	gt_json_string(json, "verdict", verdicts[verdict]);
	gt_json_string(json, "text", text);
	gt_json_string(json, "without", without);
	gt_json_object_end(json);
}

/* What a source lacks; if it is the same as for BPF, a reference to that. */
static const char *explain_source(const struct gt_diag *source, const struct gt_diag *bpf)
{
	return strcmp(source->text, bpf->text) ? source->text : "for the same reason as BPF";
}

static int check_source(const struct gt_source *source, struct gt_kernel_types *types,
			struct gt_diag *diag)
{
	*diag = (struct gt_diag){0};
	return types ? source->check(types, diag)
		     : gt_diag(diag, -ENOMEM, "doctor", NULL, "out of memory");
}

static enum doctor_verdict examine_all(struct gt_json *json)
{
	struct gt_diag bpf = {0};
	gt_auto(kernel_types) struct gt_kernel_types *types = gt_kernel_types_new();
	enum doctor_verdict worst = FINE;
	struct gt_diag diag = {0};
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);
	int error = 0;

	for (size_t i = 0; i < gt_countof(examinations); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		enum doctor_verdict verdict = examinations[i].examine(&text);

		print_examination(json, examinations[i].name, verdict, gt_strbuf_string(&text), "");
		worst = verdict > worst ? verdict : worst;
	}
	gt_load_check(&bpf);
	for (size_t i = 0; i < count; i++) {
		enum doctor_verdict verdict;
		char name[64];

		/* Those of calls are in a row, and load the same programs. */
		if (!i || sources[i]->check != sources[i - 1]->check)
			error = check_source(sources[i], types, &diag);
		/* Layers are missing where the kernel has none; calls can be traced then. */
		verdict = !error ? FINE : sources[i]->group ? BROKEN : WORSE;
		snprintf(name, sizeof(name), "source %s", sources[i]->name);
		print_examination(json, name, verdict,
				  error ? explain_source(&diag, &bpf) : sources[i]->summary,
				  error ? "" : diag.text);
		worst = verdict > worst ? verdict : worst;
	}
	return worst;
}

static int run_doctor(const struct gt_cli_command *self, int count, char **arguments)
{
	struct doctor_options given = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);
	enum doctor_verdict worst;
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status != GT_GO_ON)
		return status;
	if (rest < count)
		return gt_cli_usage_error(self, "unexpected argument '%s'", arguments[rest]);
	gt_load_set_verbose(false);
	if (given.json) {
		gt_json_object_begin(&json, NULL);
		gt_json_string(&json, "schema", "gputap.doctor.1");
		gt_json_array_begin(&json, "examinations");
	}
	worst = examine_all(given.json ? &json : NULL);
	if (given.json) {
		gt_json_array_end(&json);
		gt_json_string(&json, "verdict", verdicts[worst]);
		gt_json_object_end(&json);
		puts(gt_strbuf_string(&text));
	}
	return worst == BROKEN ? GT_EXIT_FAILED : GT_EXIT_OK;
}

const struct gt_cli_command gt_command_doctor = {
	.name = "doctor",
	.summary = "Check what gputap can do on this machine",
	.usage = "[--json]",
	.description =
		"Each line has a verdict: ok; missing, where something is less good without it; "
		"or broken, where nothing can be traced without it. Exits with 1 if something is "
		"broken.",
	.options = options,
	.option_count = gt_countof(options),
	.run = run_doctor,
};
