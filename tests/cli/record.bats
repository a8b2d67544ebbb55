# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Recording: captures of all sources, flight recorders, and what a capture has.

load helper
load tracing

synthetic=$build/tests/programs/synthetic

setup() {
	use_standin
}

record() {
	gputap record --gpu nvidia "$@"
	without_driver_note
}

# Starts `gputap record -v` with these arguments as $tracer, and waits for its probes.
start_record() {
	: >err
	"$build/gputap" record --gpu nvidia -v "$@" >out 2>err 3>&- &
	tracer=$!
	wait_for grep -qE '^gputap: (attached|nothing to attach)' err
}

info() {
	gputap info --json "$1"
	[ -n "$output" ] || fail "no information about $1"
}

@test "record writes gputap.gtap, and prints its size and the command that shows it" {
	record -e cuda -- "$calls" 100
	expect_status 0
	expect_error_line '^gputap: recorded [0-9]+ events in [0-9.]+ [KM]iB \([0-9.]+ bytes each\), of [0-9.]+ .*s: gputap\.gtap$'
	expect_error_line '^gputap: show it with: gputap (report|trace --from) gputap\.gtap$'
	expect_error_line '^gputap: 100 calls: 100 complete, 0 unfinished, 0 lost$'
	gputap trace --from gputap.gtap -c
	expect_output_line '^ *100 .* cudaGetDevice$'
}

@test "the time that record prints is that of the command, without gputap's start and end" {
	local recorded whole
	record -e cuda -o run.gtap -- "$calls" 20
	recorded=$(sed -En 's/^gputap: recorded .*, of (.*): run\.gtap$/\1/p' <<<"$stderr")
	gputap report run.gtap
	expect_output_line "^[0-9]+ calls: $recorded of wall time"
	gputap info run.gtap
	whole=$(sed -En 's/^time: +(.*) from .*/\1/p' <<<"$output")
	[ "$recorded" != "$whole" ] || fail "the time of the capture is that of the command"
}

@test "without -e record enables every source that works, and says which others do not and why" {
	record -o all.gtap -- "$calls" 1
	expect_status 0
	expect_error_line '^gputap: recording .*cuda.*process'
	unavailable=$(grep -c '^gputap: not available: ' <<<"$stderr" || true)
	[ "$unavailable" -le 1 ]
	[ "$unavailable" = 0 ] ||
		expect_error_line "^gputap: not available: [a-z0-9]+ \(.+\).*; see 'gputap doctor'$"
	# The reason is not the name once more.
	expect_no_error_line ' ([a-z0-9]+) \(\1\)'
	record -e cuda -o some.gtap -- "$calls" 1
	expect_no_error_line '^gputap: recording '
}

@test "a recording has the callers of calls" {
	record -e cuda -o stacks.gtap -- "$calls" 3
	gputap trace --from stacks.gtap --json
	expect_json 'map(select(.name)) | length == 3 and all(.stack | length > 0)'
}

@test "a capture has the machine, which -v and info show" {
	record -e cuda -o run.gtap -- "$calls" 1
	gputap kernels -v --from run.gtap
	expect_error_line "^gputap: recorded by gputap [0-9.]+ on .*, Linux $(uname -r) .*; command: .*gputap record .* -o run\.gtap -- "
	info run.gtap
	expect_json '.[0].machines[0].kernel == "Linux '"$(uname -r)"'"'
	expect_json '.[0].machines[0].cpus == '"$(getconf _NPROCESSORS_ONLN)"
	expect_json '.[0].schema == "gputap.info.1" and .[0].complete and .[0].corrupt_parts == 0'
	expect_json '.[0].kinds | map(select(.kind == "call"))[0].events == 1'
	expect_json '.[0].processes | map(select(.process == "calls"))[0].calls == 1'
	gputap info run.gtap
	expect_output_line '^capture:  version 3, '
	expect_output_line '^damage:   none$'
	expect_output_line '^ +1 .* call$'
}

@test "info reports a truncated and a corrupt capture, and fails" {
	record -e cuda -o run.gtap -- "$calls" 1000
	head -c -40 run.gtap >broken.gtap
	gputap info broken.gtap
	expect_status 1
	expect_output_line '^damage:   truncated at byte [0-9]+; '
	gputap info nowhere.gtap
	expect_status 1
	expect_error "gputap: nowhere.gtap: No such file or directory: check the path"
	gputap info
	expect_status 2
	expect_error "gputap: a capture is needed: FILE (try 'gputap info --help')"
}

