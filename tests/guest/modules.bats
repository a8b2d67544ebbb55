# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The modules of tests/guest/modules themselves: they do, and record, what they are made to do.

load ../cli/helper
load guest

@test "jobs are recorded with ring, process and stamps in order" {
	need_modules fakegpu
	"$fire" submit 0 20 50
	"$fire" submit 1 5 50
	expect_ledger '[.jobs[] | select(.comm == "fire" and .error == 0)] | group_by(.ring) |
		map([.[0].ring, length, ([.[].pid] | unique | length)]) == [["copy", 5, 1], ["render", 20, 1]]' \
		'[.jobs[] | (.queue[0] <= .queue[1]) and (.run[0] <= .run[1]) and
			(.done[0] <= .done[1]) and .queue[0] <= .run[1] and .run[1] <= .done[0]] | all'
}

@test "a job starts after those that it depends on, of its own process and of another" {
	need_modules fakegpu
	"$fire" chain 3 2000
	"$fire" sync-file 3000
	expect_ledger '[.jobs[] | select(.dependencies != [])] | length == 4' \
		'.jobs as $jobs | [$jobs[] | select(.dependencies != []) | . as $job |
			$jobs[] | select([.context, .seqno] == $job.dependencies[0]) | .done[0] < $job.run[1]] | all' \
		'[.jobs[-2:][].pid] | unique | length == 2'
}

@test "a job that hangs ends by the timeout, and the one after it completes" {
	need_modules fakegpu
	"$fire" hang 1
	expect_ledger '[.jobs[].error] == [-62, 0] and .jobs[0].timeout > .jobs[0].run[1]'
}

@test "a syncobj and a wait end with the job, and fences are signaled and released" {
	need_modules fakegpu
	"$fire" syncobj 1000
	"$fire" fences 1000 0
	"$fire" fences 50 1
	wait_for flood_released
	expect_ledger '.fences | map(select(.timelines == "flood") |
		[.created, .enabled, .signaled, .released, .waits]) == [[1050, 1050, 1050, 1050, 50]]'
}

flood_released() {
	"$fire" ledger | jq --exit-status '.fences[1] | .released == .created'
}

@test "vblanks are consecutive" {
	need_modules fakegpu
	"$fire" vblank 5
	expect_ledger '[.vblanks[].sequence] | length >= 5 and . == [range(.[0]; .[0] + length)]'
}

@test "each of the functions of NVIDIA's driver is called" {
	need_modules nvidia nvidia-uvm
	"$fire" cuda 3
	for action in 'isr 4' 'msix 2' 'xid 79 GPU has fallen off the bus' suspend resume \
		'p2p 65536 200000' 'strcpy 5' 'memcpy 100' 'memset 10'; do
		"$fire" nvidia "$action"
	done
	expect_ledger '[.nvidia[].function] | group_by(.) | map({(.[0]): length}) | add == {
		nvidia_open: 2, nvidia_close: 2, nvidia_unlocked_ioctl: 6, nvidia_poll: 2, nvidia_mmap: 1,
		nvidia_vma_open: 1, nvidia_vma_release: 1, nvidia_fault: 3, nvidia_isr: 4, nvidia_isr_msix: 2,
		nvidia_isr_kthread_bh: 6, xid: 1, nvidia_suspend: 1, nvidia_resume: 1,
		nvidia_p2p_get_pages: 1, nvidia_p2p_dma_map_pages: 1, nvlink_strcpy: 1, nvlink_memcpy: 1,
		nvlink_memset: 1}' \
		'[.uvm[].function] | group_by(.) | map({(.[0]): length}) | add == {
			uvm_open_entry: 1, uvm_release_entry: 1, uvm_unlocked_ioctl_entry: 3, uvm_mmap_entry: 1,
			uvm_vm_fault_wrapper_entry: 2, uvm_perf_event_notify: 2, uvm_vm_close_managed_entry: 1}'
	dmesg | grep -q 'NVRM: Xid (PCI:.*): 79, GPU has fallen off the bus'
	grep -q ' nvidia_resume.isra.0' /proc/kallsyms
}

@test "the configuration space is read and written in the kernel" {
	need_modules fakegpu
	[ "$("$fire" config 0 2 1)" = "$("$fire" sysfs-config 64)" ]
}

@test "the modules can be unloaded, and the kernel has not complained" {
	need_modules fakegpu nvidia nvidia-uvm
	"$fire" submit 0 3 10
	rmmod nvidia_uvm
	rmmod nvidia
	rmmod fakegpu
	run dmesg
	expect_no_output_line 'WARNING|BUG:|Oops|refcount_t'
}
