# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The sources "nvidia" and "nvlink", against what the functions of the module in tests/guest/modules recorded.

load ../cli/helper
load guest

setup() {
	need_probes
	need_modules nvidia nvidia-uvm
	cd "$BATS_TEST_TMPDIR" || return
}

# trace OPTION… -- COMMAND: to out.json, with the ledger in ledger.json.
trace_calls() {
	gputap trace -e nvidia --json -o out.json "$@"
	expect_status 0
	"$fire" ledger >ledger.json
}

# expect FILTER…: questions about the events ($events) and the ledger ($ledger) whose answers are true.
expect() {
	local failed
	failed=$(first_false '($lines |
			map(select(.source == "nvidia" and .schema == "gputap.event.1"))) as $events |
		$file[0] as $ledger |' -n --slurpfile lines out.json --slurpfile file ledger.json -- "$@")
	[ -z "$failed" ] || fail "not true: $failed: $(cat out.json ledger.json)"
}

@test "each call is shown with its arguments and its process, within the time that it took" {
	trace_calls --sample ioctl=100% -- "$fire" cuda 3
	expect '[$events[] | select(.name == "open" or .name == "close") | [.name, .minor]] ==
		[["open", "255"], ["close", "255"], ["open", "0"], ["close", "0"]]' \
		'[$events[] | select(.name == "mmap") | [.offset, .length]] ==
			[$ledger.nvidia[] | select(.function == "nvidia_mmap") | [.values[1], .values[2]]]' \
		'[$events[] | select(.name == "fault") | .address] | length == 3' \
		'[$events[] | select(.name == "ioctl") | .command_name] | length == 6 and
			all(. == "NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_NAME_STRING")' \
		'[$events[] | select(.name == "uvm_ioctl") | .command_name] ==
			["UVM_INITIALIZE", "UVM_INITIALIZE", "UVM_INITIALIZE"]' \
		'[$events[] | select(.name == "ioctl") | [.pid, .tid, .time, .time + .duration]] as $calls |
			[$ledger.nvidia[] | select(.function == "nvidia_unlocked_ioctl")] | to_entries |
			all($calls[.key] as $call | .value.pid == $call[0] and .value.tid == $call[1] and
				.value.time[0] >= $call[2] and .value.time[1] <= $call[3])'
}

@test "ioctls are sampled, all are counted, and the two parts add up" {
	as_under_6_12
	trace_calls --sample ioctl=20% -- "$fire" cuda 500
	expect '[$events[] | select(.name == "ioctl_total" or .name == "uvm_ioctl_total") | .count] | add == 1500' \
		'[$events[] | select(.name == "ioctl_total") | .durations[].count] | add == 1000' \
		'[$events[] | select(.name == "ioctl" or .name == "uvm_ioctl")] | length as $shown |
			$lines | map(select(.schema == "gputap.totals.1"))[0].unsampled + $shown == 1500 and
				$shown > 150 and $shown < 600'
	trace_calls --sample ioctl=0% -- "$fire" cuda 50
	expect '[$events[] | select(.name == "ioctl")] | length == 0'
}

@test "without --sample, ioctls are counted and one in a hundred is shown" {
	as_under_6_12
	trace_calls -- "$fire" cuda 1000
	expect '[$events[] | select(.name == "ioctl_total") | .count] | add == 2000' \
		'[$events[] | select(.name == "ioctl" or .name == "uvm_ioctl")] | length < 150'
}

@test "peer-to-peer memory, suspend and resume, and interrupts are shown with their sizes and times" {
	as_under_6_12
	trace_calls -- sh -c "$fire nvidia 'p2p 65536 200000'; $fire nvidia 'p2p 1 2' || :
		$fire nvidia suspend; $fire nvidia resume
		$fire nvidia 'isr 5'; $fire nvidia 'msix 4'"
	expect '[$events[] | select(.name == "p2p_get_pages")] | (map([.result, .entries]) == [[0, 4], [-22, 0]]) and
		(.[0] | [.address, .length] == ["0x10000", 200000])' \
		'[$events[] | select(.name == "p2p_dma_map_pages") | [.length, .entries, .peer]] ==
			[[262144, 4, "0000:00:00.0"]]'
	# A compiler renamed one of these functions.
	expect '[$events[] | select(.name == "suspend") | .duration] | length == 1 and .[0] >= 200000' \
		'[$events[] | select(.name == "resume") | .duration] | length == 1 and .[0] >= 300000'
	# The latency from the interrupt to the bottom half, by device.
	expect '[$events[] | select(.name == "isr_bottom_half_total") | [.command, .count]] | sort ==
		[["0x2a", 5], ["0x2b", 4]]' \
		'[$events[] | select(.name == "isr_msix_total") | .count] | add == 4' \
		'[$events[] | select(.name == "isr_total") | .count] | add == 5' \
		'[$events[] | select(.name == "isr_bottom_half_total")] | all(.total >= .longest and .longest > 0)'
}