@test "a recorder that is killed loses at most the last second" {
	start_record -e cuda -o killed.gtap -- sh -c "'$calls' 50; echo \$\$ >pid; exec sleep 60"
	wait_for grep -qUa GBLK killed.gtap
	wait_for test -s pid
	sleep 1.5
	kill -9 "$tracer"
	wait "$tracer" || :
	kill "$(cat pid)"
	gputap trace --from killed.gtap
	expect_error_line '^gputap: the capture is truncated: it has no totals$'
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 50
	gputap info killed.gtap
	expect_output_line '^damage:   the recorder was killed: there is no index$'
}

# Whether a capture that is being written has so many blocks.
has_blocks() {
	[ "$(grep -oUa GBLK "$2" | wc -l)" -ge "$1" ]
}

# How long before the recorder was killed the last call of its capture was made, in ns. Calls are made all the time.
time_lost() {
	local killed
	rm -f pid killed.gtap
	start_record -e cuda -o killed.gtap -- sh -c "echo \$\$ >pid; exec '$calls' --rate 500 1000000"
	wait_for has_blocks 3 killed.gtap
	killed=$(python3 -c "import os, time; os.kill($tracer, 9); print(time.monotonic_ns())")
	wait "$tracer" || :
	kill "$(cat pid)"
	gputap trace --from killed.gtap --json
	jq -s --argjson killed "$killed" '$killed - (map(select(.name).time) | max)' <<<"$output"
}

@test "of calls that are made until the recorder is killed, at most the last second is lost" {
	need_command python3
	# Two of three: other programs may keep the recorder from a CPU for long.
	local lost=()
	for _ in 1 2 3; do
		lost+=("$(time_lost)")
	done
	mapfile -t lost < <(printf '%s\n' "${lost[@]}" | sort -n)
	((lost[0] > 0 && lost[1] < 1000000000)) || fail "lost: ${lost[*]} ns"
}

@test "--quiet prints nothing where nothing is lost, with and without a ring" {
	record -q -o quiet.gtap -- "$calls" 2
	expect_status 0
	expect_error ''
	record -q --ring 1M -o ring.gtap -- "$calls" 2
	expect_status 0
	expect_error ''
	[ -s quiet.gtap ]
	[ -s ring.1.gtap ]
	gputap export -q --format csv -o quiet.csv quiet.gtap
	expect_error ''
	[ -s quiet.csv ]
}

@test "a disk that is full from the start is an error, and the command runs nevertheless" {
	[ -w /dev/full ] || skip "there is no /dev/full"
	observe timeout 300 "$build/gputap" record -e cuda -o /dev/full -- touch ran
	expect_status 1
	expect_error_line '^gputap: /dev/full: cannot be written: No space left on device: free space, or choose a file on another disk$'
	[ -e ran ]
}

