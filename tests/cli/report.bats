# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Where the wall time went: gputap report, against the log of the software GPU.

load helper

setup() {
	need_file "$examples/streams" "example (clang for PTX)"
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
}

# record PROGRAM…: the capture run.gtap, with the times of the software GPU's log as gpu_work events.
record() {
	SOFTGPU_LOG=$PWD/log.json gputap trace -o calls.gtap -- "$@"
	expect_status 0
	"$build/tests/programs/gpu_times" calls.gtap log.json run.gtap
}

report() {
	gputap report --json "$@"
	expect_status 0
}

# The same numbers from the log: a sweep over starts and ends.
from_log() {
	jq -cS --slurp '
		map(select(.op == "kernel" or .op == "set" or (.op == "copy" and .kind != "H2H"))) |
		. as $all | (map(.start) | min) as $first | (map(.end) | max) as $last |
		[.[] | [.start, 1], [.end, -1]] | sort |
		reduce .[] as [$time, $step] ({depth: 0, at: 0, busy: 0, overlap: 0};
			(if .depth > 0 then .busy += $time - .at else . end) |
			(if .depth > 1 then .overlap += $time - .at else . end) |
			.depth += $step | .at = $time) |
		{busy, overlap, span: ($last - $first), idle: ($last - $first - .busy),
		 operations: ($all | length)}' log.json
}

gpu_numbers() {
	jq -cS '.processes[0].gpu | {busy, overlap, span, idle, operations}' <<<"$output"
}

@test "busy, overlap and idle times of the GPU are those of its log, asynchronous or not" {
	for argument in async sync; do
		rm -f log.json
		record "$examples/streams" "$argument"
		report run.gtap
		[ "$(gpu_numbers)" = "$(from_log)" ] || fail "$argument: $(from_log)"
		expect_json '.[0].processes[0].gpu.contradicted == 0'
	done
}

# The times in which no operation ran, longest first, from the log and from a report with all of them.
gaps_from_log() {
	jq -cS --slurp '
		[.[] | select(.op == "kernel" or .op == "set" or (.op == "copy" and .kind != "H2H"))] | sort_by(.start) |
		reduce .[] as $one ({gaps: [], covered: .[0].start};
			(if $one.start > .covered then .gaps += [$one.start - .covered] else . end) |
			.covered = ([.covered, $one["end"]] | max)) | .gaps | sort | reverse' log.json
}

gaps_of_report() {
	jq -cS '.processes[0] | if .gpu.gaps == (.gaps | length) then .gaps | map(.duration) | sort | reverse
		else "\(.gpu.gaps) gaps" end' <<<"$1"
}

@test "in virtual time the GPU's times are exact, and the clocks are kept apart" {
	for argument in async sync; do
		rm -f log.json
		SOFTGPU_TIME=virtual record "$examples/streams" "$argument"
		report --top 100 run.gtap
		[ "$(gpu_numbers)" = "$(from_log)" ] || fail "$argument: $(from_log)"
		[ "$(gaps_of_report "$output")" = "$(gaps_from_log)" ] || fail "$argument: $(gaps_from_log)"
		expect_json '.[0].processes[0].clock == "host and GPU apart"'
		gputap report run.gtap
		expect_output_line "^24 of 24 operations contradict the calls around them: the GPU's clock is not the host's"
	done
}

# timed ARGUMENT: the report of streams with the agent's times, and the log.
timed() {
	rm -f log.json
	SOFTGPU_LOG=$PWD/log.json gputap report --json --top 100 --gpu-times all -o report.json -- \
		"$examples/streams" "$1"
	expect_status 0
	output=$(<report.json)
	expect_json '.[0].times == {exact: 0, measured: 24, estimated: 0, unmatched: 0, evicted: 0}'
}

