# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # what it sets, the tests use; what it uses, helper sets
#
# What tests that trace have in common: `load helper`, then `load tracing`. They trace programs that
# are linked with a stand-in for the CUDA runtime, whose functions do nothing.

programs=$build/tests/programs
standin=$programs/standin
calls=$programs/calls
late=$programs/calls-late
callback=$programs/callback

use_standin() {
	need_probes
	export LD_LIBRARY_PATH=$standin
	cd "$BATS_TEST_TMPDIR" || return
}

# The stand-in takes the place of NVIDIA's library, so it is asked for as if it were that. That there
# is no driver beneath it is said, and nothing that these tests are about.
without_driver_note() {
	mapfile -t stderr_lines < <(grep -vE '^gputap: (recorded: )?no NVIDIA driver found' <<<"$stderr")
	stderr=$(printf '%s\n' "${stderr_lines[@]}")
}

trace() {
	gputap trace --gpu nvidia "$@"
	without_driver_note
}

# Starts `gputap trace -v` with these arguments as $tracer, its output in the files out and err, and
# waits until its probes are in place.
start_trace() {
	: >err # an earlier one's would be taken for its own
	"$build/gputap" trace --gpu nvidia -v "$@" >out 2>err 3>&- &
	tracer=$!
	wait_for grep -qE '^gputap: (attached|nothing to attach)' err
}

# Waits for it; its status, output and error are then what `observe` would have set.
end_trace() {
	status=0
	wait "$tracer" || status=$?
	output=$(cat out)
	stderr=$(cat err)
}

# The lines of calls among the standard error (output), each as: PROCESS EVENT TYPE DETAILS.
calls_of() {
	grep -E '\[(ENTER|EXIT)\]' <<<"$1" | sed -E 's/^([0-9:.]+ +)?([^ ]+) +[0-9]+ +/\2 /; s/ +/ /g'
}

count_of() {
	grep -cE -- "$2" <<<"$1" || true
}

# expect_count TEXT REGEX N: so many lines match.
expect_count() {
	local count
	count=$(count_of "$1" "$2")
	[ "$count" = "$3" ] || fail "$count lines match '$2', not $3"
}

# Without duration, addresses and process ids, which differ from run to run.
without_numbers() {
	sed -E 's/ \([0-9.]+ (ns|µs|ms|s)\)/ (TIME)/; s/0x[0-9a-f]+/0x…/g; s/^([^ ]+ +)[0-9]+ +/\1PID /' <<<"$1"
}