@test "a part of a capture is shown by its times, with the names of what is before it" {
	record -e cuda -o run.gtap -- sh -c "'$calls' 20; sleep 2; '$calls' 30"
	first=$("$build/gputap" info --json run.gtap | jq .start)
	# The pause in the calls, in seconds since the beginning of the capture.
	pause=$("$build/gputap" trace --from run.gtap --json 2>/dev/null | jq -s "
		map(select(.name).time) | sort as \$t |
		[range(1; length) | select(\$t[.] - \$t[. - 1] > 1500000000) | \$t[.] - 1000000000][0] - $first")
	gputap trace --from run.gtap --end "${pause}ns"
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 20
	expect_error_line '20 calls: 20 complete, 0 unfinished, 0 lost'
	gputap trace --from run.gtap --start "${pause}ns"
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 30
	expect_count "$output" '^[0-9:.]+ +calls ' 30
	expect_error_line '30 calls: 30 complete, 0 unfinished, 0 lost'
	gputap record --from run.gtap --start "${pause}ns" -o part.gtap
	expect_status 0
	gputap trace --from part.gtap
	expect_count "$output" 'calls .*cudaGetDevice .*\[EXIT\]' 30
	gputap trace --start 1s -- true
	expect_status 2
	expect_error "gputap: --start is for a capture: it needs --from FILE (try 'gputap trace --help')"
}

@test "a range that begins after the end of a capture is an error that says how long it is" {
	"$synthetic" run.gtap 2
	local command too_late='--start is after the end of the capture, which is 38\.6 µs long$'
	for command in 'report run.gtap' 'why run.gtap' 'trace --from run.gtap' \
		'kernels --from run.gtap' 'record -o part.gtap --from run.gtap' \
		'export --format html -o part.html run.gtap'; do
		# shellcheck disable=SC2086 # several words
		gputap ${command%% *} --start 1s ${command#* }
		expect_status 2
		expect_output ''
		expect_error_line "^gputap: run.gtap: $too_late"
	done
	[ ! -e part.gtap ] && [ ! -e part.html ]
	# A pipe and a capture without an index are read to their ends first.
	head -c "$(($(stat -c %s run.gtap) - 16))" run.gtap >unindexed.gtap
	for command in - unindexed.gtap; do
		gputap trace --from $command --start 1s <run.gtap
		expect_status 2
		expect_error_line "^gputap: $command: $too_late"
	done
	gputap report --start 30us --end 1000s run.gtap
	expect_status 0
}

@test "a flight recorder writes at the end what it holds" {
	record -e cuda --ring 1M --trigger exit -o flight.gtap -- "$calls" 100
	expect_status 0
	expect_error_line '^gputap: end of the recording: [0-9]+ events in .*: flight\.1\.gtap$'
	expect_error_line '^gputap: 1 file written; 0 events left the ring$'
	[ ! -e flight.gtap ]
	gputap trace --from flight.1.gtap
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 100
	expect_error_line '^gputap: 100 calls: 100 complete, 0 unfinished, 0 lost$'
}

@test "a ring that is too small for all calls has the last ones, with their names" {
	record -e cuda --ring 256K --trigger exit -o flight.gtap -- "$calls" 200000
	expect_error_line '^gputap: 1 file written; [1-9][0-9]* events left the ring$'
	gputap trace --from flight.1.gtap --json
	expect_json 'map(select(.name)) | length > 100 and length < 200000'
	expect_json 'map(select(.name)) | all(.process == "calls" and .name == "cudaGetDevice")'
	[ "$(stat -c %s flight.1.gtap)" -lt 1000000 ]
}

@test "a failed call is a trigger, if its error is meant, and the recording continues" {
	unset LD_LIBRARY_PATH
	gputap record -e cuda --ring 1M --trigger error,exit -o flight.gtap -- "$examples/failures"
	expect_error_line '^gputap: cuda[A-Za-z]+ returned cudaError[A-Za-z]+: [0-9]+ events in .*: flight\.1\.gtap$'
	expect_error_line '^gputap: end of the recording: .*: flight\.2\.gtap$'
	expect_error_line '^gputap: 2 files written'
	gputap trace --from flight.1.gtap --failed
	expect_output_line '\[EXIT\]'
	gputap trace --from flight.2.gtap
	expect_no_error_line 'no totals'
	gputap record -e cuda --ring 1M --trigger 'error=cudaErrorNever*' -o other.gtap -- "$examples/failures"
	expect_error_line '^gputap: 0 files written'
}

@test "a long call is a trigger" {
	unset LD_LIBRARY_PATH
	gputap record -e cuda --ring 1M --trigger slow=1ns -o flight.gtap -- "$examples/vectoradd"
	expect_error_line '^gputap: cu[A-Za-z]+ took [0-9.]+ .*s: .*: flight\.1\.gtap$'
	gputap record -e cuda --ring 1M --trigger slow=3600s -o other.gtap -- "$examples/vectoradd"
	expect_error_line '^gputap: 0 files written'
}

@test "SIGUSR2 writes the ring, with the totals so far" {
	start_record -e cuda --ring 1M -o flight.gtap -- sh -c "'$calls' 50; touch called; sleep 60"
	wait_for test -e called
	kill -USR2 "$tracer"
	wait_for test -s flight.1.gtap
	wait_for grep -q '^gputap: SIGUSR2: ' err
	kill "$tracer"
	end_trace
	expect_error_line '^gputap: SIGUSR2: [0-9]+ events in .*: flight\.1\.gtap$'
	expect_error_line '^gputap: end of the recording: .*: flight\.2\.gtap$'
	gputap trace --from flight.1.gtap
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 50
	expect_error_line '^gputap: .*50 calls: 50 complete'
}

@test "a signal that comes as soon as the command runs writes the ring, too" {
	# shellcheck disable=SC2016 # expanded by the other shell
	start_record -e cuda --ring 1M -o flight.gtap -- sh -c 'kill -USR2 $PPID; while [ ! -e go ]; do sleep 0.1; done'
	wait_for grep -q '^gputap: SIGUSR2: ' err
	touch go
	end_trace
	expect_error_line '^gputap: end of the recording: .*: flight\.2\.gtap$'
}

@test "at most --max-files files are written, and further triggers are counted" {
	start_record -e cuda --ring 1M --max-files 1 --trigger signal,exit -o flight.gtap -- \
		sh -c "'$calls' 50; touch called; sleep 60"
	wait_for test -e called
	kill -USR2 "$tracer"
	wait_for grep -q '^gputap: SIGUSR2: ' err
	kill "$tracer"
	end_trace
	expect_no_error_line '^gputap: end of the recording'
	expect_error_line '^gputap: 1 file written; 1 more trigger without a file \('
	[ -s flight.1.gtap ] && [ ! -e flight.2.gtap ]
}

@test "triggers within a second of a file are counted, and write none" {
	# Each of the calls is a trigger; the program makes all of them in less than a second, or some later ones write.
	record -e cuda --ring 1M --trigger slow=1ns -o flight.gtap -- "$calls" 1000
	expect_status 0
	[[ $stderr =~ gputap:\ ([0-9]+)\ files?\ written\;\ ([0-9]+)\ more\ trigger ]] || fail "$stderr"
	[ $((BASH_REMATCH[1] + BASH_REMATCH[2])) = 1000 ]
}

@test "record takes a running process by -d, and the users of a library by -p" {
	"$calls" --wait-for go 30 >/dev/null 3>&- &
	target=$!
	"$calls" --wait-for go 20 >/dev/null 3>&- &
	wait_for test -e "/proc/$target/maps"
	start_record -e cuda -d $target -o one.gtap
	touch go
	end_trace
	expect_status 0
	gputap trace --from one.gtap --json
	expect_json "map(select(.schema == \"gputap.call.1\")) | length == 30 and all(.pid == $target)"
	cp "$standin/libcudart.so.13" . # other tests may use the one that is built
	start_record -e cuda -p ./libcudart.so.13 -o library.gtap
	LD_LIBRARY_PATH=$PWD "$calls" 2 >/dev/null
	"$calls" 5 >/dev/null
	kill -INT "$tracer"
	end_trace
	expect_status 0
	gputap trace --from library.gtap --json
	expect_json 'map(select(.schema == "gputap.call.1")) | length == 2'
}

# peak_memory CALLS: of recording so many calls, KiB.
peak_memory() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
		"$build/gputap" record --gpu nvidia -e cuda --buffer-size 8M -o run.gtap -- "$calls" "$1"
}

@test "the memory of a recording does not grow with the calls" {
	need_command python3
	few=$(peak_memory 1000)
	many=$(peak_memory 2000000)
	gputap info --json run.gtap
	expect_json '.[0] | .processes[0].calls + .calls_lost == 2000000'
	# These records have 160 MB; the ring has 16 MB, which are mapped twice, the buffer 8 MB.
	((many < few + 80000)) || fail "$few KiB for 1000 calls, $many KiB for 2 million"
}

@test "options of a flight recorder are checked" {
	gputap record --trigger exit -- true
	expect_status 2
	expect_error "gputap: --trigger is for a flight recorder: it needs --ring SIZE (try 'gputap record --help')"
	gputap record --ring 0 -- true
	expect_status 2
	expect_error "gputap: invalid value '0' for --ring (a size such as 64K or 16M) (try 'gputap record --help')"
	gputap record --ring 1M --trigger sometimes -- true
	expect_status 2
	expect_error "gputap: invalid value 'sometimes' for --trigger (one of: xid, error, error=NAME, slow=TIME, signal, exit) (try 'gputap record --help')"
	gputap record --ring 1K -- true
	expect_status 2
	gputap record --ring 1M -o - -- true
	expect_status 2
}

@test "a reader written from docs/captures.md finds the same calls" {
	need_command python3
	record -e cuda -o run.gtap -- "$callback" nested 3000
	"$root/tests/support/read-capture.py" run.gtap | jq -cS . >independent
	gputap trace --from run.gtap --json
	jq -cS 'select(.schema == "gputap.call.1") |
		{time, duration, pid, tid, process, name, nested: (.nested // false)}' <<<"$output" >own
	[ "$(wc -l <own)" = 6000 ]
	cmp own independent
}