@test "an Xid has its meaning, and the process of its message with its last ioctls" {
	# A program that has the device open, and reports an error with its own process id.
	cat >own.py <<-'END'
		import fcntl, os
		device = os.open("/dev/nvidiactl", os.O_RDWR)
		for number in range(10):
		    try:
		        fcntl.ioctl(device, 0xc020462a, bytes(8) + (0x20800110 + number).to_bytes(4, "little") + bytes(20))
		    except OSError:
		        pass
		with open("/sys/kernel/debug/nvidia/do", "w") as do:
		    do.write(f"xid 31 pid={os.getpid()}, name=python3, Ch 00000008")
	END
	trace_calls --sample ioctl=0% -- sh -c "$fire nvidia 'xid 79 GPU is gone'; python3 own.py"
	expect '[$events[] | select(.name == "xid")] | length == 2 and (.[0] | [.code, .meaning, .message, .address, .from_log] ==
		[79, "GPU has fallen off the bus", "GPU is gone", "0000:00:00.0", 0])' \
		'[$events[] | select(.name == "xid")][1] | .process == "python3" and .code == 31 and
			.meaning == "GPU memory page fault"' \
		'[$events[] | select(.name == "recent_ioctls")][-1].ioctls |
			map(.control) == [range(2; 10) | "0x2080011\(.)"]'
}

@test "an Xid is a trigger of a flight recorder, and the file has it" {
	as_under_6_12
	gputap record -e nvidia --ring 1M --trigger xid -o flight.gtap -- "$fire" nvidia 'xid 79 GPU is gone'
	expect_status 0
	expect_error_line '^gputap: Xid 79.*: [0-9]+ events in .*: flight\.1\.gtap$'
	expect_error_line '^gputap: 1 file written'
	"$build/gputap" trace --from flight.1.gtap --json >out.json
	"$fire" ledger >ledger.json
	expect '[$events[] | select(.name == "xid") | .code] == [79]'
	gputap why --xids flight.1.gtap
	expect_output_line '^Xid 1 at T\+.*: 79 \(GPU has fallen off the bus\): .*GPU is gone$'
}

@test "an Xid that is in the kernel's log alone is shown once" {
	as_under_6_12
	# The log is in order: once the second one is shown, the line of the first one was read, too.
	trace_calls -- sh -c "$fire nvidia 'xid 13 both'; $fire nvidia 'xid-log 74 only logged'
		until grep -q 'only logged' out.json; do sleep 0.1; done"
	expect '[$events[] | select(.name == "xid") | [.code, .message, .from_log]] | sort ==
		[[13, "both", 0], [74, "only logged", 1]]'
}

@test "the module can be loaded while it is traced" {
	as_under_6_12
	rmmod nvidia_uvm nvidia
	probes=/sys/kernel/debug/kprobes/list
	trace_calls --sample ioctl=100% -- sh -c "modprobe nvidia; modprobe nvidia-uvm
		until grep -q nvidia_poll $probes && [ \$(grep -c uvm_unlocked_ioctl_entry $probes) = 2 ]; do
			sleep 0.1
		done
		$fire cuda 2"
	expect '[$events[] | select(.name == "ioctl")] | length == 4' \
		'[$events[] | select(.name == "uvm_ioctl")] | length == 2' \
		'[$events[] | select(.name == "ioctl_total") | .count] | add == 4'
}

@test "calls of processes that are not traced are not counted" {
	as_under_6_12
	"$fire" cuda 20 &
	trace_calls --sample ioctl=100% --comm other -- "$fire" cuda 2
	wait
	expect '[$events[] | select(.pid != 0)] == []'
}

