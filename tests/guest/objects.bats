# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every BPF program of gputap, so that this kernel verifies each; those of drivers.bats are loaded there, with
# the modules whose types they read.

load ../cli/helper
load guest

for object in "$build"/src/{probe,run}/*.skel.h.linked.o; do
	[[ $object =~ /(i915|xe|amdgpu)\.skel ]] || objects+=("$object")
done

# All programs are loaded once, with the modules whose types they read.
setup_file() {
	[ ! -e /run/guest/run ] || modprobe -a fakegpu nvidia nvidia-uvm 2>/dev/null || :
	[ "$(id -u)" != 0 ] || [ ! -e "${objects[0]}" ] ||
		"$build/tests/guest/load-bpf" "${objects[@]}" >"$BATS_FILE_TMPDIR/results" || :
}

setup() {
	need_root
	need_file "${objects[0]}" "BPF object"
	output=$(cat "$BATS_FILE_TMPDIR/results")
}

@test "the kernel verifies every BPF program" {
	expect_no_output_line '^not ok|^Bail'
	expect_output_line '^ok [0-9]+ - calls.skel.h.linked.o: call_entry'
	expect_output_line '^1\.\.([6-9]|[1-9][0-9])[0-9]$'
}

# Programs are skipped for trace events that this kernel does not have, and for no others.
@test "with modules loaded, no program of their events lacks anything" {
	local event events=/sys/kernel/tracing/events
	need_modules fakegpu nvidia nvidia-uvm
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	output=$(grep -E ' - (drm|fence|vblank|pcie|sched|syscall)\.skel' <<<"$output")
	expect_no_output_line '\((raw_tp|k?probe|kretprobe|fentry|fexit)/.* # SKIP'
	while read -r event; do
		[ ! -e "$events/$event" ] || fail "$event exists, and its program is skipped"
	done < <(sed -n 's,.* (tp/\([^)]*\)) # SKIP.*,\1,p' <<<"$output")
}

# With those of modules that are loaded.
@test "a part of the kernel's types relocates every program as the whole does" {
	need_modules fakegpu nvidia nvidia-uvm
	run -0 "$build/tests/unit/test-probe_core_types"
	expect_output_line '^ok 1 - a part of the kernel.s types relocates every program as the whole does$'
}
