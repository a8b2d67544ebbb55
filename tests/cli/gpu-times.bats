# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# trace --gpu-times: the work of a GPU with its times, from events in its streams. On the software
# GPU, whose log has each operation.

load helper

setup() {
	need_probes
	need_command jq
	export SOFTGPU_LOG=$BATS_TEST_TMPDIR/log
}

timed=$build/tests/programs/timed

# trace_times OPTION… -- COMMAND…: the events are in events.json, in the order of their ends.
trace_times() {
	trace_times_of all "$@"
}

# trace_times_of WHICH OPTION… -- COMMAND…
trace_times_of() {
	rm -f "$SOFTGPU_LOG"
	gputap trace --gpu soft --gpu-times "$1" --json -o "$BATS_TEST_TMPDIR/out.json" "${@:2}"
	jq -cs 'map(select(.source == "gpu")) | sort_by(.stream, .time)' "$BATS_TEST_TMPDIR/out.json" \
		>"$BATS_TEST_TMPDIR/events.json"
	jq -cs 'map(select(.op | IN("kernel", "copy", "set"))) | sort_by(.stream, .end)' "$SOFTGPU_LOG" \
		>"$BATS_TEST_TMPDIR/log.json"
}

# ask QUESTION: true of the events, $events, and of the log, $log.
ask() {
	jq -ne --slurpfile e "$BATS_TEST_TMPDIR/events.json" --slurpfile l "$BATS_TEST_TMPDIR/log.json" \
		'$e[0] as $events | $l[0] as $log | '"$1" >/dev/null || fail "not true of the events: $1"
}

# A name for an operation of either kind.
names='def logged: if .op == "kernel" then "gpu_kernel" elif .op == "set" then "gpu_memset"
	else {"H2D": "gpu_copy_to_device", "D2H": "gpu_copy_to_host", "D2D": "gpu_copy_on_device",
		"H2H": "gpu_copy"}[.kind] end;
	def counts(f): group_by(f) | map({(.[0] | f): length}) | add; '

@test "--gpu-times has an event for each operation in the software GPU's log" {
	for program in streams vectoradd pipeline reduce transpose driver; do
		need_file "$examples/$program" "example (no clang that makes PTX)"
		trace_times -- "$examples/$program"
		expect_status 0
		ask "$names"'($events | counts(.name)) == ($log | counts(logged))'
		ask '($events | map(.bytes) | add) == ($log | map(select(.op != "kernel").bytes) | add)'
		ask '$events | all(.submitted > 0 and .submitted <= .returned and .start <= .time)'
		expect_error_line "^gputap: GPU times: [0-9]+ operations timed$"
	done
}

@test "the operations of a stream are in the order of the log, and their times around those of the log" {
	need_file "$examples/streams" "example (no clang that makes PTX)"
	trace_times -- "$examples/streams"
	ask "$names"'[$events[] | [.stream, .name]] ==
		[$log[] | [(.stream | ltrimstr("0x") | ascii_downcase), logged]] or
		([$events[] | .name] == [$log[] | logged])'
	# The last event may be late by as much as the machine is slow, the first one is not early.
	ask '[$events, $log] | transpose | all(.[0].start <= .[1].start + .[0].error and
		.[1].end <= .[0].time + .[0].error)'
	ask '$events | group_by(.stream) | all([.[:-1], .[1:]] | transpose |
		all(.[0].time <= .[1].start + 1))'
}

@test "in virtual time the durations and the gaps are exactly those of the log" {
	need_file "$examples/streams" "example (no clang that makes PTX)"
	export SOFTGPU_TIME=virtual
	for program in streams pipeline; do
		trace_times -- "$examples/$program"
		ask '[$events[] | .duration] == [$log[] | .end - .start]'
		ask '[$events[] | .start - $events[0].start] == [$log[] | .start - $log[0].start]'
	done
}

@test "the clock of the GPU may be far from that of the host, and drift" {
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
	for offset in -86400s 5000s; do
		SOFTGPU_CLOCK_OFFSET=$offset SOFTGPU_CLOCK_DRIFT=50 trace_times -- "$examples/pipeline"
		ask '$events | length == 18'
		ask '[$events, $log] | transpose | all(.[0].start <= .[1].start + .[0].error and
			.[1].end <= .[0].time + .[0].error)'
	done
}