# expect_faults FILTER…: questions about the faults on UVM's memory ($events) and the calls of UVM ($calls).
expect_faults() {
	local failed
	failed=$(first_false '
		def hex: [recurse(if . >= 16 then . / 16 | floor else empty end) % 16] | reverse |
			"0x" + (map(. as $digit | "0123456789abcdef"[$digit:$digit + 1]) | add);
		[$lines[] | select(.name == "uvm_fault" or .name == "uvm_gpu_fault")] as $events |
		($lines | map(select(.schema == "gputap.totals.1"))[0]) as $totals |
		$file[0].uvm as $calls |' -n --slurpfile lines out.json --slurpfile file ledger.json -- "$@")
	[ -z "$failed" ] || fail "not true: $failed: $(grep -e uvm -e totals out.json) $(cat ledger.json)"
}

@test "faults on UVM's memory are shown, of CPUs and of GPUs, as many as there were" {
	faults="$fire device /dev/nvidia-uvm 0x30000001 1 7; echo 40 >/sys/kernel/debug/nvidia-uvm/gpu-faults"
	gputap trace -e fault -o run.gtap -- sh -c "$faults"
	expect_status 0
	"$build/gputap" trace --from run.gtap --json >out.json
	"$fire" ledger >ledger.json
	expect_faults '[$events[] | select(.name == "uvm_fault") | [.address, .pid, .flags]] ==
		[$calls[] | select(.function == "uvm_vm_fault_wrapper_entry") | [(.values[0] | hex), .pid, "write"]] and
		([$events[] | select(.name == "uvm_fault")] | length == 7 and all(.duration > 0))' \
		'[$events[] | select(.name == "uvm_gpu_fault") | [.address, .pid, .flags]] ==
			[$calls[] | select(.function == "uvm_perf_event_notify" and .values[0] == 6 and .values[1] == 1) |
				[(.values[2] | hex), 0, "gpu"]] and
			([$events[] | select(.name == "uvm_gpu_fault")] | length == 40) and $totals.lost == 0'
	# A GPU's faults belong to no process, so to none that a filter excludes.
	gputap trace -e fault --json -o out.json --comm other -- sh -c "$faults"
	expect_faults '($events | map(.name) | unique == ["uvm_gpu_fault"] and length == 40) and $totals.unattributed == 0'
	gputap stat --from run.gtap --json -o stat.json
	run -0 jq -c '.sources[0].processes | [(map(.uvm) | add), (map(.gpu) | add)]' stat.json
	[ "$output" = '[7,40]' ]
}

@test "an invalid name or rate for --sample is an error" {
	as_under_6_12
	gputap trace -e nvidia --sample other=1% -- true
	expect_status 2
	expect_error "gputap: invalid name 'other' for --sample (one of: ioctl)"
	gputap trace -e nvidia --sample ioctl=often -- true
	expect_error "gputap: invalid rate 'often' for --sample ioctl (a percentage such as 1% or 0.1%)"
	gputap trace -e nvidia --sample ioctl=101% -- true
	expect_error "gputap: invalid rate '101%' for --sample ioctl (a percentage such as 1% or 0.1%)"
}

@test "nvlink shows the driver's copies in memory" {
	gputap trace -e nvlink --json -o out.json -- sh -c \
		"$fire nvidia 'strcpy 5'; $fire nvidia 'memcpy 100'; $fire nvidia 'memset 10'"
	expect_status 0
	"$fire" ledger >ledger.json
	jq -n --exit-status --slurpfile lines out.json --slurpfile file ledger.json '
		[$lines[] | select(.source == "nvlink" and .name) | [.name, .size, .pid]] ==
		[$file[0].nvidia[] | select(.function | startswith("nvlink_")) |
			[(.function | ltrimstr("nvlink_")),
			 .values[2] + (if .function == "nvlink_strcpy" then 1 else 0 end), .pid]]' ||
		fail "$(cat out.json ledger.json)"
	run -0 jq -s 'any(.name == "memset" and .value == 0 and .destination == .result)' out.json
	[ "$output" = true ]
}

@test "stat has totals by function, command, process, minor number and interrupt" {
	as_under_6_12
	gputap trace -e nvidia -o run.gtap -- sh -c "
		sleep 60 4</dev/nvidia1 >/dev/null 2>&1 3>&- &
		until ls -l /proc/\$!/fd | grep -q nvidia1; do sleep 0.1; done
		$fire cuda 30; $fire nvidia 'isr 5'; $fire nvidia 'xid 79 gone'"
	gputap stat --from run.gtap --json -o stat.json
	"$fire" ledger >ledger.json
	jq -n --exit-status --slurpfile stat stat.json --slurpfile file ledger.json '
		($stat[0].sources[] | select(.source == "nvidia")) as $nvidia |
		($nvidia.functions | map({(.name): .count}) | add) as $counts |
		$counts.ioctl == 60 and $counts.uvm_ioctl == 30 and $counts.poll == 2 and $counts.mmap == 1 and
		$counts.fault == 3 and $counts.vma_open == 1 and $counts.vma_release == 1 and
		([$nvidia.ioctls[] | [.name, .count]] == [
			["NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_NAME_STRING", 60], ["UVM_INITIALIZE", 30]]) and
		([$nvidia.minors[] | [.minor, .count]] | sort == [[0, 1], [1, 1], [255, 1]]) and
		([$nvidia.interrupts[] | [.irq, .count]] | sort == [[42, 3], [43, 2]]) and
		([$nvidia.xids[] | [.code, .count]] == [[79, 1]]) and
		($nvidia.processes | any(.held_open == 1 and .opens == 1)) and
		($nvidia.processes | any(.ioctls == 60 and .opens == 2 and .closes == 2 and .polls == 2))' ||
		fail "$(cat stat.json ledger.json)"
	gputap stat --from run.gtap -o table
	grep -qE '^ioctl +60 ' table
	grep -qE '^NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_NAME_STRING +60 ' table
	grep -qE '^[0-9]+ fire +0 +2 +2 +60 +30 +1 +3 +2 ' table
}
