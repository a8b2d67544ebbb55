# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Events of the kernel's sources of the processes that are selected, and of no others.

load ../cli/helper
load guest

setup() {
	need_modules fakegpu
	cd "$BATS_TEST_TMPDIR" || return
	group=gputap-test-$$
	mkdir -p "/sys/fs/cgroup/$group/inner" || skip "cgroup v2 cannot be written"
}

teardown() {
	rmdir "/sys/fs/cgroup/$group/inner" "/sys/fs/cgroup/$group" 2>/dev/null || :
}

# jobs_of NAME…: the pid and the number of jobs of each process with these events in out.json, as JSON.
jobs_of() {
	jq -c --slurp --arg name "$1" '[.[] | select(.source == "drm" and .name == $name)] | group_by(.pid) |
		map([.[0].pid, length])' out.json
}

@test "--cgroup shows the jobs, fences and system calls of that cgroup and those below alone" {
	as_under_6_12
	# shellcheck disable=SC2016 # expanded by the other shell
	inside='echo $$ >"$1/cgroup.procs"; shift; exec "$@"'
	gputap trace -e drm,fence,syscall --syscall ioctl --cgroup "$group" --json -o out.json -- sh -c "
		sh -c '$inside' sh /sys/fs/cgroup/$group/inner $fire submit 0 5 100
		sh -c '$inside' sh /sys/fs/cgroup/$group $fire submit 1 2 100
		$fire submit 0 3 100"
	expect_status 0
	"$fire" ledger >ledger.json
	# The ledger has the jobs of all three, in the order of their submission.
	jq -c '.jobs | map(.pid) | [(.[0:5] | unique), (.[5:7] | unique), (.[7:] | unique)]' ledger.json >pids
	run -0 jq -c 'flatten | length, (unique | length)' pids
	[ "$output" = $'3\n3' ]
	for step in queue run done; do
		[ "$(jobs_of $step)" = "$(jq -c '[[.[0][0], 5], [.[1][0], 2]] | sort' pids)" ] || fail "$(cat out.json)"
	done
	# Of the third process, nothing of any source.
	run -0 jq --slurp --slurpfile pids pids '[.[] | select(.schema == "gputap.event.1") | .pid] | unique |
		. == ([$pids[0][0][0], $pids[0][1][0]] | sort)' out.json
	[ "$output" = true ] || fail "$(cat pids out.json)"
	run -0 jq --slurp '[.[] | select(.source == "fence" and .name == "signaled")] | length >= 7' out.json
	[ "$output" = true ]
	# Each opens the device, submits and waits.
	run -0 jq --slurp '[.[] | select(.source == "syscall" and .name == "ioctl")] | length' out.json
	[ "$output" = 6 ]
}
