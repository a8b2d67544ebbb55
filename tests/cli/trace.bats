# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What `gputap trace` prints of calls: columns, options, JSON, tables.

load helper
load tracing

setup() {
	use_standin
}

@test "a call has a line at its entry and one at its return, in the columns that are promised" {
	trace -- "$callback" nested 1
	expect_status 0
	[[ ${stderr_lines[0]} =~ ^TIME\ +PROCESS\ +PID\ +EVENT\ +TYPE\ +DETAILS$ ]]
	time='[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}'
	start="^$time callback         [0-9]+ +"
	expect_error_line "$start"'cudaMalloc               \[ENTER\]  size=64 bytes$'
	expect_error_line "$start"'  cudaGetDevice          \[ENTER\]$'
	expect_error_line "$start"'  cudaGetDevice          \[EXIT\]   returned=Success device=0 \([0-9.]+ (ns|µs|ms)\)$'
	expect_error_line "$start"'cudaMalloc               \[EXIT\]   returned=Success devPtr=0x7f0000000000 \([0-9.]+ (ns|µs|ms)\)$'
}

@test "lines are in the order of events, and the totals come last" {
	trace -- "$callback" nested 1
	[ "$(calls_of "$stderr" | cut -d ' ' -f 1-3)" = "callback cudaMalloc [ENTER]
callback cudaGetDevice [ENTER]
callback cudaGetDevice [EXIT]
callback cudaMalloc [EXIT]" ]
	[ "${stderr_lines[-1]}" = "gputap: 2 calls: 2 complete, 0 unfinished, 0 lost" ]
}

@test "no line ends in spaces" {
	trace -v -- "$callback" nested 1
	expect_no_error_line ' $'
}

@test "what the command prints stays on its standard output" {
	trace -- "$callback" nested 1
	expect_output "callback: 1 calls, 1 within them"
}

@test "a launch has function, grid, block, shared memory and stream, and is counted once" {
	trace -t -- "$callback" launch 1
	details='func=0x… grid=2x3x4 block=32x1x1 shared=0 stream=0x… kernel=launch'
	[ "$(without_numbers "$(grep -F '[' <<<"$stderr")")" = \
		"callback         PID __cudaLaunchKernel       [ENTER]  $details
callback         PID __cudaLaunchKernel       [EXIT]   returned=Success (TIME)
callback         PID cudaLaunchKernel         [ENTER]  $details
callback         PID cudaLaunchKernel         [EXIT]   returned=Success (TIME)" ]
	expect_error_line '^gputap: 2 calls: 2 complete, 0 unfinished, 0 lost$'
}

@test "-t leaves the times out" {
	trace -t -- "$calls" 1
	[[ ${stderr_lines[0]} =~ ^PROCESS\ +PID\ +EVENT\ +TYPE\ +DETAILS$ ]]
	expect_error_line '^calls            [0-9]+ +cudaGetDevice            \[ENTER\]$'
}

@test "-r leaves the returns out" {
	trace -r -- "$calls" 3
	expect_count "$stderr" 'cudaGetDevice +\[ENTER\]' 3
	expect_no_error_line '\[EXIT\]'
	expect_error_line '^gputap: 3 calls: 3 complete, 0 unfinished, 0 lost$'
}

@test "-v prints the processes, and how many functions were attached" {
	trace -v -- "$calls" 1
	expect_error_line '^gputap: attached ([0-9]+) of \1 in [0-9.]+ ms by (uprobe sessions|uprobe_multi links|perf events)$'
	expect_error_line '^[0-9:.]+ calls            [0-9]+ +process                           parent=[0-9]+ uid=[0-9]+$'
	expect_error_line '^[0-9:.]+ calls            [0-9]+ +process                           ended with status 0$'
}

@test "every function of the library is attached within half a second" {
	trace -v -f '*' -- true
	expect_status 0
	expect_error_line '^gputap: attached [0-9]+ of [0-9]+ in [0-9.]+ ms by '
	[[ $stderr =~ attached\ ([0-9]+)\ of\ ([0-9]+)\ in\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -ge 10 ]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
	[[ $stderr == *"by uprobe"* ]] || skip "this kernel has no uprobe_multi"
	[ "${BASH_REMATCH[3]}" -le 500 ]
}

@test "-f names the calls to be traced, as globs and as a list" {
	trace -f cudaGetDevice -- "$callback" nested 2
	expect_count "$stderr" '\[EXIT\]' 2
	expect_no_error_line cudaMalloc
	trace -f 'cudaMal*,cudaSetDevice' -- "$callback" nested 2
	expect_count "$stderr" 'cudaMalloc .*\[EXIT\]' 2
	expect_no_error_line cudaGetDevice
	trace -f cudaMalloc -f cudaGetDevice -- "$callback" nested 2
	expect_count "$stderr" '\[EXIT\]' 4
}

@test "times are those of the wall clock, relative, or in ns" {
	trace -- "$calls" 1
	second=$(date +%H:%M)
	expect_error_line "^${second%?}[0-9]:[0-9]{2}\.[0-9]{6} calls"
	trace --time relative -- "$calls" 1
	expect_error_line '^[0-9]\.[0-9]{6} +calls'
	trace --time ns -- "$calls" 1
	# CLOCK_MONOTONIC, in ns: that of the machine's uptime.
	read -r seconds _ </proc/uptime
	expect_error_line "^${seconds%???.*}[0-9]{3}[0-9]{9} +calls"
}

# documented SCHEMA: the keys that docs/json.md says are always there, as a JSON array.
documented() {
	sed -n "/^## gputap\.$1\.1/,/^## /p" "$root/docs/json.md" | grep -v 'present only' |
		sed -n 's/^| `\([a-z_]*\)` .*/\1/p' | jq -R . | jq -sc .
}

@test "--json prints an object a call, with exactly the documented keys" {
	trace --json -o - -- "$callback" nested 1
	expect_status 0
	output=$(grep '^{' <<<"$output")
	expect_json "map(select(.schema == \"gputap.call.1\")) | length == 2 and
		(.[0] | keys_unsorted == $(documented call)) and
		(.[1] | (keys_unsorted - [\"operation\", \"address\", \"bytes\"]) == $(documented call))"
	expect_json "map(select(.schema == \"gputap.account.1\")) | length == 1 and
		all(keys_unsorted == $(documented account))"
	trace --json -o - -- true
	output=$(grep '^{' <<<"$output")
	expect_json "map(select(.schema == \"gputap.note.1\")) | length > 0 and
		all(keys_unsorted == $(documented note))"
}

@test "docs/json.md has every key that calls may have" {
	trace --json -o - -- "$callback" longjmp 1
	output=$(grep '^{' <<<"$output")
	while read -r key; do
		grep -q "^| \`$key\` " "$root/docs/json.md" || fail "docs/json.md does not document $key"
	done < <(jq -r keys_unsorted[] <<<"$output" | sort -u)
	grep -q '^| `kernel` ' "$root/docs/json.md"
}

@test "JSON has names, arguments, results and nesting" {
	trace --json -o out -- "$callback" nested 1
	expect_output "callback: 1 calls, 1 within them"
	output=$(grep -v gputap.note.1 out)
	expect_json '.[0] | .name == "cudaGetDevice" and .nested and .args == {device: 0}'
	expect_json '.[1] | .name == "cudaMalloc" and (.nested | not) and
		.args == {devPtr: "0x7f0000000000", size: 64}'
	expect_json '.[:2] | all(.process == "callback" and .result == "cudaSuccess" and
		.clock == "monotonic" and .device == 0 and .pid == .tid)'
	expect_json '.[1].time <= .[0].time and
		.[0].time + .[0].duration <= .[1].time + .[1].duration'
	expect_json '.[-1] | .schema == "gputap.account.1" and .made == 2 and .complete == 2'
}

@test "JSON of an abandoned call has no result and says so" {
	trace --json -o out -- "$callback" longjmp 1
	output=$(grep -v gputap.note.1 out)
	expect_json '.[0] | .unfinished == true and .result == null and .args.devPtr == null'
	expect_json '.[1] | has("unfinished") | not'
	expect_json '.[-1] | .made == 2 and .complete == 1 and .unfinished == 1 and .lost == 0'
}

@test "-c prints a table instead of lines" {
	trace -c -- "$callback" nested 3
	expect_status 0
	expect_error_line '^ *CALLS +ERRORS +TOTAL +MEAN +P50 +P99 +MAX +FUNCTION$'
	duration='[0-9.]+ (ns|µs|ms)'
	expect_error_line "^ +3 +0 +$duration +$duration +$duration +$duration +$duration  cudaMalloc$"
	expect_error_line "^ +3 +0 +$duration +$duration +$duration +$duration +$duration  cudaGetDevice$"
	expect_no_error_line '\['
}

@test "the table has the longest total first, and shows unfinished calls" {
	trace -c -- "$callback" nested 3
	# cudaMalloc contains cudaGetDevice here.
	[[ ${stderr_lines[1]} == *cudaMalloc && ${stderr_lines[2]} == *cudaGetDevice ]]
	trace -c -- "$callback" longjmp 2
	expect_error_line ' 4 +0 .*  cudaMalloc \(2 unfinished\)$'
}

@test "-s prints the lines and then the table" {
	trace -s -- "$calls" 2
	expect_count "$stderr" '\[EXIT\]' 2
	[[ ${stderr_lines[5]} =~ ^\ +CALLS ]]
	[[ ${stderr_lines[6]} =~ ^\ +2\ .*cudaGetDevice$ ]]
}

@test "with -o FILE the table of -s stays with the totals" {
	trace -s -o lines -- "$calls" 2
	expect_count "$(cat lines)" '\[EXIT\]' 2
	expect_error_line '^ +2 .*cudaGetDevice$'
	trace -s -o - -- "$calls" 2
	expect_count "$output" '\[EXIT\]' 2
	expect_output_line '^ +2 .*cudaGetDevice$'
}

@test "-o writes the lines to a file, and only the totals are printed" {
	trace -o lines -- "$calls" 2
	expect_error "gputap: 2 calls: 2 complete, 0 unfinished, 0 lost"
	expect_count "$(cat lines)" '\[EXIT\]' 2
	[[ $(head -n 1 lines) == TIME* ]]
}

@test "-o - writes the lines to the standard output, also with a command" {
	trace -o - -- "$calls" 2
	expect_count "$output" '\[EXIT\]' 2
	expect_no_error_line '\[EXIT\]'
}

@test "lines of the trace and of the command on one pipe are whole, also for a slow reader" {
	for ((i = 0; i < 6000; i++)); do
		echo "line $i of the command"
	done >lines
	# The shell writes each line for itself. Both fill the pipe before it is read, page by page.
	"$build/gputap" trace --gpu nvidia --json -o - -- sh -c "$calls 3000 >/dev/null & while read -r line; do
		echo \"\$line\"; done <lines; wait" 2>err | {
		read -r first
		sleep 1
		echo "$first"
		dd bs=4096 status=none
	} >mixed
	grep -x 'line [0-9]* of the command' mixed | cmp - lines
	grep -vx 'line [0-9]* of the command' mixed >trace.json
	run -0 jq -s 'map(select(.name == "cudaGetDevice")) | length' trace.json
	[ "$output" = 3000 ]
}

@test "-o into a missing directory is rejected before the command runs" {
	trace -o nowhere/lines -- touch ran
	expect_status 1
	expect_error "gputap: nowhere/lines: No such file or directory: create its folder, or choose another file"
	[ ! -e ran ]
}

@test "a full disk is an error, and the command continues to its end" {
	[ -w /dev/full ] || skip "there is no /dev/full"
	trace -o /dev/full -- "$calls" 2
	expect_status 1
	expect_output_line '^calls: 2 calls'
	expect_error_line '^gputap: /dev/full: cannot be written: No space left on device: free space, or choose a file on another disk$'
}

@test "a full disk behind standard output is an error that names it" {
	[ -w /dev/full ] || skip "there is no /dev/full"
	trace -o run.gtap -- "$calls" 2
	observe bash -c '"$0" trace --from run.gtap >/dev/full' "$build/gputap"
	expect_status 1
	expect_error_line '^gputap: standard output: cannot be written: No space left on device: free space, or choose a file on another disk$'
}

@test "the exit status is the command's" {
	trace -- sh -c 'exit 7'
	expect_status 7
	trace -o capture.gtap -- false
	expect_status 1
	trace -- true
	expect_status 0
}

@test "the status of a command that a signal killed is that of a shell" {
	trace -- "$calls" --signal 9 1
	expect_status 137
	expect_error_line "^gputap: $calls was killed by signal 9 \(Killed\)$"
	expect_error_line '^gputap: 1 call: 1 complete, 0 unfinished, 0 lost$'
	trace -- "$calls" --signal 11 1
	expect_status 139
}

@test "the command gets its standard input, and its arguments as they are" {
	run --separate-stderr "$build/gputap" trace --gpu nvidia -- sh -c 'cat; printf "<%s>" "$@"' sh -c 'a b' '' <<<"in"
	expect_output "in
<-c><a b><>"
}

@test "options behind the command belong to the command, also without --" {
	trace echo -c --json
	expect_output "-c --json"
}

@test "the command starts with no signal blocked, and SIGPIPE as usual" {
	trace -- grep -E '^Sig(Blk|Ign):' /proc/self/status
	[ "$((0x${lines[0]#*:?}))" = 0 ]
	[ "$((0x${lines[1]#*:?} & 1 << 12))" = 0 ]
}

@test "without a driver the command gets the software GPU, and one line says so" {
	[ ! -e /dev/nvidiactl ] && [ ! -e /proc/driver/nvidia/version ] || skip "an NVIDIA driver is here"
	mkdir gpu
	touch gpu/libcuda.so.1
	ln -s "$standin/libcudart.so.13" gpu/
	export GPUTAP_SOFTGPU=$PWD/gpu LD_LIBRARY_PATH=$PWD/elsewhere
	gputap trace -- "$calls" 1
	expect_status 0
	expect_error_line '^gputap: no NVIDIA driver found: CUDA calls go to the software GPU, whose times say nothing about real GPUs$'
	expect_count "$stderr" '\[EXIT\]' 1
	gputap trace --gpu soft -- sh -c 'echo $LD_LIBRARY_PATH'
	expect_error_line '^gputap: CUDA calls go to the software GPU, whose times say nothing about real GPUs$'
	expect_output "$PWD/gpu:$PWD/elsewhere"
}

@test "with closed standard descriptors a capture is complete, and so is the command's status" {
	observe bash -c "exec <&- >&- 2>&-; $build/gputap trace --gpu nvidia -o closed.gtap -- sh -c '$calls 3; exit 7'"
	expect_status 7
	gputap trace --from closed.gtap -c
	expect_status 0
	expect_output_line '^ *3 +0 .*cudaGetDevice$'
}

@test "a string on a page that the process has not touched is printed at the entry and at the return" {
	gcc -x c -I "$root/softgpu/include" -o untouched - -L "$softgpu" -l:libcuda.so.1 <<-'END'
		#include <cuda.h>
		#include <fcntl.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			CUmodule module;
			int file = open(argv[1], O_RDONLY);
			const char *path = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
			if (path == MAP_FAILED || cuInit(0) || cuModuleLoad(&module, path) != CUDA_ERROR_FILE_NOT_FOUND)
				return 1;
			while (access("go", F_OK)) /* gputap reads the string from the process */
				usleep(10000);
			return 0;
		}
	END
	printf 'no/such/module.cubin' >name
	for option in -v -1; do
		rm -f go
		"$build/gputap" trace --gpu soft $option -f cuModuleLoad -- ./untouched name \
			2>err$option 3>&- &
		wait_for grep -q FILE_NOT_FOUND err$option
		touch go
		wait $!
	done
	grep -qE '\[ENTER\] +fname="?no/such/module\.cubin"?$' err-v
	grep -qE ' cuModuleLoad\(.*fname="?no/such/module\.cubin"?\) = ' err-1
}

@test "-1 prints one line for each call, as strace does" {
	trace -1 -- "$callback" nested 1
	expect_status 0
	time='[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}'
	[[ ${stderr_lines[0]} =~ ^TIME\ +PROCESS\ +PID\ +CALL$ ]]
	expect_error_line "^$time callback         [0-9]+ +cudaMalloc\(size=64 <unfinished …>$"
	expect_error_line "^$time callback         [0-9]+ +  cudaGetDevice\(device=0\) = Success <[0-9.]+ (ns|µs|ms)>$"
	expect_error_line "^$time callback         [0-9]+ +<… cudaMalloc resumed> devPtr=0x7f0000000000\) = Success <[0-9.]+ (ns|µs|ms)>$"
	trace -1 -t -- "$calls" 2
	expect_count "$stderr" '^calls +[0-9]+ +cudaGetDevice\(device=0\) = Success <[0-9.]+ (ns|µs|ms)>$' 2
	trace -o run.gtap -- "$callback" nested 1
	gputap trace -1 -t --from run.gtap
	expect_output_line '^callback +[0-9]+ +cudaMalloc\(devPtr=0x7f0000000000, size=64\) = Success '
}

@test "-1 shows a call that blocks while it does" {
	start_trace -1 -- "$callback" block 3
	wait_for grep -q 'unfinished …>$' err
	kill -TERM "$tracer"
	end_trace
	expect_error_line '<… cudaMalloc resumed>\) = \? \(abandoned without returning\) <'
}

@test "lines of a process with several threads have the thread" {
	trace -t -- "$calls" --threads 3 4
	expect_error_line '^PROCESS +PID +TID +EVENT +TYPE +DETAILS$'
	[ "$(awk '/^PROCESS +PID +TID/ { on = 1; next } on && /\[EXIT\]/ { print $3 }' <<<"$stderr" |
		sort -u | wc -l)" -ge 2 ]
	trace -t -- "$calls" 4
	expect_no_error_line 'TID'
}

@test "--time relative says what the times are relative to" {
	trace --time relative -- "$calls" 1
	expect_error_line '^SINCE START +PROCESS '
	gputap trace --help
	expect_output_line 'relative \(seconds since the start'
}

@test "-c with -s prints one table" {
	trace -c -s -- "$calls" 3
	expect_count "$stderr" 'CALLS +ERRORS' 1
}