# The busy time of each kind of operation, from the log: a union, which operations of a kind may overlap.
kinds_from_log() {
	jq -cS --slurp '
		map(select(.op == "kernel" or .op == "copy") | {kind: (.kind // .op), start: .start, "end": .end}) |
		group_by(.kind) | map({key: .[0].kind, value: (sort_by(.start) |
			reduce .[] as $one ({busy: 0, covered: 0};
				([$one.start, .covered] | max) as $from |
				if $one["end"] > $from then .busy += $one["end"] - $from | .covered = $one["end"] else . end) |
			.busy)}) | from_entries' log.json
}

@test "in virtual time the agent's times of the GPU are exact, asynchronous or not" {
	for argument in async sync; do
		SOFTGPU_TIME=virtual timed "$argument"
		[ "$(gpu_numbers)" = "$(from_log)" ] || fail "$argument: $(gpu_numbers), not $(from_log)"
		[ "$(gaps_of_report "$output")" = "$(gaps_from_log)" ] || fail "$argument: $(gaps_from_log)"
		[ "$(jq -cS '.processes[0].resources | map(select(.operation != "all") |
			{key: .operation, value: .busy}) | from_entries' report.json)" = "$(kinds_from_log)" ] ||
			fail "$argument: $(kinds_from_log)"
	done
}

@test "in real time the agent's times contain those of the log, and contradict no call" {
	for argument in async sync; do
		timed "$argument"
		expect_json '.[0].processes[0].gpu.contradicted == 0 and .[0].processes[0].clock == "host"'
		expect_json '.[0].processes[0] | ([.path[].ns] | add) == .wall'
		jq -e --slurpfile log <(jq --slurp '[.[] | select(.op == "kernel") | .end - .start] | add' log.json) \
			'.processes[0].kernels[0].total >= $log[0] and .processes[0].kernels[0].run.count == 8' \
			report.json >/dev/null || fail "kernels run shorter than their log says"
	done
	expect_json '.[0].processes[0].gpu.overlap == 0'
}

@test "every instant of the wall time is attributed once" {
	record "$examples/streams"
	report run.gtap
	expect_json '.[0].processes[0] | ([.path[].ns] | add) == .wall'
	expect_json '.[0].processes[0].path | all(.[]; .gpu_idle <= .ns)'
}

@test "the parts of the wall time add up in every example and in a merge, and why explains them" {
	local sums='all(.[0].processes[]; ([.path[].ns] | add) == .wall and all(.path[]; .gpu_idle <= .ns))'
	local example
	for example in streams pipeline matmul leak vectoradd transpose reduce uneven newlaunch driver failures; do
		gputap trace -e cuda --gpu-times all -o "$example.gtap" -- "$examples/$example"
		report "$example.gtap"
		expect_json "(.[0].processes | length) == 1 and $sums"
		gputap why "$example.gtap"
		expect_status 0
		expect_output_line "^[0-9]+ $example: [0-9]+ idle gaps? between operations, "
	done
	gputap merge -o all.gtap ./*.gtap
	report all.gtap
	expect_json "(.[0].processes | length) == 11 and $sums"
}

@test "the parts of the path in which a GPU worked are all its busy time" {
	for argument in async sync; do
		rm -f log.json
		record "$examples/streams" "$argument"
		report run.gtap
		expect_json '.[0].processes[0] | ([.path[] | .ns - .gpu_idle] | add) == .gpu.busy'
		expect_json '.[0].processes[0].path | ([.kernel, .h2d, .d2h | .gpu_idle] | add) == 0'
	done
	expect_json '.[0].processes[0].gpu.overlap == 0'
	# An operation that runs while its call lasts longer is not on the path for this time.
	expect_json '.[0].processes[0] | (.resources | map({key: .operation, value: .busy}) | from_entries) as $busy |
		.path.kernel.ns <= $busy.kernel and .path.h2d.ns <= $busy.H2D and .path.d2h.ns <= $busy.D2H'
}

@test "without measured times bounds from calls are used, and said to be" {
	gputap report --gpu-times off --json -o report.json -- "$examples/streams"
	expect_status 0
	output=$(<report.json)
	expect_json '.[0] | .times.estimated == 24 and .times.measured == 0'
	expect_json '.[0].processes[0] | ([.path[].ns] | add) == .wall and (.resources | all(.times == "estimated"))'
	expect_json '.[0] | .reading.events > 50 and .reading.cpu > 0 and .overhead.measured > 0 and .overhead.cpu > 0'
	expect_json '.[0].machines | length == 1'
}

@test "the longest operations are queued, started, run and drained in this order" {
	record "$examples/streams"
	report --top 100 run.gtap
	expect_json '.[0].processes[0].longest | length == 24 and
		all(.submitted <= .released and .released <= .start and .start < .end and .drain >= 0)'
	report --top 3 run.gtap
	expect_json '.[0].processes[0].longest | length == 3'
	gputap report run.gtap
	expect_output_line '^ *LONGEST +T\+ +OPERATION +THREAD +QUEUED +START +RUN +DRAIN +TIMES$'
	expect_output_line '^ +#[0-9]+ .*steps'
	expect_output_line '^Complete: 50 calls, none lost\.$'
}

@test "copies from pageable memory are advised against, with their share of the time" {
	need_file "$examples/vectoradd" "example (clang for PTX)"
	record "$examples/vectoradd"
	report run.gtap
	expect_json '[.[0].processes[0].copies[] | select(.memory == "pageable") | .run.count] | add == 3'
	expect_json '[.[0].processes[0].advice[].name] | all(. != "") '
}

@test "a capture and a second argument, or two captures, are rejected" {
	touch a.gtap
	gputap report a.gtap b.gtap
	expect_status 2
	expect_error "gputap: unexpected argument 'b.gtap' after the capture; a command to trace follows '--' (try 'gputap report --help')"
	gputap report --from a.gtap b.gtap
	expect_status 2
	expect_error "gputap: two captures: 'a.gtap' and 'b.gtap' (try 'gputap report --help')"
	gputap report missing.gtap
	expect_status 1
	expect_error_line '^gputap: missing\.gtap: No such file or directory: check the path$'
}

@test "report and why print where times after T+ are on the axis of --start" {
	local start
	record "$examples/streams" sync
	gputap report run.gtap
	[ "$(grep -c '^T+0 is the start of the process, [0-9.]* s after that of the capture, from which --start and --end count\.$' <<<"$output")" = 1 ]
	start=$(sed -n 's/^T+0 is the start of the process, \([0-9.]*\) s.*/\1/p' <<<"$output")
	gputap trace -v --time relative --from run.gtap
	expect_output_line "^$start .* process "
	gputap why run.gtap
	expect_output_line "^T\+0 is the start of the process, $start s after"
	gputap why --call cudaFree run.gtap
	expect_output_line "^T\+0 is the start of the process, $start s after"
	gputap report -- "$examples/streams" sync
	expect_no_error_line '^T\+0'
}

@test "why explains the longest gaps, one of them, or an operation" {
	record "$examples/streams" sync
	gputap why run.gtap
	expect_status 0
	expect_output_line '^[0-9]+ streams: 23 idle gaps between operations, '
	expect_output_line '^gap 1 at T\+.*: GPU idle .*: next .* #[0-9]+ late because '
	gputap why --gap 2 run.gtap
	expect_output_line '^gap 2 at '
	expect_no_output_line '^gap [13] at '
	gputap why 5 run.gtap
	expect_output_line '^steps #5 ended at T\+.*; before, latest first:$'
	gputap why first run.gtap
	expect_status 2
	expect_error "gputap: invalid event 'first' (N of an operation, gap:N, call:N, syscall:N, fault:N, job:N, fence:CONTEXT:SEQNO or xid:N; before the capture) (try 'gputap why --help')"
	gputap why --gap 2 run.gtap
	second=$output
	gputap why gap:2 run.gtap
	expect_status 0
	expect_output "$second"
	gputap why --json --gap 1 run.gtap
	expect_json '.[0].processes[0].gaps | length == 1 and (.[0] |
		([.spent[]] | add) == .duration and (.causes | length) > 0)'
}

@test "why explains the longest calls of a function by what they waited for" {
	record "$examples/streams" sync
	gputap why --call 'cudaDevice*,cudaFree' --top 3 run.gtap
	expect_status 0
	expect_output_line '^[0-9]+ streams: the longest of 10 calls$'
	expect_output_line '^call 3 at T\+.*: cuda(DeviceSynchronize|Free) of thread [0-9]+ took '
	expect_no_output_line '^call 4 at '
	gputap why --call cudaDeviceSynchronize --json run.gtap
	expect_json '.[0].processes[0] | .explained_calls == 8 and (.calls | length) == 8 and
		all(.calls[]; .name == "cudaDeviceSynchronize" and .operation == null and
			([.spent[]] | add) == .duration and .spent.wait > 0 and (.spent.kernel > 0) ==
			any(.causes[]; .spent == "kernel" and .name == "_Z5stepsPji")) and
		([.calls[].duration] | . == (sort | reverse))'
}

@test "why explains a call, a system call or an Xid that is named by its number" {
	"$build/tests/programs/synthetic" run.gtap 2
	gputap why call:1 run.gtap
	expect_status 0
	expect_output_line '^4711 train: the longest of 20 calls$'
	expect_output_line '^call 1 at T\+.*: cudaStreamSynchronize of thread 4711 took '
	expect_no_output_line '^(call 2|gap 1) at '
	gputap why --call cudaFree call:2 run.gtap
	expect_status 0
	expect_output_line '^call 2 at T\+.*: cudaFree of thread '
	expect_no_output_line '^(call [13]|gap [0-9]+) at '
	gputap why --syscall 'sched_*' run.gtap
	expect_status 0
	all=$output
	expect_output_line '^4711 train: 2 system calls, the longest first$'
	expect_output_line '^syscall 1 at T\+.*: sched_yield of thread 4711 took 5\.10 µs'
	expect_output_line '^syscall 2 at T\+.*: sched_yield of thread 4712 took 5\.10 µs'
	expect_output_line '^  off-CPU for 5\.00 µs, of it waiting for a CPU 500 ns$'
	gputap why syscall:2 run.gtap
	expect_output "$(sed '/^syscall 1 /,/^syscall 2 /{/^syscall 2 /!d}' <<<"$all")"
	gputap why --json syscall:2 run.gtap
	expect_json '.[0].processes[0] | .explained_syscalls == 2 and (.syscalls | length == 1 and .[0].tid == 4712) and .calls == []'
	gputap why xid:1 run.gtap
	expect_status 0
	expect_output_line '^Xid 1 at T\+.*: 13 '
	expect_no_output_line '^gap '
}

@test "names of events of why that are not valid, or do not exist, are errors" {
	"$build/tests/programs/synthetic" run.gtap 2
	for event in gap:0 call: fault:x job:7: job:7:1:1 job:0:0 fence:1 fence:7: fence:0:0 syscall:10001 xid:-1; do
		gputap why "$event" run.gtap
		expect_status 2
		expect_error "gputap: invalid event '$event' (N of an operation, gap:N, call:N, syscall:N, fault:N, job:N, fence:CONTEXT:SEQNO or xid:N) (try 'gputap why --help')"
	done
	for options in '--faults xid:1' '--gap 2 5' '--call cudaFree syscall:1' '--gap 2 --xids' '--xids gap:1'; do
		# shellcheck disable=SC2086 # words
		gputap why $options run.gtap
		expect_status 2
		expect_error "gputap: EVENT or --gap N explains one event: omit the options that explain others (try 'gputap why --help')"
	done
	while IFS='|' read -r event message; do
		gputap why "$event" run.gtap
		expect_status 1
		expect_error_line "^gputap: $message\$"
	done <<-'END'
		gap:99|there is no gap 99: at most [0-9]+ idle times of a process
		call:99|there is no call 99: at most 20 calls of a process
		syscall:3|there is no syscall 3: at most 2 system calls of a process
		xid:2|there is no Xid 2: at most 1 Xid of a process
		fault:1|no page fault with a known duration was seen: this needs the source fault \(-e\)
		fence:7:1|no job with the fence 7:1 was seen: 'gputap trace -e drm' prints jobs with theirs
		job:7:1|no job with the fence 7:1 was seen: 'gputap trace -e drm' prints jobs with theirs
	END
}

@test "why explains the Xids of a capture, and says which source other events need" {
	"$build/tests/programs/synthetic" run.gtap 2
	gputap why --xids run.gtap
	expect_status 0
	expect_output_line '^4711 train: 1 Xid$'
	expect_output_line '^Xid 1 at T\+.*: 13 \(.*\): 0000:01:00 13, Graphics exception$'
	expect_output_line '^  cudaFree of thread 4712 began 800 ns before and returned 100 ns before$'
	expect_no_output_line '^gap '
	gputap why --xids --json run.gtap
	expect_json '.[0].processes[0] | .explained_xids == 1 and .xids[0].xid == 13 and .jobs == []'
	gputap why --faults run.gtap
	expect_status 1
	expect_error_line '^gputap: no page fault with a known duration was seen: this needs the source fault \(-e\)$'
	gputap why --jobs run.gtap
	expect_status 1
	expect_error_line '^gputap: no job of the DRM scheduler was seen: this needs the source drm \(-e\)$'
}

@test "why fails where the operation, the gap or the call does not exist" {
	record "$examples/streams" sync
	for json in "" --json; do
		gputap why $json '#999' run.gtap
		expect_status 1
		expect_error_line "^gputap: there is no operation #999: 'gputap report' lists the longest ones$"
		gputap why $json --gap 999 run.gtap
		expect_status 1
		expect_error_line '^gputap: there is no gap 999: at most 23 idle times of a process$'
		gputap why $json --call cudaFoo run.gtap
		expect_status 1
		expect_error_line "^gputap: no such call was seen: 'gputap stat' lists the functions that were called$"
	done
	gputap why 5 run.gtap
	expect_status 0
	gputap why --gap 23 run.gtap
	expect_status 0
}

# record_cause CAUSE: with threads' sleeps and system calls; $last is the last operation. The program
# provokes the cause until it has most of the time, whatever the machine's speed.
record_cause() {
	need_root
	need_file "$examples/causes" "example (clang for PTX)"
	SOFTGPU_QUEUE=32 gputap record -e cuda,sched,syscall -o run.gtap -- "$examples/causes" "$1"
	expect_status 0
	expect_output_line "^causes: $1 took most of the time$"
	gputap export --format jsonl -o run.jsonl run.gtap
	last=$(jq -s '[.[] | select(.kernel and (.kernel | startswith("last"))) | .number] | max' run.jsonl)
}

# explain_gap: the idle time before the last operation, as text and as JSON in $gap.
explain_gap() {
	gputap why --json --top 100 run.gtap
	gap=$(jq -c "[.processes[].gaps[] | select(.operation == $last)] | first" <<<"$output")
	gputap why --top 100 run.gtap
	expect_output_line ": next last #$last late because thread [0-9]+ was off-CPU "
}

@test "a thread that slept is the cause of an idle time, woken by no thread that an interrupt met" {
	local loops=() loop
	for loop in 1 2 3 4; do
		nice -n 19 timeout 120 sh -c 'while :; do :; done' &
		loops+=($!)
	done
	record_cause late
	kill "${loops[@]}"
	explain_gap
	expect_output_line '  thread [0-9]+ was off-CPU [0-9.]+ m?s in clock_nanosleep, woken by \(interrupt\)'
	jq -e '(.headline | .spent == "off_cpu" and .syscall == "clock_nanosleep") and
		.spent.off_cpu > 190000000' <<<"$gap"
}

@test "a lock is the cause of an idle time, with the thread that held it" {
	record_cause lock
	explain_gap
	expect_output_line '  thread [0-9]+ was off-CPU [0-9.]+ m?s in futex, woken by [0-9]+ causes'
	jq -e '(.headline | .spent == "off_cpu" and .syscall == "futex") and
		any(.causes[]; .syscall == "futex" and .waker != .tid and .waker > 0 and
			.duration > 190000000)' <<<"$gap"
}

@test "a copy that blocks the host is on the path to the next operation" {
	record_cause copy
	gputap why "$last" run.gtap
	expect_output_line "thread [0-9]+ returned from cudaMemcpy .* after the end of #$((last - 1))\$"
	expect_output_line "D2H #$((last - 1)) ran .*, after the operation before it in its stream\$"
	expect_output_line "spin #$((last - 2)) ran "
	gputap why --json "$last" run.gtap
	expect_json ".[0].operation.headline | .operation == $((last - 2)) and .spent == \"kernel\""
}

@test "an event of another stream is on the path to the operation that waits for it" {
	record_cause dependency
	gputap why "$last" run.gtap
	expect_output_line "last #$last ran .*, after an operation of another stream$"
	expect_output_line "spin #$((last - 1)) ran "
	gputap why --json "$last" run.gtap
	expect_json ".[0].operation.headline | .operation == $((last - 1)) and .spent == \"kernel\""
}

@test "a full queue is the cause of a launch that takes long" {
	record_cause queue
	gputap why "$last" run.gtap
	expect_output_line 'thread [0-9]+ spent .* in cudaLaunchKernel.*, until one of [0-9]+ operations in its stream had ended \(full queue: it returned .* after that(, with a short queue such calls take .*)?\)$'
	gputap why --json "$last" run.gtap
	expect_json '.[0].operation | any(.causes[]; .full_queue and .queued > 0) and
		.headline.spent == "launch"'
}
