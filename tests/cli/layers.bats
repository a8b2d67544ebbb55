# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Layer sources: what all of them share, shown by "sched", which works on every kernel with BTF.

load helper

setup() {
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
}

# events FILE NAME: the JSON lines of events of this name.
events() {
	jq -c --arg name "$2" 'select(.schema == "gputap.event.1" and .name == $name)' "$1"
}

@test "sched shows how long a thread slept, and who woke its parent" {
	gputap trace -e sched --json -o out.json -- sh -c 'sleep 0.3; :'
	expect_status 0
	events out.json off_cpu >waits.json
	# The shell waited for sleep, whose end woke it. A thread may be preempted after its timer has begun.
	run -0 jq -s 'any(.process == "sleep" and .state == "sleeping" and .duration >= 200000000)' \
		waits.json
	[ "$output" = true ]
	run -0 jq -s '(map(select(.process == "sleep"))[0].pid) as $child |
		any(.process == "sh" and .duration >= 200000000 and .waker_process == $child)' waits.json
	[ "$output" = true ]
}

@test "sched shows that an interrupt woke a thread whose timer expired" {
	gputap trace -e sched --json -o out.json -- sleep 0.1
	run -0 jq -s 'map(select(.name == "off_cpu" and .process == "sleep" and .duration >= 100000000)) |
		length == 1 and .[0].waker == "(interrupt)"' out.json
	[ "$output" = true ]
}

@test "the time of an event with a duration is its beginning, and no wait lasts longer than the session" {
	gputap trace -e sched --json -o out.json -- sleep 0.1
	run -0 jq -s '(map(select(.schema == "gputap.account.1"))[0].time) as $last |
		map(select(.name == "off_cpu")) | all(.time > 0 and .time + .duration <= $last and
			.runnable <= .duration)' out.json
	[ "$output" = true ]
}

@test "calls that were sorted among the events of layers are counted as complete" {
	gputap trace -e cuda,sched --gpu soft --json -o out.json -- "$build/examples/vectoradd"
	run -0 jq -s 'map(select(.schema == "gputap.call.1")) | length' out.json
	calls=$output
	run -0 jq 'select(.schema == "gputap.account.1") | .complete' out.json
	[ "$output" = "$calls" ]
	[ "$calls" -gt 5 ]
}

@test "the totals of a source are the number of its events" {
	gputap trace -e sched --json -o out.json -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
	count=$(events out.json off_cpu | wc -l)
	[ "$count" -ge 10 ]
	run -0 jq -c 'select(.schema == "gputap.totals.1") | [.source, .recorded, .lost]' out.json
	[ "$output" = "[\"sched\",$count,0]" ]
	grep -q "^gputap: sched: $count events: $count recorded, 0 lost$" <<<"$stderr"
}

@test "the totals follow the events that they count, also those of the last moment" {
	gputap trace --gpu nvidia -e syscall,cgroup --json -o out.json -- true
	expect_status 0
	run -0 jq -rs 'map(.schema) | [index("gputap.totals.1") > rindex("gputap.event.1"),
		rindex("gputap.event.1") != null, .[-1] == "gputap.account.1"] | all' out.json
	[ "$output" = true ] || fail "$(jq -r .schema out.json | uniq -c)"
}

@test "children of the command are traced, other processes are not" {
	sleep 30 3>&- &
	other=$!
	gputap trace -e sched --json -o out.json -- sh -c 'sleep 0.05 & wait'
	kill $other
	run -0 jq -s --argjson other $other 'map(select(.name == "off_cpu")) |
		(any(.process == "sleep")) and (all(.pid != $other))' out.json
	[ "$output" = true ]
}

@test "text, one line and a capture show the same events" {
	gputap trace -e sched -o run.gtap -- sleep 0.1
	gputap trace --from run.gtap --json
	count=$(grep -c '"name":"off_cpu"' <<<"$output")
	[ "$count" -ge 1 ]
	gputap trace --from run.gtap
	[ "$(grep -c '\[SCHED\]' <<<"$output")" = "$count" ]
	grep -qE 'off_cpu +\[SCHED\] +runnable=.* state=sleeping cpu=[0-9]+( waker=.*)? \([0-9.]+ m?s\)$' <<<"$output"
	gputap trace --from run.gtap -1
	[ "$(grep -c 'sched off_cpu: ' <<<"$output")" = "$count" ]
	gputap trace --from run.gtap -d 1
	! grep -q '\[SCHED\]' <<<"$output"
}

