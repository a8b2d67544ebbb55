# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What is allocated and not freed, of programs that know it.

load helper

leak=$examples/leak
mix=$build/tests/programs/mix

setup() {
	need_probes
	need_file "$leak" "example (clang for PTX)"
	cd "$BATS_TEST_TMPDIR" || return
}

@test "exactly the leaks of examples/leak are found, with the lines that made them" {
	gputap leaks --json -o leaks.json -- "$leak"
	expect_status 0
	output=$(cat leaks.json)
	expect_json '.[0].totals | .exit == {count: 3, bytes: 321000} and .live.count == 0 and .reset.count == 0'
	expect_json '.[0].leaks | map([.bytes, .count, .state, .function]) ==
		[[300000, 1, "exit", "cudaMalloc"], [20000, 1, "exit", "cudaMalloc"], [1000, 1, "exit", "cudaMalloc"]]'
	expect_json '.[0].processes | length == 1 and .[0].failed == 1 and .[0].ended and
		(.[0].memory == [.[0].memory[] | select(.allocations == 9 and .frees == 6)])'
	gputap leaks -o leaks.txt -- "$leak"
	for line in $(grep -n 'leaked' "$root/examples/leak.cu" | sed -n 's/^\([0-9]*\):.*CHECK.*/\1/p'); do
		grep -qE "cudaMalloc +[a-z_]+\(.*\) \(leak\.cu:$line\)$" leaks.txt ||
			fail "no row of line $line: $(cat leaks.txt)"
	done
	[ "$(grep -c 'leak\.cu' leaks.txt)" = 3 ]
}

@test "with both API layers traced the leaks are the same" {
	gputap leaks -v --json -o leaks.json -- "$leak"
	output=$(cat leaks.json)
	expect_json '.[0].totals.exit == {count: 3, bytes: 321000}'
	expect_json '.[0].processes[0].memory == [.[0].processes[0].memory[] | select(.allocations == 9 and .frees == 6)]'
}

@test "a program that frees everything has no leaks" {
	gputap leaks -o leaks.txt -- "$examples/vectoradd"
	expect_status 0
	[ "$(head -n 1 leaks.txt)" = 'All allocations were freed.' ]
}

@test "invalid releases are distinguished from failed ones" {
	gputap leaks --json -o leaks.json -- "$examples/failures"
	output=$(cat leaks.json)
	expect_json '.[0].processes[0] | .freed_twice == 1 and .freed_foreign == 1 and .failed == 2'
	expect_json '.[0].totals.exit.count == 0'
}

@test "what eight threads of four processes allocate and free is counted as they count it" {
	need_file "$mix" "program of CUDA (clang for PTX)"
	gputap leaks --json -o leaks.json -- "$mix" 500 8 4
	expect_status 0
	expected=$(jq -cS --slurp '[.[] | {pid, failed: .failed_allocations, foreign: .foreign_frees, memory:
		(.memory | map_values({allocations, frees, allocated_bytes}))}] | sort_by(.pid)' <<<"$output")
	found=$(jq -cS '[.processes[] | {pid, failed, foreign: .freed_foreign, memory:
		(.memory | map({key: .memory, value: {allocations, frees, allocated_bytes}}) | from_entries)}] |
		sort_by(.pid)' leaks.json)
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
	expected=$(jq -cS --slurp '[.[] | .pid as $pid | .memory | to_entries[] |
		{pid: $pid, memory: .key, count: .value.live, bytes: .value.live_bytes}] |
		sort_by([.pid, .memory])' <<<"$output")
	found=$(jq -cS '[.leaks | group_by([.pid, .memory])[] | {pid: .[0].pid, memory: .[0].memory,
		count: (map(.count) | add), bytes: (map(.bytes) | add)}] | sort_by([.pid, .memory])' leaks.json)
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
	output=$(cat leaks.json)
	expect_json '.[0].losses.lost == 0 and (.[0].leaks | all(.state == "exit"))'
	expect_json '.[0].processes | all(.replaced == 0 and .freed_unseen == 0 and .free_failed == 0)'
}

@test "a hundred thousand live allocations are listed, in less than 64 MB" {
	mkfifo input
	LD_LIBRARY_PATH=$build/tests/programs/standin "$build/gputap" leaks --gpu nvidia --json \
		-o leaks.json -- "$build/tests/programs/hold" 100000 <input >held.txt 2>err.txt 3>&- &
	tracer=$!
	exec 4>input
	wait_for grep -q holding held.txt
	kill -USR1 $tracer
	wait_for [ -s leaks.json ]
	peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$tracer/status)
	exec 4>&-
	wait $tracer
	output=$(cat leaks.json)
	expect_json 'length == 2 and .[0].totals.live == {count: 100000, bytes: 25600000} and
		.[1].totals.exit == {count: 100000, bytes: 25600000} and .[1].losses.lost == 0'
	[ "$peak" -lt 64000 ] || fail "gputap took up $peak KiB"
}

