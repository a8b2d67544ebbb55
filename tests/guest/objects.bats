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

@test "with modules loaded, no program of their events lacks anything" {
	need_modules fakegpu nvidia nvidia-uvm
	observe "$build/tests/guest/load-bpf" \
		"$build"/src/probe/{drm,fence,vblank,pcie,sched,syscall}.skel.h.linked.o
	expect_status 0
	expect_no_output_line '^not ok|SKIP'
}
