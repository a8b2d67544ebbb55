# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every BPF program of gputap, loaded alone, so that this kernel verifies each.

load ../cli/helper
load guest

objects=("$build"/src/probe/*.skel.h.linked.o "$build"/src/run/*.skel.h.linked.o)

@test "the kernel verifies every BPF program" {
	need_root
	need_file "${objects[0]}" "BPF object"
	observe "$build/tests/guest/load-bpf" "${objects[@]}"
	expect_status 0
	expect_no_output_line '^not ok|^Bail'
	expect_output_line '^ok [0-9]+ - calls.skel.h.linked.o: call_entry'
	[ "${#lines[@]}" -gt 50 ]
}

# Programs are skipped for trace events that this kernel does not have, and for no others.
@test "with modules loaded, no program of their events lacks anything" {
	local event events=/sys/kernel/tracing/events
	need_modules fakegpu nvidia nvidia-uvm
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	observe "$build/tests/guest/load-bpf" \
		"$build"/src/probe/{drm,fence,vblank,pcie,sched,syscall}.skel.h.linked.o
	expect_status 0
	expect_no_output_line '^not ok'
	expect_no_output_line '\((raw_tp|k?probe|kretprobe|fentry|fexit)/.* # SKIP'
	while read -r event; do
		[ ! -e "$events/$event" ] || fail "$event exists, and its program is skipped"
	done < <(sed -n 's,.* (tp/\([^)]*\)) # SKIP.*,\1,p' <<<"$output")
}
