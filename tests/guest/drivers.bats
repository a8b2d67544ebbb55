# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Sources of GPU drivers: their modules load without hardware, so programs load and attach. What they
# show is tested on made-up buffers and requests, in the layout that this kernel's modules have.

load ../cli/helper

# Their types make everything slow that reads those of the kernel.
teardown() {
	modprobe -r i915 xe amdgpu 2>/dev/null || :
}

# expect_source NAME TESTS: its module loads, everything that it shows is attached, and structures of the
# module are read where it has their members.
expect_source() {
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	modprobe "$1" 2>/dev/null || skip "this kernel has no module $1"
	gputap trace -e "$1" -o out -- true
	[ "$(grep "^gputap: $1:" <<<"$stderr")" = "gputap: $1: 0 events: 0 recorded, 0 lost" ] || fail "$stderr"
	run -0 "$build/tests/unit/test-probe_drivers" "$1: "
	[ "$(grep -c "^# the types are those of the module $1$" <<<"$output")" = "$2" ] || fail "$output"
	[ "$(grep -c '^ok' <<<"$output")" = "$2" ] || fail "$output"
	! grep -q SKIP <<<"$output" || fail "$output"
}

@test "i915 is attached once its module is loaded, and its structures are read" {
	expect_source i915 3
}

@test "xe is attached once its module is loaded, and its structures are read" {
	expect_source xe 2
}

@test "amdgpu is attached once its module is loaded, and its structures are read" {
	expect_source amdgpu 3
}