@test "the calls of a program are the same with --gpu-times as without, and so are its results" {
	for program in capture reset destroy contexts threads fail end-late fork; do
		observe env -u SOFTGPU_LOG LD_LIBRARY_PATH="$softgpu" "$timed" $program
		expected=$output expected_status=$status
		gputap trace --gpu soft --json -o "$BATS_TEST_TMPDIR/plain.json" -- "$timed" $program
		trace_times -- "$timed" $program
		expect_status "$expected_status"
		expect_output "$expected"
		for file in plain out; do
			jq -c 'select(.schema == "gputap.call.1") | [.name, .result, .depth]' \
				"$BATS_TEST_TMPDIR/$file.json" | sort >"$BATS_TEST_TMPDIR/$file.calls"
		done
		[ -s "$BATS_TEST_TMPDIR/plain.calls" ] || fail "no calls of $program"
		cmp "$BATS_TEST_TMPDIR/plain.calls" "$BATS_TEST_TMPDIR/out.calls" || fail "other calls of $program"
	done
}

@test "work that cannot be timed is counted with its reason" {
	trace_times -- "$timed" capture
	ask '$events | map(.name) == ["gpu_memset", "gpu_copy_to_host", "gpu_graph", "gpu_graph"]'
	expect_error_line '^gputap: GPU times: 4 operations timed; 3 not timed: in stream capture$'
	trace_times -- "$timed" many
	expect_output_line '^counted: 5000$'
	expect_error_line '^gputap: GPU times: 4[0-9]+ operations timed; [0-9]+ not timed: too many not complete at a time$'
	[[ $stderr =~ times:\ ([0-9]+)\ operations\ timed\;\ ([0-9]+)\ not ]]
	[ $((BASH_REMATCH[1] + BASH_REMATCH[2])) = 5003 ] || fail 'they are not all operations'
	# A set in each of 17 contexts, and a set and a copy in one that takes the place of another.
	trace_times -- "$timed" contexts
	expect_error_line '^gputap: GPU times: 18 operations timed; 1 not timed: too many contexts or devices$'
	gputap trace --gpu soft --gpu-times sampled=10 --json -o "$BATS_TEST_TMPDIR/out.json" -- "$timed" threads
	expect_error_line '^gputap: GPU times: 41 operations timed; 361 not sampled$'
	jq -se 'map(select(.source == "gpu")) | length == 41 and all(.flags == "0x2")' "$BATS_TEST_TMPDIR/out.json"
}

@test "a program continues when gputap is killed while its work is timed" {
	"$build/gputap" trace --gpu soft --gpu-times all -- "$timed" kill \
		>"$BATS_TEST_TMPDIR/output" 2>/dev/null || true
	wait_for grep -q '^counted: 5050$' "$BATS_TEST_TMPDIR/output"
}

@test "record times the work of a command by default" {
	gputap record --gpu soft -e cuda -o "$BATS_TEST_TMPDIR/run.gtap" -- "$timed" destroy
	expect_status 0
	expect_error_line '^gputap: GPU times: 7 operations timed$'
	gputap trace --json --from "$BATS_TEST_TMPDIR/run.gtap"
	expect_json 'map(select(.source == "gpu")) | length == 7'
	gputap record --gpu soft -e cuda --gpu-times off -o "$BATS_TEST_TMPDIR/off.gtap" -- "$timed" destroy
	expect_no_error_line 'GPU times'
}

@test "--gpu-times works beside GPU programs" {
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
	printf '#include <gputap/bpf.h>\nGPUTAP_ARRAY(counts, unsigned long long, 1);
		SEC("gpu/entry/*") int count(void *ctx) {
		unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }
		char LICENSE[] SEC("license") = "GPL";\n' >"$BATS_TEST_TMPDIR/count.c"
	clang -g -O2 -target bpf -I "$root/include" -I"/usr/include/$(uname -m)-linux-gnu" \
		-c "$BATS_TEST_TMPDIR/count.c" -o "$BATS_TEST_TMPDIR/count.o"
	trace_times --inject "$BATS_TEST_TMPDIR/count.o" -- "$examples/pipeline"
	expect_status 0
	ask '$events | map(select(.name == "gpu_kernel")) | length == 16'
}

# The events with exact times, and the kernels of the log.
exact='($events | map(select(.flags == "0x1"))) as $kernels | ($log | map(select(.op == "kernel"))) as $logged | '

