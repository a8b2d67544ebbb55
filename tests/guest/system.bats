# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Sources of the kernel's own events that the machine of the tests cannot fire: page faults with
# their times, which need fexit or kprobes, and the suspend of the system.

load ../cli/helper
load guest

setup() {
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	cd "$BATS_TEST_TMPDIR" || return
}

@test "stat has the times of page faults: as many as there were, of each type" {
	gputap stat -e fault --json -o stat.json -- dd if=/dev/zero of=/dev/null bs=1M count=2
	expect_status 0
	run -0 jq -e '.totals[0].recorded as $recorded | .sources[0].processes |
		(map(.minor + .major + .uvm) | add) == $recorded and
		any(.process == "dd" and .writes >= 100) and
		all(.minor_duration.count == .minor and .major_duration.count == .major)' stat.json
}

@test "as many page faults of a process are shown as the kernel counts" {
	as_under_6_12
	cat >count.py <<-END
		import resource, subprocess
		child = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=4"], stderr=subprocess.DEVNULL)
		child.wait()
		usage = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(child.pid, usage.ru_minflt + usage.ru_majflt)
	END
	gputap trace -e fault --json -o out.json -- sh -c 'python3 count.py >counted'
	read -r process counted <counted
	[ "$counted" -gt 100 ] || fail "counted: $counted"
	run -0 jq -s "map(select(.name == \"page_fault\" and .pid == $process and .error == null)) |
		length, all(.duration > 0), all(.address != null)" out.json
	[ "$output" = "$(printf '%s\n' "$counted" true true)" ] || fail "counted: $counted; $(tail -n 3 out.json)"
	run -0 jq -s 'map(select(.schema == "gputap.totals.1"))[-1].lost' out.json
	[ "$output" = 0 ]
}

# The command is the only one that the kernel may kill; gputap is in the group, so that it reads the
# group's files before the command runs.
@test "a command that is killed since its cgroup has no memory left is reported, though it ends at once" {
	group=/sys/fs/cgroup/gputap-memory-$$
	mkdir "$group" 2>/dev/null || skip "no cgroup of version 2 can be made here"
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control && [ -e "$group/memory.max" ] ||
		skip "this kernel limits no memory"
	# shellcheck disable=SC2016 # expanded by the other shell
	sh -c 'echo -1000 >/proc/self/oom_score_adj
		echo $$ >"$1/cgroup.procs"
		exec "$2" trace -e cgroup --json -o out.json -- sh -c "echo 1000 >/proc/\$\$/oom_score_adj
			echo \$((\$(cat $1/memory.current) + (16 << 20))) >$1/memory.max
			exec dd if=/dev/zero of=/dev/null bs=256M count=1"' sh "$group" "$build/gputap" || status=$?
	[ "$status" = 137 ]
	echo max >"$group/memory.max"
	rmdir "$group"
	for name in memory_max oom_kill; do
		run -0 jq -s --arg name $name 'map(select(.name == $name)) | length > 0 and all(.count > 0) and
			all(.path == "/gputap-memory-'$$'")' out.json
		[ "$output" = true ] || fail "no $name: $(cat out.json)"
	done
}

@test "stat has the steps of a suspend of the system and their times" {
	[ -w /sys/power/pm_test ] || skip "this kernel has no /sys/power/pm_test"
	echo 1 >/sys/module/suspend/parameters/pm_test_delay || skip "the suspend cannot be tested"
	gputap stat -e power --json -o stat.json -- sh -c 'echo freezer >/sys/power/pm_test
		echo freeze >/sys/power/state
		echo none >/sys/power/pm_test'
	expect_status 0
	run -0 jq -e '.sources[0].steps |
		any(.step == "freeze_processes" and .duration.count == 1 and .duration.max > 0) and
		any(.step == "thaw_processes" and .duration.count == 1)' stat.json
}