@test "memory that a graph allocates is the graph's" {
	need_file "$build/tests/programs/graphs" "program of CUDA (clang for PTX)"
	gputap leaks --json -o leaks.json -- "$build/tests/programs/graphs"
	output=$(cat leaks.json)
	expect_json '.[0].totals | map(.count) | add == 0'
	expect_json '.[0].processes[0] | .in_graphs == 1 and .freed_unseen == 0'
	gputap leaks -o leaks.txt -- "$build/tests/programs/graphs"
	grep -qE '^[0-9]+ graphs: allocations by graph nodes, not counted above: 1$' leaks.txt
}

@test "rows by context and by device are those in which memory was allocated" {
	need_file "$build/tests/programs/contexts" "program of contexts"
	gputap leaks --by context --json -o leaks.json -- "$build/tests/programs/contexts"
	expected=$(awk '{ bytes[$2] += $1 } END { for (handle in bytes) print handle, bytes[handle] }' <<<"$output" | sort)
	[ -n "$expected" ]
	[ "$(jq -r '.leaks[] | "\(.context.handle) \(.bytes)"' leaks.json | sort)" = "$expected" ] ||
		fail "$(cat leaks.json)"
	jq -e '.leaks | map(.context | select(.primary)) | length == 1' leaks.json
	gputap leaks --by device --json -o leaks.json -- "$build/tests/programs/contexts" uuid
	uuid=$(sed -n 's/^uuid \([0-9a-f-]*\) .*/\1/p' <<<"$output")
	jq -e --arg uuid "$uuid" '.leaks | map(.device == 0 and .uuid == $uuid) | all and length > 0' leaks.json ||
		fail "not of device 0 with UUID $uuid: $(cat leaks.json)"
}

@test "--error-exitcode is the exit status where memory was not freed, else the command's is" {
	gputap leaks --error-exitcode 99 -- "$leak"
	expect_status 99
	gputap leaks --error-exitcode 99 -- "$examples/vectoradd"
	expect_status 0
	gputap leaks --error-exitcode 99 -- sh -c "$examples/vectoradd; exit 3"
	expect_status 3
	gputap trace -o run.gtap -- "$leak"
	gputap leaks --error-exitcode 1 --from run.gtap
	expect_status 1
	gputap errors --error-exitcode 98 -- "$examples/failures"
	expect_status 98
	gputap errors --error-exitcode 98 -- "$examples/vectoradd"
	expect_status 0
	gputap leaks --error-exitcode 256 -- "$leak"
	expect_status 2
	expect_error "gputap: invalid value '256' for --error-exitcode (1 to 255) (try 'gputap leaks --help')"
}

@test "leaks of a program that does not allocate says that no allocation was seen, not that no call was" {
	need_command cc
	cat >busy.c <<-'EOF'
		#include <cuda_runtime_api.h>
		int main(void)
		{
			int i, device;
			for (i = 0; i < 100; i++)
				cudaGetDevice(&device);
			return cudaDeviceSynchronize();
		}
	EOF
	cc "-I$root/softgpu/include" busy.c -o busy "$softgpu/libcudart.so.13"
	gputap leaks -- ./busy
	expect_status 0
	expect_error_line '^No allocation was seen\.$'
	expect_no_error_line 'no calls'
	LD_LIBRARY_PATH=$build/tests/programs/standin gputap leaks --gpu nvidia -- \
		"$build/tests/programs/calls" 4
	expect_error_line '^gputap: none of the traced functions was called; probes were in '
	expect_no_error_line 'no calls'
}

# loaded: a program with two leaks of one line, reached by two loaders, one of them from two lines of main.
build_loaded() {
	need_command cc
	cat >loaded.c <<-'EOF'
		#include <cuda_runtime_api.h>
		#define APART __attribute__((noinline, noclone))
		static void *kept[8];
		static int count;
		APART void my_alloc(size_t size)
		{
			if (cudaMalloc(&kept[count], size))
				count--;
			count++;
		}
		APART void load_a(size_t size)
		{
			my_alloc(size);
			count += 0 * (int)size;
		}
		APART void load_b(size_t size)
		{
			my_alloc(size);
			count -= 0 * (int)size;
			kept[7] = kept[0];
		}
		APART int run(void)
		{
			for (int i = 0; i < 2; i++)
				load_a(1000);
			load_b(200);
			load_b(30);
			return count;
		}
		int main(void)
		{
			return run() != 4;
		}
	EOF
	cc -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls "-I$root/softgpu/include" loaded.c -o loaded \
		"$softgpu/libcudart.so.13"
}

