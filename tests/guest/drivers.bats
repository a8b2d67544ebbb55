# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Sources of GPU drivers: their modules load without hardware, so programs load and attach. What they
# show is tested on made-up buffers and requests: tests/unit/probe/drivers.c.

load ../cli/helper

# Their types make everything slow that reads those of the kernel.
teardown() {
	modprobe -r i915 xe amdgpu 2>/dev/null || :
}

# expect_source NAME: its module loads, and everything that it shows is attached.
expect_source() {
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	modprobe "$1" 2>/dev/null || skip "this kernel has no module $1"
	gputap doctor
	grep -qE "^ok +source $1 " <<<"$output" || fail "$(grep "source $1" <<<"$output")"
}

@test "i915 is attached once its module is loaded" {
	expect_source i915
}

@test "xe is attached once its module is loaded" {
	expect_source xe
}

@test "amdgpu is attached once its module is loaded" {
	expect_source amdgpu
}
