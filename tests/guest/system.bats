# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Sources of the kernel's own events that the machine of the tests cannot fire: page faults with
# their times, which need kprobes, and the suspend of the system.

load ../cli/helper

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
