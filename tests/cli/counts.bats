# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# `gputap trace -c`: the kernel counts the calls, and no record of a call leaves it.

load helper
load tracing

setup() {
	use_standin
}

# Calls, errors and function of each row, and calls that are unfinished.
rows() {
	awk '$1 == "CALLS" { table = 1; next } /^gputap:/ { table = 0 }
		table { name = $0; sub(/^.*  /, "", name); print $1, $2, name }' <<<"$1" | sort
}

# expect_same_rows PROGRAM [ARGS]: live counts are those of a capture of the same program; then $live
# has the rows and $totals the last line.
expect_same_rows() {
	trace -c "${options[@]}" -- "$@"
	expect_status 0
	live=$(rows "$stderr")
	totals=${stderr_lines[-1]}
	[ -n "$live" ] || fail "no table: $stderr"
	trace "${options[@]}" -o calls.gtap -- "$@"
	[ "$totals" = "${stderr_lines[-1]}" ] || fail "$*: $totals, but ${stderr_lines[-1]}"
	gputap trace --from calls.gtap -c
	[ "$live" = "$(rows "$output")" ] || fail "$*: $live, but in a capture $(rows "$output")"
}

@test "-c needs a source of calls: events of the others are not in its table" {
	gputap trace -c -e sched,fault -- true
	expect_status 2
	expect_error "gputap: -c counts calls of APIs, and -e enables none of them; 'gputap stat -e sched' summarizes other events (try 'gputap trace --help')"
	gputap trace -c -e nosuch -- true
	expect_error_line "^gputap: unknown source 'nosuch'"
	trace -c -e sched,cuda -- "$calls" 3
	expect_status 0
}

@test "the kernel counts what records count: nested, abandoned and failed calls, threads, layers" {
	options=()
	expect_same_rows "$callback" nested 5
	expect_same_rows "$callback" longjmp 3
	expect_same_rows "$callback" launch 4
	expect_same_rows "$callback" exit 3
	expect_same_rows "$callback" thread 3
	expect_same_rows "$callback" exec 3
	expect_same_rows "$calls" --forks 3 5
	export LD_LIBRARY_PATH=$softgpu:$programs/libraries
	for options in "--gpu soft" "--gpu soft -e cuda,cublas,nccl" "--gpu soft -v"; do
		read -ra options <<<"$options"
		expect_same_rows "$programs/layers"
	done
}

# expect_calls N PROGRAM [ARGS]: all of N calls of cudaMalloc are complete, counted and recorded.
expect_calls() {
	local count=$1
	shift
	expect_same_rows "$@"
	[ "$live" = "$count 0 cudaMalloc" ] || fail "$*: $live"
	[ "$totals" = "gputap: $count calls: $count complete, 0 unfinished, 0 lost" ] || fail "$*: $totals"
}

@test "a call from which a forked child returns, too, is one call of its parent" {
	for method in auto multi perf; do
		# With a condition, other programs count.
		for options in "--attach $method" "--attach $method --when duration>=0"; do
			read -ra options <<<"$options"
			expect_calls 6 "$callback" fork 3
			expect_calls 9 "$callback" fork-call 3
			expect_calls 5 "$callback" fork-nested 3
		done
	done
}

@test "a child that does not return from the call in which it was made has calls of its own" {
	for method in auto multi perf; do
		options=(--attach "$method")
		expect_calls 12 "$callback" fork-exec 3
		expect_calls 12 "$callback" spawn 3
		expect_calls 6 "$callback" vfork 3
		expect_calls 6 "$callback" clone 3
	done
}

@test "every method to attach probes counts the same" {
	for method in multi perf; do
		options=(--attach "$method")
		expect_same_rows "$callback" nested 5
		expect_same_rows "$callback" longjmp 3
		expect_same_rows "$callback" fork 3
	done
}

# expect_rows_beside_another_tracer OPTIONS -- PROGRAM…: a tracer around the first one changes nothing.
expect_rows_beside_another_tracer() {
	local alone
	trace -c "$@"
	alone=$(rows "$stderr")
	[ -n "$alone" ] || fail "no table: $stderr"
	trace -c -o outer.txt -- "$build/gputap" trace --gpu nvidia -c "$@"
	[ "$alone" = "$(rows "$stderr")" ] || fail "$*: $alone, but with another $stderr"
}

@test "a session counts alike where another one has probes on the same functions" {
	expect_rows_beside_another_tracer -- "$callback" nested 5
	expect_rows_beside_another_tracer -- "$callback" longjmp 3
	expect_rows_beside_another_tracer -f cudaLaunchKernel -- "$callback" launch 4
	export LD_LIBRARY_PATH=$softgpu:$programs/libraries
	expect_rows_beside_another_tracer --gpu soft -- "$programs/layers"
	expect_rows_beside_another_tracer --gpu soft -f 'cuMem*' -- "$programs/layers"
}

@test "conditions filter what the kernel counts" {
	options=(--failed)
	expect_same_rows "$callback" longjmp 3
	options=(--when 'depth==1')
	expect_same_rows "$callback" nested 5
	options=(-f cudaMalloc)
	expect_same_rows "$callback" nested 5
}