@test "stat shows by thread why it did not run, its waits for a CPU, and who woke it" {
	gputap stat -e sched -o table -- sh -c 'sleep 0.2; :'
	expect_status 0
	grep -qE '^PROCESS +THREAD +OFF CPU +COUNT' table
	grep -qE '^[0-9]+ sleep +[0-9]+ +sleeping +[0-9]+ +[0-9.]+ ms' table
	grep -qE '^PROCESS +THREAD +RUN QUEUE AFTER' table
	# A busy machine can take the CPU away between the start of the timer and the wait, and can run
	# the shell late.
	gputap stat -e sched --json -o stat.json -- sh -c 'sleep 1; :'
	run -0 jq -e '.sources[0] | .source == "sched" and
		(.waits | any(.process == "sleep" and .state == "sleeping" and .duration.max >= 500000000)) and
		(.waits | map(.total) | . == (sort | reverse)) and
		(.wakers | any(.name == "sleep" and .tid == .pid))' stat.json
	run -0 jq -e '(.sources[0].waits | map(.duration.count) | add) == .totals[0].recorded' stat.json
}

@test "stat counts page faults by process and type" {
	gputap stat -e fault --json -o stat.json -- sh -c 'sleep 0.1; :'
	expect_status 0
	run -0 jq -e '.sources[0] | (.processes | map(.minor + .major + .uvm) | add) > 100 and
		(.processes | any(.process == "sleep" and .writes > 0 and .reads > 0))' stat.json
	run -0 jq -e '(.sources[0].processes | map(.minor + .major + .uvm) | add) == .totals[0].recorded' stat.json
}

@test "stat counts requests of block I/O by disk and by process: the sums agree" {
	gputap stat -e block --json -o stat.json -- sh -c 'dd if=/dev/zero of=data bs=64K count=16 conv=fsync; :'
	expect_status 0
	run -0 jq -e '.totals[0].recorded as $recorded | .sources |
		if $recorded == 0 then . == [] else
			(.[0].disks | map(.requests) | add) == $recorded and
			(.[0].processes | map(.requests) | add) == $recorded end' stat.json
}

@test "stat has the calls by function, as trace -c" {
	load tracing
	use_standin
	gputap stat --gpu nvidia --json -o stat.json -- "$calls"
	run -0 jq -r '.sources[0].functions[] | "\(.calls) \(.errors) \(.name)"' stat.json
	stat=$(sort <<<"$output")
	trace -c -- "$calls"
	counts=$(awk '$1 ~ /^[0-9]+$/ && NF >= 8 { print $1, $2, $NF }' <<<"$stderr" | sort)
	[ "$stat" = "$counts" ] || fail "$stat, not $counts"
}

@test "-e all enables what works here and succeeds" {
	gputap trace -e all --json -o out.json -- sleep 0.05
	expect_status 0
	[ "$(events out.json off_cpu | wc -l)" -ge 1 ]
}

@test "calls and events of layers are one stream in the order of time" {
	gputap trace --gpu soft -e all --json -o out.json -- "$build/examples/vectoradd"
	expect_status 0
	run -0 jq -s 'map(select(.schema == "gputap.call.1" or .schema == "gputap.event.1")
		| .time + (.duration // 0)) | length > 50 and . == sort' out.json
	[ "$output" = true ]
	run -0 jq -s 'map(.source // .schema) | unique | length >= 4' out.json
	[ "$output" = true ]
}

@test "calls that returned at the end of a session with layer sources are counted" {
	gputap trace --gpu soft -e cuda,sched -- "$build/examples/vectoradd"
	expect_status 0
	expect_error_line '^gputap: 10 calls: 10 complete, 0 unfinished, 0 lost'
}

@test "doctor has a row for each layer source" {
	gputap doctor --json
	run -0 jq -e '.examinations | any(.name == "source sched" and .verdict == "ok")' <<<"$output"
}

@test "a source of which the kernel has no event is an error that names it" {
	gputap trace -e pcie -- true
	[ "$status" != 0 ] || skip "this kernel has events of the source pcie"
	expect_status 1
	expect_error_line '^gputap: pcie: this kernel has none of its events: accesses to configuration space are not shown: '
}

@test "the symbols of the kernel are listed once for all sources" {
	gputap trace --gpu nvidia -e syscall --json -o out.json -- "$build/gputap" stat -e all -- true
	expect_status 0
	events out.json openat >opened.json
	grep -q /sys/kernel/btf/vmlinux opened.json || fail "the traced gputap opened no file of the kernel"
	run -0 jq -s 'map(select(.arguments | index("\"/proc/kallsyms\""))) | length <= 1' opened.json
	[ "$output" = true ]
}
