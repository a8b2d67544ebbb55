# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # what it sets, the tests use
#
# What the tests of the command line share; each file begins with `load helper`.
#
#	@test "an unknown command is an error that suggests the nearest one" {
#		gputap trac
#		expect_status 2
#		expect_error "gputap: unknown command 'trac'; the nearest is 'trace'"
#	}

bats_require_minimum_version 1.5.0

root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
build=${BUILD:-$root/build}
examples=$build/examples
softgpu=$build/softgpu
# Kept away from what the caller has set: only the tests decide what gputap sees.
unset GPUTAP_GPU SOFTGPU_LOG LD_LIBRARY_PATH LD_PRELOAD
unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID
export LC_ALL=C.UTF-8 TZ=UTC NO_COLOR=1
# No test has what another one has left.
export GPUTAP_CACHE=

# Runs a command; its status, standard output and standard error are $status, $output, $stderr
# (and by lines "${lines[@]}", "${stderr_lines[@]}"), without empty lines, as `run --separate-stderr` sets
# them. That function of bats starts three more processes and traces dozens of commands: the tests
# call this one thousands of times.
observe() {
	local options=$- errors=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/errors-$BASHPID-$EPOCHREALTIME
	set +eET
	output=$("$@" 2>"$errors") && status=0 || status=$?
	read -d '' -r stderr <"$errors" || :
	IFS=$'\n' read -d '' -r -a lines <<<"$output" || :
	IFS=$'\n' read -d '' -r -a stderr_lines <<<"$stderr" || :
	set "-$options"
}

gputap() {
	observe "$build/gputap" "$@"
}

# Runs a program on the software device without gputap.
on_softgpu() {
	observe env LD_LIBRARY_PATH="$softgpu" "$@"
}

# driver_in_front: builds front/libcuda.so.1 of tests/programs/driver_front.c, in front of the software GPU's.
driver_in_front() {
	need_command gcc
	mkdir front
	# A library without a name is needed by its path.
	gcc -shared -o front/behind.so -x c /dev/null
	gcc -shared -fPIC -D_GNU_SOURCE -DBEHIND="\"$PWD/front/behind.so\"" -I "$root/softgpu/include" \
		-Wl,-soname,libcuda.so.1 -Wl,--no-as-needed -o front/libcuda.so.1 \
		"$root/tests/programs/driver_front.c" "$PWD/front/behind.so" -ldl
	ln -sf "$softgpu/libcuda.so.1" front/behind.so
}

# fail MESSAGE: fail the test, with status and output of the last command.
fail() {
	printf '%s\n' "$1" "status: ${status:-}" "standard output:" "${output:-}" \
		"standard error:" "${stderr:-}" >&2
	return 1
}

expect_status() {
	[ "$status" = "$1" ] || fail "the status is $status, not $1"
}

# The whole standard output, or the whole standard error, is this text.
expect_output() {
	[ "$output" = "$1" ] || fail "the output is not: $1"
}

expect_error() {
	[ "$stderr" = "$1" ] || fail "the error is not: $1"
}

# Some line of it matches this extended regular expression.
expect_output_line() {
	grep -qE -- "$1" <<<"$output" || fail "no line of the output matches: $1"
}

expect_error_line() {
	grep -qE -- "$1" <<<"$stderr" || fail "no line of the error matches: $1"
}

expect_no_output_line() {
	! grep -qE -- "$1" <<<"$output" || fail "a line of the output matches: $1"
}

expect_no_error_line() {
	! grep -qE -- "$1" <<<"$stderr" || fail "a line of the error matches: $1"
}

# Asks the standard output, one JSON object a line, a question whose answer is true.
expect_json() {
	jq --exit-status --slurp "$1" <<<"$output" >/dev/null || fail "not true of the JSON: $1"
}

# Whether this process has a capability, by its number in <linux/capability.h>.
has_capability() {
	local effective
	effective=$(sed -n 's/^CapEff:[[:blank:]]*//p' /proc/self/status)
	(((0x$effective >> $1) & 1))
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# Uprobes through BPF: what `gputap trace` needs without an agent.
need_probes() {
	[ -e /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF (/sys/kernel/btf/vmlinux)"
	[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
	has_capability 21 || { has_capability 39 && has_capability 38; } ||
		skip "needs CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON"
}

need_command() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
}

# need_file PATH WHAT-IT-IS
need_file() {
	[ -e "$1" ] || skip "there is no $2"
}

need_opencl() {
	need_file "$examples/opencl/opencl-vectoradd" "OpenCL example (ocl-icd-opencl-dev, opencl-c-headers)"
	"$examples/opencl/opencl-vectoradd" >/dev/null 2>&1 || skip "no OpenCL device (pocl-opencl-icd)"
}

# The counter of cycles that programs in OpenCL kernels read (src/base/cycle_clock.h).
need_cycle_counter() {
	[ "$(uname -m)" = x86_64 ] || skip "no counter of cycles of this CPU is known"
	grep -qw nonstop_tsc /proc/cpuinfo || skip "the counter of this CPU has no constant rate"
}

# wait_for COMMAND…: until the command succeeds. The limit is for hangs, on the slowest machine.
wait_for() {
	local end=$((SECONDS + 300))
	until "$@" 2>/dev/null; do
		((SECONDS < end)) || fail "waited in vain for: $*"
		sleep 0.05
	done
}

# Whether the process has no SIGINT pending.
has_taken_interrupt() {
	local pending
	pending=$(sed -n 's/^ShdPnd:[[:blank:]]*//p' /proc/"$1"/status)
	(((0x$pending & 2) == 0))
}