@test "of processes that alternate on one CPU, those that are not selected are not counted" {
	cp "$calls" other
	trace -c --comm other -- taskset -c 0 sh -c \
		"for i in \$(seq 50); do ./other 2; $calls 3; done >/dev/null"
	expect_status 0
	expect_error_line '^ *100 +0 .* cudaGetDevice$'
}

@test "a table without records loses nothing, however small the ring is" {
	trace -c --ring-size 4K -- "$calls" 200000
	expect_error_line '^ *200000 +0 .* cudaGetDevice$'
	expect_error_line '^gputap: 200000 calls: 200000 complete, 0 unfinished, 0 lost$'
}

@test "abandoned calls are counted in their row" {
	trace -c -- "$callback" longjmp 3
	expect_error_line '^ *6 +0 .* cudaMalloc \(3 unfinished\)$'
}

@test "the quantiles of a row lie between zero and its maximum" {
	trace -c -- "$calls" 1000
	expect_error_line '^ *CALLS +ERRORS +TOTAL +MEAN +P50 +P99 +MAX +FUNCTION$'
	row=$(grep cudaGetDevice <<<"$stderr")
	read -r -a fields <<<"$row"
	ns() { awk -v value="$1" -v unit="$2" 'BEGIN { scale["ns"] = 1; scale["µs"] = 1e3
		scale["ms"] = 1e6; scale["s"] = 1e9; printf "%d", value * scale[unit] }'; }
	p50=$(ns "${fields[6]}" "${fields[7]}")
	p99=$(ns "${fields[8]}" "${fields[9]}")
	max=$(ns "${fields[10]}" "${fields[11]}")
	((0 < p50 && p50 <= p99 && p99 <= max)) || fail "$row"
}

# A program that makes 5 calls, creates the file "half", and 5 more once there is a file "go".
build_stepped() {
	need_command cc
	cat >stepped.c <<-'EOF'
		#include <fcntl.h>
		#include <unistd.h>
		int cudaGetDevice(int *device);
		int main(void)
		{
			int device;
			for (int i = 0; i < 5; i++)
				cudaGetDevice(&device);
			close(open("half", O_CREAT | O_WRONLY, 0600));
			while (access("go", F_OK))
				usleep(10000);
			for (int i = 0; i < 5; i++)
				cudaGetDevice(&device);
			return 0;
		}
	EOF
	cc stepped.c -o stepped "$standin/libcudart.so.13"
	rm -f half go out.txt
}

# start_stepped OPTIONS: trace it to its middle.
start_stepped() {
	build_stepped
	LD_LIBRARY_PATH=$standin "$build/gputap" trace -o out.txt "$@" -- ./stepped 3>&- 2>err.txt &
	tracer=$!
	wait_for [ -e half ]
}

@test "--interval prints the table of all calls so far, counted by the kernel or from records" {
	cd "$BATS_TEST_TMPDIR"
	for options in "-c" "-s" "-c --when depth==0||size>5"; do
		read -ra options <<<"$options"
		start_stepped "${options[@]}" --interval 20ms
		report=out.txt
		[ "${options[0]}" = -c ] || report=err.txt
		wait_for grep -qE '^ *5 +0 .* cudaGetDevice$' $report
		touch go
		wait $tracer
		expect_reports $report
	done
}

# expect_reports FILE: tables in between are headed by when they were printed, the last one has all.
expect_reports() {
	grep -qE '^After [0-9]+\.[0-9]{2}0 s:$' "$1" || fail "$(cat "$1")"
	[ "$(sed -n '/^At the end:$/,$p' "$1" | grep -cE '^ *10 +0 .* cudaGetDevice$')" = 1 ] || fail "$(cat "$1")"
	! sed '/^At the end:$/,$d' "$1" | grep -E '^After [0-9.]*[1-9] s'
}

@test "SIGUSR1 prints the table, and without a table the totals so far" {
	cd "$BATS_TEST_TMPDIR"
	start_stepped -c
	kill -USR1 $tracer
	wait_for grep -qE '^ *5 +0 .* cudaGetDevice$' out.txt
	touch go
	wait $tracer
	[ "$(grep -cE '^(After [0-9]+\.[0-9]{3} s|At the end):$' out.txt)" = 2 ] || fail "$(cat out.txt)"
	start_stepped --json
	wait_for grep -q cudaGetDevice out.txt
	kill -USR1 $tracer
	wait_for grep -qE '^gputap: after [0-9]+\.[0-9]{3} s: 5 calls: [0-5] complete, 0 unfinished, 0 lost$' err.txt
	touch go
	wait $tracer
}

@test "reports come at multiples of the interval since the time from which the duration counts" {
	cd "$BATS_TEST_TMPDIR"
	for command in "leaks" "trace -c"; do
		read -ra command <<<"$command"
		gputap "${command[@]}" -d $$ --interval 30ms --duration 160ms
		found=$(sed -n 's/^After \(.*\) s:$/\1/p' <<<"$output")
		[ -z "$(grep -vxE '0\.(030|060|090|120|150)' <<<"$found" | tr -d '\n')" ] || fail "$output"
	done
}

@test "an interval without a table is an error" {
	gputap trace --interval 1s -- true
	expect_status 2
	expect_error "gputap: --interval is for the table of -c or -s (try 'gputap trace --help')"
}
