# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Captures: what was recorded is shown as it would have been live.

load helper
load tracing

setup() {
	use_standin
}

record() {
	trace -o calls.gtap -- "$@"
	[ "$status" = 0 ] || fail "recording failed"
}

show() {
	gputap trace --from calls.gtap "$@"
	without_driver_note
}

@test "recording prints nothing but what the command prints and the totals" {
	record "$callback" nested 2
	expect_output "callback: 2 calls, 2 within them"
	expect_error "gputap: 4 calls: 4 complete, 0 unfinished, 0 lost"
}

@test "a capture is shown with one line a call, and the totals of when it was recorded" {
	record "$callback" nested 1
	show -t
	expect_status 0
	[ "$(without_numbers "$output")" = \
		"PROCESS          PID     EVENT                    TYPE     DETAILS
callback         PID cudaGetDevice          [EXIT]   returned=Success device=0 (TIME)
callback         PID cudaMalloc               [EXIT]   size=64 bytes returned=Success devPtr=0x… (TIME)" ]
	expect_error "gputap: 2 calls: 2 complete, 0 unfinished, 0 lost"
}

@test "live lines and those of a capture have the same calls, results and durations" {
	# One stream, in both forms: the capture of a JSON run and the JSON of a capture.
	record "$callback" nested 5
	show --json -o first.json
	"$build/gputap" trace --from - --json <calls.gtap >second.json
	cmp first.json second.json
	show --time ns
	lines=$(grep -c '\[EXIT\]' <<<"$output")
	[ "$lines" = "$(grep -c gputap.call.1 first.json)" ]
	while read -r end; do
		grep -q "^$end " <<<"$output" || fail "no line ends at $end ns"
	done < <(jq 'select(.name) | .time + .duration' first.json)
}

@test "JSON of a capture has the keys that live JSON has" {
	trace --json -o live.json -- "$callback" longjmp 2
	record "$callback" longjmp 2
	show --json -o later.json
	keys() { jq -sc 'map(keys_unsorted)' "$1"; }
	[ "$(keys live.json)" = "$(keys later.json)" ]
	values() { jq -sc 'map(select(.name) | [.name, .args, .result, .nested, .unfinished])' "$1"; }
	[ "$(values live.json)" = "$(values later.json)" ]
}

@test "the table of a capture counts what the live table counts" {
	counts() { awk 'NR > 1 { print $1, $2, $NF }' <<<"$1" | sort; }
	trace -c -o - -- "$callback" launch 3
	live=$(counts "$(grep -v ^callback: <<<"$output")")
	record "$callback" launch 3
	show -c
	[ "$(counts "$output")" = "$live" ]
	[ "$live" = "3 0 __cudaLaunchKernel
3 0 cudaLaunchKernel" ]
}

@test "a capture can be recorded with its table, and shown with lines and table" {
	trace -c -o calls.gtap -- "$calls" 3
	expect_error_line ' 3 +0 .* cudaGetDevice$'
	show -s
	expect_count "$output" '\[EXIT\]' 3
	expect_output_line ' 3 +0 .* cudaGetDevice$'
}

@test "-r of a capture shows the entries at their times" {
	record "$calls" 2
	show -r --time ns
	expect_count "$output" '\[ENTER\]$' 2
	expect_no_output_line '\[EXIT\]'
	starts=$(awk '/ENTER/ { print $1 }' <<<"$output")
	show --json
	[ "$(jq 'select(.name) | .time' <<<"$output")" = "$starts" ]
}

@test "a capture is filtered by function, failure, condition and number" {
	record "$callback" nested 3
	show -f cudaMalloc
	expect_count "$output" '\[EXIT\]' 3
	show --failed
	expect_count "$output" '\[EXIT\]' 0
	show --when 'depth==1'
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 3
	expect_count "$output" '\[EXIT\]' 3
	show --max-events 2
	expect_count "$output" '\[EXIT\]' 2
	show --comm callback
	expect_count "$output" '\[EXIT\]' 6
	show --comm other
	expect_count "$output" '\[EXIT\]' 0
}

@test "the totals of a filtered capture are those that the same options give live" {
	record "$callback" longjmp 3
	for options in "-f cudaMalloc" "-f cudaFree" "--failed" "--when duration>1h" "--max-events 2" \
		"--comm other" "--failed --max-events 1"; do
		# shellcheck disable=SC2086 # several words
		show $options
		later=${stderr_lines[-1]}
		# shellcheck disable=SC2086 # several words
		trace $options -- "$callback" longjmp 3
		[ "$later" = "${stderr_lines[-1]}" ] ||
			fail "$options: a capture gives $later"
	done
	[ "$later" = "gputap: 6 calls: 0 complete, 3 unfinished, 0 lost, 3 filtered" ]
}

@test "abandoned calls are shown with --failed, live and from a capture" {
	record "$callback" longjmp 2
	show --failed
	expect_count "$output" 'cudaMalloc .*unfinished: abandoned without returning' 2
	expect_count "$output" 'cudaMalloc' 2
	trace --failed -- "$callback" longjmp 2
	expect_count "$stderr" 'cudaMalloc .*unfinished: abandoned without returning' 2
	expect_count "$stderr" 'cudaMalloc' 2
}

@test "the losses of a capture are printed even if only some of its calls are shown" {
	trace --ring-size 4K -o lossy.gtap -- "$calls" --threads 4 100000
	[[ ${stderr_lines[-1]} =~ " lost (use a larger --ring-size, or trace fewer functions: -f)"$ ]]
	gputap trace --from lossy.gtap -f cudaMalloc
	expect_error_line '^gputap: incomplete: [0-9]+ calls: 0 complete, 0 unfinished, [0-9]+ lost.* \(of all that was recorded\)$'
}

@test "a capture needs no privilege to be shown" {
	need_root
	need_command setpriv
	record "$calls" 2
	observe setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
		/proc/self/fd/9 trace --from - 9<"$build/gputap" <calls.gtap
	expect_status 0
	expect_count "$output" '\[EXIT\]' 2
}

@test "a capture goes through a pipe" {
	trace -o fifo.gtap -- "$calls" 3
	# shellcheck disable=SC2002 # the pipe is the point
	cat fifo.gtap | "$build/gputap" trace --from - -c >table 2>/dev/null
	grep -q ' 3 .*cudaGetDevice$' table
}

@test "a file that is not a capture is rejected" {
	echo "this is text and no capture at all, though it is long enough" >text
	gputap trace --from text
	expect_status 1
	expect_output ""
	expect_error "gputap: text: not a capture of gputap (wrong magic number); 'gputap record -o FILE' writes one"
	: >empty
	gputap trace --from empty
	expect_error "gputap: empty: an empty file: its recording wrote nothing"
	gputap trace --from nowhere
	expect_status 1
	expect_error "gputap: nowhere: No such file or directory: check the path"
}

# The last block of events, which is followed by the index: its offset.
last_block() {
	grep -obUaP 'GBLK\x01\x00\x00\x00' calls.gtap | tail -1 | cut -d: -f1
}

# Some of the calls, and not all.
expect_some_calls() {
	local count
	count=$(grep -c '\[EXIT\]' <<<"$output")
	[ "$count" -gt 0 ] && [ "$count" -lt "$1" ] || fail "$count calls, not some of $1"
}

@test "a truncated capture is shown up to there, and has no totals" {
	record "$calls" 4000
	show
	all=$(grep -c '\[EXIT\]' <<<"$output")
	head -c $(($(last_block) + 100)) calls.gtap >broken.gtap
	gputap trace --from broken.gtap
	expect_status 1
	expect_error_line '^gputap: broken\.gtap: truncated at byte [0-9]+; the events before it were read$'
	expect_error_line '^gputap: the capture is truncated: it has no totals$'
	expect_some_calls "$all"
}

@test "a corrupt part of a capture is skipped, and every view says so" {
	record "$calls" 4000
	show
	all=$(grep -c '\[EXIT\]' <<<"$output")
	dd if=/dev/zero of=calls.gtap bs=1 seek=$(($(last_block) + 60)) count=150 conv=notrunc status=none
	show
	expect_status 1
	expect_error_line '^gputap: calls\.gtap: malformed at byte [0-9]+; [0-9]+ bytes were skipped, the other events were read$'
	expect_error_line '^gputap: incomplete: .*a corrupt part of the capture \([0-9]+ bytes\)'
	expect_some_calls "$all"
}

@test "a capture whose recorder was killed has all but the last moment" {
	start_trace -o calls.gtap -- sh -c "echo \$\$ >pid; '$calls' 50; sleep 2; exec sleep 60"
	wait_for grep -qUa GBLK calls.gtap
	sleep 1.5
	kill -9 "$tracer"
	wait "$tracer" || :
	kill "$(cat pid)"
	gputap trace --from calls.gtap
	expect_error_line '^gputap: the capture is truncated: it has no totals$'
	expect_count "$output" 'cudaGetDevice .*\[EXIT\]' 50
}

@test "a capture of a newer version is rejected" {
	record "$calls" 1
	printf '\x63' | dd of=calls.gtap bs=1 seek=8 conv=notrunc status=none
	show
	expect_status 1
	expect_error "gputap: calls.gtap: version 99; this gputap reads up to 3: use a newer one"
}

@test "a capture takes no command, no path and no option of the kernel's filter" {
	gputap trace --from x.gtap -- true
	expect_status 2
	expect_error "gputap: --from shows a capture: it takes no command and no path (try 'gputap trace --help')"
	gputap trace --from x.gtap -p x
	expect_status 2
	gputap trace --from x.gtap --uid 0
	expect_status 2
	expect_error "gputap: --uid cannot be applied to a capture (--from) (try 'gputap trace --help')"
}

@test "a capture has what its reports need: the programs may be gone" {
	local report
	mkdir there
	cp "$build/examples/leak" there/
	unset LD_LIBRARY_PATH
	gputap trace --stack fp --kernel-args -o run.gtap -- there/leak
	for report in "leaks --by stack -v" "kernels -v" "errors" "trace -v"; do
		# shellcheck disable=SC2086 # several words
		gputap $report --from run.gtap
		printf '%s\n' "$output" >"before.${report%% *}"
	done
	grep -qE 'leak\.(cu|cpp|c):[0-9]+' before.leaks || fail "no source line: $(cat before.leaks)"
	rm -r there
	for report in "leaks --by stack -v" "kernels -v" "errors" "trace -v"; do
		# shellcheck disable=SC2086 # several words
		gputap $report --from run.gtap
		diff "before.${report%% *}" <(printf '%s\n' "$output") || fail "$report differs"
	done
}

@test "captures of every version of the format are read alike" {
	version=$(sed -n 's/^#define GT_CAPTURE_VERSION //p' "$root/src/capture/capture.h")
	for ((v = 1; v <= version; v++)); do
		capture=$root/tests/data/captures/version-$v.gtap
		gputap info --json "$capture"
		expect_status 0
		expect_json ".[0] | .version == $v and .events > 90"
		gputap trace --json --from "$capture"
		expect_status 0
		expect_error_line '^gputap: 8 calls: 8 complete, 0 unfinished, 0 lost$'
		expect_json '[.[] | select(.schema == "gputap.call.1")] | length == 8 and
			all(.result == "CUDA_SUCCESS" and .process == "driver" and (.stack.frames | length > 1)) and
			(map(.name) == ["cuInit", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2",
				"cuMemcpyHtoD_v2", "cuLaunchKernel", "cuMemcpyDtoH_v2", "cuMemFree_v2"]) and
			.[3].args.bytesize == 4000 and any(.[5].stack.frames[]; .function == "main")'
		gputap kernels --json --from "$capture"
		expect_json '.[0].kernels | length == 1 and (.[0] | .kernel == "scale" and .launches == 1)'
		gputap leaks --json --from "$capture"
			expect_json "(.[0].leaks | length == 0) and .[0].losses.made == 8"
		gputap report --from "$capture"
		expect_output_line '^scale +1 '
		gputap export --format jsonl -o - "$capture"
		[ "$(grep -c '"gputap.call.1"' <<<"$output")" -eq 8 ]
		gputap merge -o both.gtap "$capture" "$capture"
		expect_status 0
	done
	# One of a later version is not read, and the message says so.
	cp "$capture" later.gtap
	printf '\xff' | dd of=later.gtap bs=1 seek=8 conv=notrunc status=none
	gputap info later.gtap
	expect_status 1
	expect_error_line 'version 255'
}
