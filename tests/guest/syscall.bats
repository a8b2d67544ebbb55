# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The source "syscall" under another kernel, and on device files.

load ../cli/helper
load guest

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# ioctls COMMAND…: the commands that it makes on device files, with their counts.
ioctls() {
	gputap trace --gpu nvidia -e syscall --syscall ioctl --json -o out.json -- "$@"
	run -0 jq -rs 'map(select(.name == "ioctl" and .device != 0)) |
		group_by(.arguments[1:]) | map("\(length) \(.[0].arguments[1]) \(.[0].arguments[2])") |
		.[]' out.json
}

@test "the tests of system calls pass under this kernel" {
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	observe "$root/tests/guest/suite" "$root/tests/cli/syscall.bats"
	[ "$status" = 0 ] || fail "a test failed"
}

@test "ioctls on NVIDIA's device files have the names of their commands" {
	need_modules nvidia nvidia-uvm
	ioctls "$fire" cuda 3
	grep -qx '6 NV_ESC_RM_CONTROL {hClient=0, hObject=0, cmd=NV2080_CTRL_CMD_GPU_GET_NAME_STRING, ...}' \
		<<<"$output" || fail "$output"
	grep -q ' UVM_INITIALIZE ' <<<"$output" || fail "$output"
}

@test "ioctls on DRM's device files have the names of their commands" {
	need_modules fakegpu
	ioctls "$fire" syncobj 100
	grep -q ' DRM_IOCTL_VERSION ' <<<"$output" || fail "$output"
	grep -q ' DRM_IOCTL_SYNCOBJ_CREATE ' <<<"$output" || fail "$output"
	grep -q ' DRM_IOCTL_SYNCOBJ_WAIT ' <<<"$output" || fail "$output"
}

# Of the kernels here, Linux 7 alone lets threads be preempted in programs of tracepoints.
@test "calls of a thread that preempts one in bpf(2) are shown but for a few, which are counted" {
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	gputap trace --gpu nvidia -e syscall --syscall clock_nanosleep --json -o out.json -- \
		"$build/tests/guest/lookups" 400
	expect_status 0
	run -0 jq -es '(map(select(.name == "clock_nanosleep")) | length) as $shown |
		(map(select(.schema == "gputap.totals.1" and .source == "syscall") | .lost)[0]) as $lost |
		[$shown, $lost], ($shown >= 380 and $shown + $lost >= 400 and $lost <= 20)' out.json
}