@test "rows by stack show the callers that distinguish them, with -v all callers" {
	build_loaded
	line() { grep -n "$1" loaded.c | cut -d: -f1; }
	gputap leaks --by stack -o leaks.txt -- ./loaded
	alloc="my_alloc (loaded.c:$(line cudaMalloc))"
	b=$(line 'my_alloc(size);' | tail -n 1)
	for row in "$alloc ← load_a (loaded.c:$(line 'my_alloc(size);' | head -n 1))" \
		"$alloc ← load_b (loaded.c:$b) ← run (loaded.c:$(line 'load_b(200)'))" \
		"$alloc ← load_b (loaded.c:$b) ← run (loaded.c:$(line 'load_b(30)'))"; do
		[ "$(grep -cE "cudaMalloc  $(sed 's/[().]/\\&/g' <<<"$row")$" leaks.txt)" = 1 ] ||
			fail "not one row $row: $(cat leaks.txt)"
	done
	gputap leaks --by stack -v -o leaks.txt -- ./loaded
	[ "$(grep -cE "my_alloc .* ← load_[ab] .* ← run .* ← main .* ← " leaks.txt)" = 3 ] ||
		fail "not three whole stacks: $(cat leaks.txt)"
}

# chained: main calls middle, which has no frame pointer, through two functions; leaf allocates.
build_chained() {
	need_command gcc
	cat >chained.c <<-'EOF'
		#include <cuda_runtime_api.h>
		#define APART __attribute__((noinline, noclone))
		#define AFTER __asm__ volatile("" ::: "memory")
		static void *kept[64];
		static int count;
		APART void leaf(size_t size)
		{
			cudaMalloc(&kept[count++ & 63], size);
			AFTER;
		}
		APART __attribute__((optimize("omit-frame-pointer"))) void middle(size_t size)
		{
			leaf(size);
			__asm__ volatile("" ::: "rbx", "r12");
		}
		APART void first(size_t size)
		{
			middle(size);
			AFTER;
		}
		APART void second(size_t size)
		{
			middle(size);
			AFTER;
		}
		APART void plain(size_t size)
		{
			leaf(size);
			AFTER;
		}
		int main(void)
		{
			for (int i = 0; i < 8; i++) {
				first(1);
				second(20);
				plain(300);
			}
			return 0;
		}
	EOF
	gcc -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls "-I$root/softgpu/include" chained.c -o chained \
		"$softgpu/libcudart.so.13"
}

# callers_of FILE BYTES: the functions of the stack of so many bytes, up to main.
callers_of() {
	jq -r --argjson bytes "$2" '[.leaks[] | select(.bytes == $bytes)] | if length == 1 then .[0].stack.frames |
		map(.function) | .[:index("main") + 1] | join(" ") else "\(length) rows" end' "$1"
}

@test "callers of a function without frame pointer are exact with --stack mixed, as by .eh_frame" {
	build_chained
	for method in mixed dwarf; do
		gputap leaks --stack $method --json -o leaks.json -- ./chained
		[ "$(callers_of leaks.json 8)" = 'leaf middle first main' ] || fail "$method: $(cat leaks.json)"
		[ "$(callers_of leaks.json 160)" = 'leaf middle second main' ] || fail "$method: $(cat leaks.json)"
		[ "$(callers_of leaks.json 2400)" = 'leaf plain main' ] || fail "$method: $(cat leaks.json)"
		[ "$(jq -c '[.losses.lost, .losses.others_lost]' leaks.json)" = '[0,0]' ]
	done
}

@test "frame pointers alone miss that caller; the default does not, and needs no copies of stacks" {
	build_chained
	gputap leaks --stack fp --json -o fp.json -- ./chained
	[ "$(callers_of fp.json 8)" = 'leaf middle main' ] || fail "$(cat fp.json)"
	gputap leaks --json -o leaks.json -- ./chained
	[ "$(callers_of leaks.json 8)" = 'leaf middle first main' ] || fail "$(cat leaks.json)"
	found=$(jq -c '[.leaks[].stack.frames[-1].function] | unique' leaks.json)
	[ "$found" = '["_start"]' ] || fail "$found"
	gputap trace --stack mixed -o mixed.gtap -- ./chained
	[ "$(stat -c %s mixed.gtap)" -lt 65536 ] || fail "$(stat -c %s mixed.gtap) bytes"
}