@test "with --gpu-times exact a kernel has the times of its first and last instruction" {
	for program in pipeline streams vectoradd; do
		need_file "$examples/$program" "example (no clang that makes PTX)"
		trace_times_of exact -- "$examples/$program"
		expect_status 0
		[[ $stderr =~ exact\ for\ ([0-9]+)\ of\ ([0-9]+)\ kernels ]]
		# In one stream there is no doubt which is which.
		[ "$program" = streams ] || [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
		ask '$events | map(select(.flags == "0x1")) | length == '"${BASH_REMATCH[1]}"' and length > 0'
		ask '$events | map(select(.flags == "0x1" and .name != "gpu_kernel")) == []'
		# The log has the times around them.
		ask "$exact"'$kernels | all(. as $kernel | any($logged[]; .start <= $kernel.start + $kernel.error and
			$kernel.time <= .end + $kernel.error) and .start <= .time)'
		[ "$program" != pipeline ] || ask "$exact"'[$kernels, $logged] | transpose |
			all(.[0].start + .[0].error >= .[1].start and .[0].time <= .[1].end + .[0].error)'
	done
}

@test "exact times do not depend on where the GPU's clock is" {
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
	for offset in -86400s 5000s; do
		SOFTGPU_CLOCK_OFFSET=$offset SOFTGPU_CLOCK_DRIFT=50 \
			trace_times_of exact -- "$examples/pipeline"
		expect_error_line '^gputap: GPU times: exact for 16 of 16 kernels$'
		ask "$exact"'[$kernels, $logged] | transpose |
			all(.[0].start + .[0].error >= .[1].start and .[0].time <= .[1].end + .[0].error)'
	done
}

@test "exact times work beside other GPU programs, whose maps alone are printed" {
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
	gputap trace --gpu soft --gpu-times exact --inject "$build/programs/cudacounter.bpf.o" -- "$examples/pipeline"
	expect_status 0
	expect_error_line '^gputap: GPU times: exact for 16 of 16 kernels$'
	[[ $output$stderr == *kernels* ]]
	[[ $output$stderr != *exact_grids* && $output$stderr != *exact_slots* ]]
}

@test "kernels without exact times have measured ones: other functions, graphs, virtual time" {
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
	trace_times_of exact --inject "$build/programs/cudacounter.bpf.o" --kernel 'none*' -- "$examples/pipeline"
	expect_error_line '^gputap: GPU times: exact for 0 of 16 kernels; the others were not patched, or their records are lost, or in virtual time$'
	ask '$events | map(select(.name == "gpu_kernel")) | length == 16 and all(.flags == "0x0")'
	export SOFTGPU_TIME=virtual
	trace_times_of exact -- "$examples/pipeline"
	ask '[$events[] | .duration] == [$log[] | .end - .start]'
	unset SOFTGPU_TIME
	trace_times_of exact -- "$timed" capture
	ask '$events | map(.flags) == ["0x0", "0x0", "0x0", "0x0"]'
}

@test "report marks exact times" {
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
	gputap record --gpu soft --gpu-times exact -e cuda -o "$BATS_TEST_TMPDIR/run.gtap" -- "$examples/pipeline"
	expect_status 0
	gputap report --from "$BATS_TEST_TMPDIR/run.gtap" --json
	expect_json '.[0].processes[0].kernels[0] | .run.count == 16 and .exact == 16 and .estimated == 0'
	gputap report --from "$BATS_TEST_TMPDIR/run.gtap"
	expect_output_line '^GPU 0 kernel +16 .* exact$'
}

@test "--gpu-times needs a command that can load the agent, and says so" {
	gputap trace --gpu-times all
	expect_status 2
	expect_error_line '^gputap: --gpu-times needs a command: -- CMD: the agent that times work cannot enter a running process'
	gputap trace --gpu-times sometimes -- true
	expect_status 2
	expect_error_line "^gputap: invalid value 'sometimes' for --gpu-times \(one of: off, all, exact, sampled=N\)"
	gputap trace --gpu-times sampled=0 -- true
	expect_status 2
	gputap trace --gpu soft --gpu-times all -- true
	expect_status 0
	expect_error_line '^gputap: GPU times: no work was seen: the command submitted none, or could not load the agent \(a static or set-user-ID program\)$'
}
