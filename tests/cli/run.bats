# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# run: GPU programs inserted into the kernels of unmodified CUDA programs, on the software GPU.
# Needs no privileges and no GPU.

load helper

# object SOURCE: compiles eBPF programs to program.o.
object() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
}

# count SECTION SLOT: a program that adds 1 to counts[SLOT].
count() {
	cat <<-END
		SEC("$1") int count$2(void *ctx) {
			unsigned int key = $2; bpf_map_add(&counts, &key, 1); return 0; }
	END
}

# counting SECTION…: an object that counts in slot 0 for the first section, and so on.
counting() {
	local source='GPUTAP_ARRAY(counts, unsigned long long, 8);' slot=0 section
	for section; do
		source+=$'\n'$(count "$section" $slot)
		slot=$((slot + 1))
	done
	object "$source"
}

# run_on PROGRAM ARGUMENTS…: runs an example with the object.
run_on() {
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$examples/$1" "${@:2}"
	expect_status 0
}

# What the example prints without gputap is among what it prints with it.
results_of() {
	LD_LIBRARY_PATH=$softgpu "$examples/$1" | grep -v ' ms$'
}

# slot N: the value of counts[N].
slot() {
	jq -r --argjson n "$1" 'select(.maps) | .maps[] | select(.name == "counts") |
		[.entries[] | select(.key == $n) | .value][0] // 0' <<<"$(grep '^{' <<<"$output")"
}

expect_slots() {
	local n=0 value
	for value; do
		[ "$(slot $n)" = "$value" ] || fail "counts[$n] is $(slot $n), not $value"
		n=$((n + 1))
	done
}

@test "run counts the threads, blocks and accesses of an unmodified CUDA program" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*' 'gpu/exit/add*' gpu/block_begin gpu/block_end gpu/load gpu/store
	run_on vectoradd
	# 1024 blocks of 256 threads, each with two loads and a store.
	expect_slots 262144 262144 1024 1024 524288 262144
	expect_output_line '^vectoradd: 262144 sums are right$'
	expect_error_line '^gputap: 1 module: 1 patched \(0 side, 1 whole\), 0 SASS only, 0 failed; 1 kernel, 1 compiled; 7 sites: 7 patched, 0 rejected$'
}

# two_objects: a.bpf.o and b.bpf.o, whose programs of one name are in the same kernel; each has a map
# `counts` of its own, and they share the map `both`.
two_objects() {
	local name
	for name in a b; do
		object 'GPUTAP_ARRAY(counts, unsigned long long, 2);
			struct { __uint(type, GPUTAP_MAP_ARRAY); __uint(max_entries, '"${1:-4}"');
				__uint(pinning, GPUTAP_PIN_BY_NAME); __type(key, unsigned int);
				__type(value, unsigned long long); } both SEC(".maps");
			SEC("gpu/entry/*") int enter(void *ctx) {
				unsigned int key = 0; bpf_map_add(&counts, &key, '$((1 + ${#name}))');
				bpf_map_add(&both, &key, 1); return 0; }
			SEC("gpu/entry.block/*") int '$name'_block(void *ctx) {
				unsigned int key = 1; bpf_map_add(&both, &key, 1); return 0; }'
		mv "$BATS_TEST_TMPDIR/program.o" "$BATS_TEST_TMPDIR/$name.bpf.o"
		shift $(($# > 0))
	done
}

# run_both OPTIONS…: runs an example with both objects.
run_both() {
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/a.bpf.o" "$BATS_TEST_TMPDIR/b.bpf.o" "$@" -- \
		"$examples/vectoradd"
}

@test "run inserts several objects; their maps are apart, but for those pinned by name" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	two_objects
	run_both
	expect_status 0
	expect_output_line '^vectoradd: 262144 sums are right$'
	output=$(grep '^{' <<<"$output")
	expect_json '.[0] | ([.maps[] | {(.name): [.entries[].value]}] | add) ==
		{"a:counts": [524288], "b:counts": [524288], "both": [524288, 2048]} and
		(.coverage | .modules == 1 and .kernels == 1 and .found == 4 and .patched == 4)'
	# A name that both have selects both; with the object's name it selects one.
	run_both --prog enter
	output=$(grep '^{' <<<"$output")
	expect_json '.[0] | [.maps[] | select(.name == "both") | .entries[].value] == [524288] and
		.coverage.patched == 2'
	run_both --prog b:enter --set 'b:counts[1]=7,both[3]=5'
	output=$(grep '^{' <<<"$output")
	expect_json '.[0] | [.maps[] | {(.name): [.entries[].value]}] | add |
		."a:counts" == [] and ."b:counts" == [524288, 7] and .both == [262144, 5]'
	run_both --prog c:enter
	expect_status 1
	expect_error_line "a.bpf.o, .*/b.bpf.o: no GPU program 'c:enter'$"
}

@test "run rejects objects that declare a map of one name in different sizes" {
	two_objects 4 8
	run_both
	expect_status 2
	expect_error_line "b.bpf.o: the map 'both' is shared \(LIBBPF_PIN_BY_NAME\), and another object declares it with another type, size or flags$"
	gputap run "$BATS_TEST_TMPDIR/a.bpf.o" "$BATS_TEST_TMPDIR/b.bpf.o"
	expect_status 2
	expect_error_line 'a command is needed: -- CMD '
	gputap run
	expect_status 2
	expect_error_line 'an object file is needed '
}

@test "run leaves the results of every example as they are" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*' 'gpu/exit/*' gpu/memory gpu/atomic gpu/barrier gpu/branch gpu/loop
	for example in vectoradd vectoradd-static vectoradd-stripped driver finddriver newlaunch matmul \
		reduce streams; do
		run_on "$example"
		while IFS= read -r line; do
			grep -qxF -- "$line" <<<"$output" || fail "$example did not print: $line"
		done < <(results_of "$example")
		[ "$(slot 0)" -gt 0 ] || fail "$example: no thread was counted"
		[ "$(slot 0)" = "$(slot 1)" ] || fail "$example: $(slot 0) entries, $(slot 1) exits"
	done
}

@test "run finds the runtime by dlopen, by cuGetProcAddress and in the program itself" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*'
	for example in driver finddriver newlaunch vectoradd-static; do
		run_on "$example"
		[ "$(slot 0)" -gt 0 ] || fail "$example: no thread was counted"
	done
}

@test "run inserts programs into the kernels that their sections name, and into no other" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/nothing*'
	run_on vectoradd
	expect_slots 0
	jq -se 'map(select(.coverage))[0].coverage | .modules == 1 and .modules_patched == 0 and
		.found == 0' <<<"$(grep '^{' <<<"$output")"
}

@test "--kernel restricts programs to kernels, by mangled and demangled names" {
	need_file "$examples/transpose" "example (no clang that makes PTX)"
	counting 'gpu/entry/*'
	local kernel all one two
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$examples/transpose"
	expect_error_line ' 3 kernels, 3 compiled; 3 sites: 3 patched, 0 rejected$'
	all=$(slot 0)
	for kernel in transpose_plain '*plain(float*' '_Z15transpose_plain*'; do
		gputap run --gpu soft --json --kernel "$kernel" "$BATS_TEST_TMPDIR/program.o" -- \
			"$examples/transpose"
		expect_status 0
		expect_error_line ' 1 kernel, 1 compiled; 1 site: 1 patched, 0 rejected$'
		one=$(slot 0)
	done
	gputap run --gpu soft --json --kernel '*_shared' --kernel nothing \
		--kernel transpose_padded "$BATS_TEST_TMPDIR/program.o" -- "$examples/transpose"
	expect_error_line ' 2 kernels, 2 compiled; 2 sites: '
	two=$(slot 0)
	[ "$one" -gt 0 ] && [ $((one + two)) = "$all" ] || fail "$one and $two threads of $all"
	gputap run --gpu soft --kernel nothing --kernel nobody "$BATS_TEST_TMPDIR/program.o" -- \
		"$examples/transpose"
	for kernel in nothing nobody; do
		expect_error_line '^gputap: no kernel matches --kernel "'$kernel'" and a program'"'"'s section; nearest: transpose_'
	done
	expect_no_error_line '^gputap: program '
	gputap cudacounter --gpu soft --kernel '*plain' -- "$examples/transpose"
	expect_status 0
	expect_output_line 'transpose_plain'
	expect_no_output_line 'transpose_shared'
}

@test "run names what matches no kernel, with the nearest names of kernels" {
	need_file "$examples/transpose" "example (no clang that makes PTX)"
	object "GPUTAP_ARRAY(counts, unsigned long long, 8);
		$(count 'gpu/entry/transpose_plain' 0)
		$(count 'gpu/entry/*_plane' 1)
		$(count 'kprobe/_Z15transpose_plainPKfPfi,_Z4nonev' 2)"
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/transpose"
	expect_status 0
	expect_error_line '^gputap: program [a-z_0-9]+: no kernel matches "\*_plane"; nearest: transpose_plain, transpose_(padded|shared), transpose_(padded|shared)$'
	expect_error_line '^gputap: program [a-z_0-9]+: no kernel matches "_Z4nonev"; nearest: _Z'
	[ "$(grep -c ': no kernel matches' <<<"$stderr")" = 2 ] || fail "$stderr"
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$examples/transpose"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].coverage.unmatched | length == 2 and (.[0] | .pattern == "*_plane" and
		(.program | type == "string") and .nearest[0] == "transpose_plain" and (.nearest | length == 3))'
	# The module is known of the run before, and its names still count.
	gputap run --gpu soft --json --kernel '*_share' "$BATS_TEST_TMPDIR/program.o" -- \
		"$examples/transpose"
	expect_error_line '^gputap: program [a-z_0-9]+: no kernel matches "transpose_plain" and --kernel; nearest: transpose_plain, '
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].coverage.unmatched | length == 5 and
		(.[4] | .option == "--kernel" and .pattern == "*_share" and .nearest[0] == "transpose_shared")'
}

@test "run prints the records of rings as they come, and what programs print" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'GPUTAP_RING(blocks, 1 << 20);
		SEC("gpu/block_begin") int begin(struct gputap_context *ctx) {
			unsigned int *record = bpf_ringbuf_reserve(&blocks, 4, 0);
			if (!record) return 0;
			*record = ctx->block_x; bpf_ringbuf_submit(record, 0);
			if (ctx->block_x == 7) bpf_printk("block %d of %d", ctx->block_x, ctx->grid_size_x);
			return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	[ "$(grep -c '^blocks: [0-9a-f]*$' <<<"$output")" = 1024 ]
	[ "$(grep '^blocks: ' <<<"$output" | sort -u | wc -l)" = 1024 ]
	expect_error_line '^block 7 of 1024$'
}

@test "run prints records, keys and values by their types, and histograms as bars" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'enum action { ENTER = 1, LEAVE };
		struct event { unsigned int block; enum action action; char name[8]; void *at;
			struct { int low : 4, high : 4; } nested; unsigned short pair[2]; };
		struct place { unsigned int x, y; };
		struct totals { unsigned long long threads; int last; };
		GPUTAP_RING_OF(events, struct event, 1 << 20);
		GPUTAP_HASH(places, struct place, struct totals, 16);
		GPUTAP_ARRAY(widths, unsigned long long, 16);
		unsigned long long blocks;
		SEC("gpu/block_begin") int begin(struct gputap_context *ctx) {
			struct event *event;
			struct place place = {7, 9};
			struct totals totals = {ctx->block_size_x, -1};
			__sync_fetch_and_add(&blocks, 1);
			bpf_map_update_elem(&places, &place, &totals, 0);
			event = ctx->block_x == 5 ? bpf_ringbuf_reserve(&events, sizeof(*event), 0) : 0;
			if (!event) return 0;
			__builtin_memset(event, 0, sizeof(*event));
			event->block = 5; event->action = LEAVE; event->at = (void *)0xabc;
			event->name[0] = 65; event->name[1] = 66; event->nested.low = -1;
			event->nested.high = 3; event->pair[1] = 2;
			bpf_ringbuf_submit(event, 0); return 0; }
		SEC("gpu/load") int load(struct gputap_memory *ctx) {
			bpf_hist_add(&widths, ctx->width); return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_output_line '^events: \{ \.block = 5, \.action = LEAVE, \.name = "AB", \.at = 0xabc, \.nested = \{ \.low = -1, \.high = 3 \}, \.pair = \[0, 2\] \}$'
	expect_output_line '^  \{ \.x = 7, \.y = 9 \}: \{ \.threads = 256, \.last = -1 \}$'
	expect_output_line '^           4 \.\. 7              524288  #{40}$'
	expect_output_line '^  0: \{ \.blocks = 1024 \}$'
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	jq -se 'map(select(.ring)) == [{ring: "events", record: {block: 5, action: "LEAVE", name: "AB",
		at: "0xabc", nested: {low: -1, high: 3}, pair: [0, 2]}}]' <<<"$(grep '^{' <<<"$output")"
	jq -se 'map(select(.maps))[0].maps | map({(.name): .}) | add |
		.places.entries == [{key: {x: 7, y: 9}, value: {threads: 256, last: -1}}] and
		.widths.histogram == [{min: 4, max: 7, count: 524288}] and
		."program.bss".entries[0].value == {blocks: 1024}' <<<"$(grep '^{' <<<"$output")"
}

@test "run --json names the sites and kernels that programs count by" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'GPUTAP_ARRAY(by_site, unsigned long long, 64);
		GPUTAP_ARRAY(by_kernel, unsigned long long, 64);
		SEC("gpu/store") int store(struct gputap_memory *ctx) {
			unsigned int site = ctx->site, kernel = ctx->kernel;
			bpf_map_add(&by_site, &site, 1); bpf_map_add(&by_kernel, &kernel, 1); return 0; }'
	run_on matmul
	output=$(grep '^{' <<<"$output")
	expect_json '.[-1] as $run | [$run.maps[] | select(.name == "by_site") | .entries[] |
		select(.value == 16384) | .key] | length == 1 and
		($run.sites[.[0]] | .site >= 0 and (.ptx | test("^st.global.f32")) and
		(.function | test("multiply")) and (.source[0].file | endswith("matmul.cu")))'
	expect_json '.[-1].kernels | length == 1 and .[0].kernel == 0 and
		(.[0].function | test("multiply"))'
	counting gpu/store
	run_on vectoradd
	output=$(grep '^{' <<<"$output")
	expect_json '.[-1] | has("sites") == false and has("kernels") == false'
}

@test "run -v reports what becomes of each module" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*' 'gpu/exit/*'
	gputap run -v --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_error_line '^gputap: module 1 of process [0-9]+: whole module with 1 kernel, 1 matched \(every kernel matches\); 2 of 2 sites patched$'
}

@test "run names what matches no kernel where no module was loaded" {
	counting 'gpu/entry/add' 'gpu/entry/*'
	gputap run "$BATS_TEST_TMPDIR/program.o" -- true
	expect_error_line '^gputap: the agent saw no module of CUDA or Level Zero, '
	expect_error_line '^gputap: program [a-z_0-9]+: no kernel matches "add"$'
	[ "$(grep -c ': no kernel matches' <<<"$stderr")" = 1 ] || fail "$stderr"
	gputap run --json "$BATS_TEST_TMPDIR/program.o" -- true
	expect_json '.[0].coverage.unmatched | map([.pattern, .nearest]) == [["add", []], ["*", []]]'
}

@test "run ends with the status of its command" {
	counting 'gpu/entry/*'
	gputap run "$BATS_TEST_TMPDIR/program.o" -- sh -c 'exit 7'
	expect_status 7
	expect_error_line '^gputap: the agent saw no module of CUDA or Level Zero, and no program of OpenCL: the command created none, could not load the agent \(a static or set-user-ID program\) or could not connect to gputap \(seccomp, another network namespace\)$'
	gputap run "$BATS_TEST_TMPDIR/program.o" -- sh -c 'kill -TERM $$'
	expect_status 143
	gputap run "$BATS_TEST_TMPDIR/program.o" -- no-such-command
	expect_status 127
}

@test "run rejects a program that the verifier rejects, before the command starts" {
	object 'SEC("gpu/entry/*") int bad(struct gputap_context *ctx) {
			return *(volatile int *)((char *)ctx + 600); }'
	gputap run "$BATS_TEST_TMPDIR/program.o" -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error_line '^gputap: bad: rejected: '
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "run reports objects and commands that it cannot use" {
	counting gpu/run
	gputap run "$BATS_TEST_TMPDIR/program.o" -- true
	expect_status 1
	expect_error "gputap: count0 (gpu/run) runs in no kernel; run it with 'gputap gpurun'"
	counting 'gpu/entry/*'
	gputap run --set nope=1 "$BATS_TEST_TMPDIR/program.o" -- true
	expect_status 2
	expect_error "gputap: $BATS_TEST_TMPDIR/program.o: there is no map 'nope'"
	object 'SEC("uprobe") int probe(void *ctx) { return 0; }'
	gputap run "$BATS_TEST_TMPDIR/program.o" -- true
	expect_status 1
	expect_error "gputap: $BATS_TEST_TMPDIR/program.o has no GPU program; 'gputap verify' lists its programs"
	gputap run
	expect_status 2
	expect_error "gputap: an object file is needed (try 'gputap run --help')"
	gputap run "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	expect_error "gputap: a command is needed: -- CMD (try 'gputap run --help')"
}

@test "a program runs on as without gputap when the collector is killed" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*'
	# The command waits until gputap is gone; then it loads its modules.
	"$build/gputap" run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- sh -c \
		"while kill -0 \$PPID 2>/dev/null && [ \$(ps -o ppid= -p \$\$) != 1 ] && [ ! -e '$BATS_TEST_TMPDIR/killed' ]; do
			touch '$BATS_TEST_TMPDIR/waits'; sleep 0.1; done
		'$examples/vectoradd' >'$BATS_TEST_TMPDIR/printed' 2>&1; echo \$? >'$BATS_TEST_TMPDIR/status'" \
		>/dev/null 2>&1 3>&- &
	local collector=$!
	wait_for test -e "$BATS_TEST_TMPDIR/waits"
	kill -KILL $collector
	touch "$BATS_TEST_TMPDIR/killed"
	wait_for test -s "$BATS_TEST_TMPDIR/status"
	[ "$(cat "$BATS_TEST_TMPDIR/status")" = 0 ]
	[ "$(cat "$BATS_TEST_TMPDIR/printed")" = 'vectoradd: 262144 sums are right' ]
}

@test "the agent without a collector changes nothing" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	for socket in '' gputap-nobody-listens "$(printf '%0300d' 0)"; do
		observe env LD_LIBRARY_PATH="$softgpu" LD_PRELOAD="$build/src/agent/libgputap-agent.so" \
			GPUTAP_AGENT_SOCKET="$socket" "$examples/vectoradd"
		expect_status 0
		expect_output 'vectoradd: 262144 sums are right'
		expect_error ''
	done
}

@test "the agent leaves the RUNPATH of the caller of dlopen in force" {
	need_command gcc
	cd "$BATS_TEST_TMPDIR"
	mkdir -p private
	echo 'int answer(void) { return 42; }' | gcc -x c -shared -fPIC -o private/libprivate.so -
	cat >main.c <<-'END'
		#include <dlfcn.h>
		int main(void) {
			void *library = dlopen("libprivate.so", RTLD_NOW);
			int (*answer)(void) = library ? dlsym(library, "answer") : 0;
			return answer ? answer() : 1;
		}
	END
	gcc -o main main.c -Wl,-rpath,"$PWD/private" -Wl,--enable-new-dtags -ldl
	observe env LD_PRELOAD="$build/src/agent/libgputap-agent.so" ./main
	expect_status 42
}

# build_driver_program NAME [OPTIONS…]: compiles standard input, which uses the driver API.
build_driver_program() {
	need_command gcc
	gcc -x c -I "$root/softgpu/include" -I "$root/examples" -o "$BATS_TEST_TMPDIR/$1" "${@:2}" - \
		-L "$softgpu" -l:libcuda.so.1 -ldl
}

@test "a limit of file sizes in the command's process does not end it" {
	build_driver_program limited <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		#include <sys/resource.h>
		static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			".visible .entry k()\n{\n\tret;\n}\n";
		int main(void) {
			const struct rlimit limit = {16, 16};
			CUcontext context;
			CUmodule module;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			setrlimit(RLIMIT_FSIZE, &limit);
			printf("%d\n", cuModuleLoadData(&module, text));
			return 0;
		}
	END
	counting 'gpu/entry/*'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/limited"
	expect_status 0
	expect_output_line '^0$'
}

@test "the maps are registered again after their context has ended" {
	build_driver_program contexts <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			".visible .entry k()\n{\n\tret;\n}\n";
		static int maps_are_there(void) {
			CUdeviceptr address;
			return !cuMemHostGetDevicePointer(&address, (void *)0x2f0000000000, 0);
		}
		int main(void) {
			CUcontext context;
			CUmodule module;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			printf("%d", maps_are_there());
			printf(" %d", cuModuleLoadData(&module, text));
			printf(" %d", maps_are_there());
			cuDevicePrimaryCtxReset(0);
			cuCtxSetCurrent(NULL);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			printf(" %d", maps_are_there());
			cuCtxSetCurrent(NULL);
			cuDevicePrimaryCtxRelease(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			printf(" %d\n", maps_are_there());
			return 0;
		}
	END
	counting 'gpu/entry/*'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/contexts"
	expect_status 0
	expect_output_line '^0 0 1 1 1$'
}

@test "a context that another thread keeps current reaches the maps after theirs has ended" {
	build_driver_program threads -pthread <<-'END'
		#define _GNU_SOURCE
		#include <cuda.h>
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <string.h>
		static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			".visible .entry k()\n{\n\tret;\n}\n";
		static pthread_barrier_t barrier;
		static void *keep_current(void *context) {
			CUdeviceptr address;
			cuCtxSetCurrent(context);
			pthread_barrier_wait(&barrier);
			pthread_barrier_wait(&barrier);
			printf("%d\n", !cuMemHostGetDevicePointer(&address, (void *)0x2f0000000000, 0));
			return NULL;
		}
		/* The context of the maps is the first one; it ends by the function of this name. */
		int main(int count, char **names) {
			void *driver = dlopen("libcuda.so.1", RTLD_NOW);
			CUcontext first, second;
			CUmodule module;
			pthread_t thread;
			cuInit(0);
			pthread_barrier_init(&barrier, NULL, 2);
			if (strstr(names[1], "Primary")) {
				cuDevicePrimaryCtxRetain(&first, 0);
				cuCtxSetCurrent(first);
			} else {
				cuCtxCreate(&first, NULL, 0, 0);
			}
			printf("%d ", cuModuleLoadData(&module, text));
			cuCtxPopCurrent(NULL);
			cuCtxCreate(&second, NULL, 0, 0);
			cuCtxPopCurrent(NULL);
			pthread_create(&thread, NULL, keep_current, second);
			pthread_barrier_wait(&barrier);
			if (strstr(names[1], "Primary"))
				printf("%d ", ((CUresult (*)(CUdevice))dlsym(driver, names[1]))(0));
			else
				printf("%d ", ((CUresult (*)(CUcontext))dlsym(driver, names[1]))(first));
			pthread_barrier_wait(&barrier);
			pthread_join(thread, NULL);
			return 0;
		}
	END
	counting 'gpu/entry/*'
	for function in cuCtxDestroy_v2 cuCtxDestroy cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 \
		cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2; do
		gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/threads" $function
		expect_status 0
		expect_output_line '^0 0 1$'
	done
}

@test "a patched image stays as long as the program's own where the driver relies on that" {
	build_driver_program preserved <<-'END'
		#define _GNU_SOURCE
		#include <cuda.h>
		#include <stdio.h>
		#include <string.h>
		static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			".visible .entry k()\n{\n\tret;\n}\n";
		static int count_images(void) {
			FILE *maps = fopen("/proc/self/maps", "r");
			char line[4096];
			int count = 0;
			while (fgets(line, sizeof(line), maps))
				count += !!strstr(line, "gputap-patched");
			fclose(maps);
			return count;
		}
		int main(void) {
			CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
			void *yes = (void *)1;
			CUlibrary library;
			cuInit(0);
			printf("%d", cuLibraryLoadData(&library, text, 0, 0, 0, 0, 0, 0));
			printf(" %d", count_images());
			printf(" %d", cuLibraryLoadData(&library, text, 0, 0, 0, &option, &yes, 1));
			printf(" %d\n", count_images());
			return 0;
		}
	END
	counting 'gpu/entry/*'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/preserved"
	expect_status 0
	expect_output_line '^0 0 0 1$'
}

@test "what programs print loses its control characters" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'SEC("gpu/block_begin") int begin(struct gputap_context *ctx) {
			if (ctx->block_x == 7) bpf_printk("\033[31mred\tbox");
			return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_error_line "^\?\[31mred"$'\t'"box$"
}

@test "a driver that is opened by its path is the one at this path" {
	build_driver_program paths <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int count, char **words) {
			void *driver = dlopen(words[1], RTLD_NOW), *version = driver ? dlsym(driver, "cuDriverGetVersion") : 0;
			Dl_info info;
			puts(version && dladdr(version, &info) ? info.dli_fname : "none");
			return 0;
		}
	END
	mkdir "$BATS_TEST_TMPDIR/other"
	cp -L "$softgpu/libcuda.so.1" "$BATS_TEST_TMPDIR/other/libcuda.so.1"
	observe env LD_LIBRARY_PATH="$softgpu" LD_PRELOAD="$build/src/agent/libgputap-agent.so" \
		"$BATS_TEST_TMPDIR/paths" "$BATS_TEST_TMPDIR/other/libcuda.so.1"
	expect_output "$BATS_TEST_TMPDIR/other/libcuda.so.1"
	observe env LD_LIBRARY_PATH="$softgpu" LD_PRELOAD="$build/src/agent/libgputap-agent.so" \
		"$BATS_TEST_TMPDIR/paths" /nonexistent/libcuda.so.1
	expect_output none
}

@test "a condition and sampling select the threads that run a program" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*' 'gpu/load'
	gputap run --gpu soft --json --when 'blockIdx.x==3 && threadIdx.x<16' \
		"$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_slots 16 32
	# Each of the 262144 threads has two loads.
	gputap run --gpu soft --json --sample 1/2 "$BATS_TEST_TMPDIR/program.o" -- \
		"$examples/vectoradd"
	expect_slots 262144 262144
	expect_error_line '^gputap: 262144 runs of programs were skipped \(--sample\)$'
	[ "$(grep '^{' <<<"$output" | jq 'select(.coverage).skipped')" = 262144 ]
	gputap run --gpu soft --when 'width==4' "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 2
	expect_error "gputap: count0: programs of gpu/entry have no field 'width'"
	gputap run --gpu soft --sample x "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 2
	expect_error "gputap: count0: invalid value 'x' for --sample (1/N, such as 1/100)"
}

@test "run rejects a program that ends threads without --allow-control, and skips blocks with it" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'SEC("gpu/entry/*") int skip(struct gputap_context *ctx) {
		if (ctx->block_x == 3) bpf_exit(); return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 1
	expect_error_line 'rejected: exit#507 changes the execution of the kernel: it requires --allow-control$'
	gputap run --gpu soft --allow-control "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 1
	# 768 is the first element of block 3.
	expect_output_line '^vectoradd: wrong: sum\[768\] is 0, not '
}

@test "a prefetch at loads leaves the results as they are and needs --allow-control" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'SEC("gpu/load") int fetch(struct gputap_memory *ctx) {
		return bpf_prefetch(ctx->address + 128, GPUTAP_PREFETCH_KEEP); }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 1
	expect_error_line 'rejected: prefetch#550 changes the execution of the kernel: it requires --allow-control$'
	gputap run --gpu soft --allow-control "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_output_line '^vectoradd: 262144 sums are right$'
}

@test "a program that runs once per block cannot end one of its threads" {
	object 'SEC("gpu/entry.block/*") int skip(void *ctx) { return bpf_exit(); }
		SEC("gpu/exit.warp/*") int leave(void *ctx) { return bpf_exit(); }'
	gputap verify --allow-control "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_output_line 'exit#507 would end one thread of the block: to skip blocks, call it in a program that runs once per thread \(gpu/entry\)$'
	expect_output_line 'exit#507 is not for programs that run once per warp at gpu/exit, where some lanes have exited$'
}

@test "run shows the work on large modules on a terminal, and removes the line afterwards" {
	need_command script
	build_driver_program large <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		#include <string.h>
		static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			".visible .entry k()\n{\n\tret;\n}\n";
		static char large[(2 << 20) + 1];
		int main(void) {
			CUcontext context;
			CUmodule module;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			memset(large, '\n', sizeof(large) - 1);
			memcpy(large + sizeof(large) - sizeof(text), text, sizeof(text));
			return cuModuleLoadData(&module, large);
		}
	END
	counting 'gpu/entry/*'
	local command="$build/gputap run --gpu soft $BATS_TEST_TMPDIR/program.o -- $BATS_TEST_TMPDIR/large"
	local line=$'\rgputap: 0 modules done, 0 kernels; patching module 1 (2.00 MiB)\e[K'
	observe env TERM=xterm script -qec "$command" /dev/null
	expect_status 0
	[[ $output == *"$line"* ]] || fail "there is no progress line"
	# It is erased before what follows.
	[[ $output == *"$line"$'\r\e[K'*'gputap: 1 module: 1 patched'* ]] ||
		fail "the progress line stays"
	observe env TERM=dumb script -qec "$command" /dev/null
	expect_status 0
	[[ $output != *'modules done'* ]] || fail "a dumb terminal has a progress line"
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/large"
	expect_status 0
	expect_no_error_line "modules done"
}

@test "run --null loads the matched modules in the same way, and inserts nothing" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	counting 'gpu/entry/*' gpu/load
	gputap run --gpu soft --json --null "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_output_line '^vectoradd: 262144 sums are right$'
	expect_slots 0 0
	expect_error_line '^gputap: 1 module: 1 patched'
}

@test "--save-modules writes the PTX of each module that is loaded with programs" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	local kept=$BATS_TEST_TMPDIR/kept
	counting 'gpu/entry/add*'
	for _ in made cached; do
		rm -rf "$kept"
		GPUTAP_CACHE=$BATS_TEST_TMPDIR/cache gputap run -v --gpu soft --save-modules "$kept" \
			"$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
		expect_status 0
		expect_error_line '^gputap: module 1 of process [0-9]+: (side|whole) module .*; 1 of 1 site'
		[ "$(ls "$kept")" = module-1.ptx ] || fail "$(ls "$kept")"
		grep -q '^\.version' "$kept/module-1.ptx"
		grep -q 'map_0' "$kept/module-1.ptx"
		! grep -qP '\0' "$kept/module-1.ptx" || fail "a NUL"
	done
	counting 'gpu/entry/none'
	gputap run --gpu soft --save-modules "$kept-none" "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	[ -z "$(ls "$kept-none")" ] || fail "$(ls "$kept-none")"
}

@test "--save-modules reports a directory that cannot be used, and a module that cannot be written" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	local kept=$BATS_TEST_TMPDIR/kept
	counting 'gpu/entry/add*'
	gputap run --gpu soft --save-modules /dev/null/kept "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 1
	expect_error_line "^gputap: cannot save modules in '/dev/null/kept': Not a directory; name a directory that you may write to$"
	expect_output ''
	mkdir -p "$kept/module-1.ptx"
	gputap run --gpu soft --save-modules "$kept" "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_error_line "^gputap: not all patched modules were saved in '$kept': Is a directory$"
}

@test "run --prog inserts only these programs, and the others need not be safe" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'GPUTAP_ARRAY(counts, unsigned long long, 8);
		#define COUNT(n) unsigned int key = n; bpf_map_add(&counts, &key, 1); return 0;
		SEC("gpu/entry/*") int first(void *ctx) { COUNT(0) }
		SEC("gpu/entry/*") int second(void *ctx) { COUNT(1) }
		SEC("gpu/exit/*") int third(void *ctx) { COUNT(2) }
		SEC("gpu/entry/*") int unsafe(struct gputap_context *ctx) {
			return *(volatile int *)((char *)ctx + 600); }'
	gputap run --gpu soft --json --prog first,third "$BATS_TEST_TMPDIR/program.o" -- \
		"$examples/vectoradd"
	expect_status 0
	expect_slots 262144 0 262144
	gputap run --gpu soft --prog second,fourth "$BATS_TEST_TMPDIR/program.o" -- \
		"$examples/vectoradd"
	expect_status 1
	expect_error "gputap: $BATS_TEST_TMPDIR/program.o: no GPU program 'fourth'"
}

@test "at most 64 programs are inserted, which --prog chooses from any number" {
	local programs='' i
	for ((i = 0; i < 66; i++)); do
		programs+="SEC(\"gpu/entry/*\") int p$i(void *ctx) { return 0; } "
	done
	object "$programs"
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- true
	expect_status 1
	expect_error "gputap: $BATS_TEST_TMPDIR/program.o: 66 GPU programs; at most 64 can be inserted: choose some by --prog"
	gputap run --gpu soft --json --prog p1,p65 "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_output_line '"patched":2,'
}

@test "run -o writes records and maps to a file, apart from what the command prints" {
	object 'GPUTAP_RING(ring, 4096); GPUTAP_ARRAY(counts, unsigned long long, 1);
		SEC("gpu/entry.block/*") int enter(struct gputap_context *ctx) {
			unsigned int key = 0;
			unsigned long long launch = ctx->launch;
			if (!ctx->block_x)
				bpf_ringbuf_output(&ring, &launch, sizeof(launch), 0);
			bpf_map_add(&counts, &key, 1);
			return 0; }'
	gputap run --gpu soft --json -o "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/program.o" -- \
		"$examples/vectoradd"
	expect_status 0
	[[ $output != *'{'* ]] || fail "JSON is among the output of the command"
	jq -e -s '.[0].ring == "ring" and (.[-1].maps | map(.entries[]?.value) | add > 0)' \
		"$BATS_TEST_TMPDIR/out"
}

@test "the coverage has the reasons why sites were rejected and modules are as they were" {
	build_driver_program reasons <<-'END'
		#include <cuda.h>
		#define HEADER ".version 7.8\n.target sm_75\n.address_size 64\n"
		static const char shared[] = HEADER ".global .align 4 .u32 words;\n"
			".func twice(.reg .u32 a)\n{\n\tst.global.u32 [words], a;\n\tret;\n}\n"
			".visible .entry k()\n{\n\tst.global.u32 [words], 1;\n\tcall twice, (2);\n\tret;\n}\n"
			".visible .entry other()\n{\n\tcall twice, (3);\n\tret;\n}\n";
		static const char broken[] = HEADER ".visible .entry k()\n{\n\tst.global.u32 [words];;\n}\n";
		int main(void) {
			CUcontext context;
			CUmodule module;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			cuModuleLoadData(&module, broken);
			cuModuleLoadData(&module, broken);
			return cuModuleLoadData(&module, shared) || cuModuleLoadData(&module, shared);
		}
	END
	counting gpu/store/k
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/reasons"
	expect_status 0
	expect_error_line ' 4 sites: 2 patched, 2 rejected$'
	expect_error_line '^gputap: 2 sites of count0 rejected, the first in twice: kernels that the program does not match call the function, too$'
	expect_error_line '^gputap: 2 modules loaded as they are: '
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/reasons"
	jq -se 'map(select(.coverage))[0].coverage | .rejected == 2 and
		(.reasons | map(select(.program)) == [{program: "count0", function: "twice", sites: 2,
			reason: "kernels that the program does not match call the function, too"}]) and
		(.reasons | map(select(.modules)) | length == 1 and .[0].modules == 2)' \
		<<<"$(grep '^{' <<<"$output")"
}

# shapes: a CUDA program. Its arguments are launches: 'shape' of 2×3×2 blocks of 4×2×3 threads by
# <<<>>>, 'graph' the same from a graph, 'line' of 72 threads by another kernel.
shapes() {
	cat >"$BATS_TEST_TMPDIR/shapes.cu" <<-'END'
		#include <cuda_runtime.h>
		#include <string.h>
		__device__ unsigned count;
		__global__ void box() { atomicAdd(&count, 1); }
		__global__ void line() { atomicAdd(&count, 1); }
		int main(int argc, char **argv) {
			dim3 grid(2, 3, 2), block(4, 2, 3);
			for (int i = 1; i < argc; i++) {
				if (!strcmp(argv[i], "shape")) {
					box<<<grid, block>>>();
				} else if (!strcmp(argv[i], "line")) {
					line<<<1, 72>>>();
				} else {
					cudaStream_t stream;
					cudaGraph_t graph;
					cudaGraphExec_t exec;
					cudaStreamCreate(&stream);
					cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
					box<<<grid, block, 0, stream>>>();
					cudaStreamEndCapture(stream, &graph);
					cudaGraphInstantiate(&exec, graph, 0);
					cudaGraphLaunch(exec, 0);
				}
			}
			return cudaDeviceSynchronize() != cudaSuccess;
		}
	END
	"$root/tools/softcc" --build "$build" -o "$BATS_TEST_TMPDIR/shapes" "$BATS_TEST_TMPDIR/shapes.cu"
}

# Two maps with a value per thread; the kernels that use each are different, and the thread that
# stores to a map is one of the last of the grid.
per_thread() {
	object 'GPUTAP_MAP(by_all, GPUTAP_MAP_HOST_THREAD_ARRAY, unsigned int, unsigned int, 1);
		GPUTAP_MAP(by_box, GPUTAP_MAP_HOST_THREAD_ARRAY, unsigned int, unsigned int, 1);
		GPUTAP_WARP_ARRAY(by_warp, unsigned int, 1);
		SEC("gpu/exit/*") int all(struct gputap_context *ctx) {
			unsigned int key = 0, *value = bpf_map_lookup_elem(&by_all, &key);
			if (value && ctx->thread_x == 3) *value += 1;
			return 0; }
		SEC("gpu/exit/box") int box(struct gputap_context *ctx) {
			unsigned int key = 0, *value = bpf_map_lookup_elem(&by_box, &key);
			if (value && ctx->block_x == 1 && ctx->block_y == 2 && ctx->block_z == 1 &&
			    ctx->thread_x == 3 && ctx->thread_y == 1 && ctx->thread_z == 2) *value = 7;
			return 0; }
		SEC("gpu/exit.warp/box") int warp(struct gputap_context *ctx) {
			unsigned int key = 0, *value = bpf_map_lookup_elem(&by_warp, &key);
			if (value && ctx->block_x == 1 && ctx->block_y == 0 && ctx->block_z == 1) *value = 9;
			return 0; }'
}

@test "values per thread and warp have the coordinates of the launches" {
	per_thread
	shapes
	gputap run --gpu soft --threads 1000 "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/shapes" shape
	expect_status 0
	expect_output_line '^    block\(1,2,1\) thread\(3,1,2\): 7$'
	expect_output_line '^    block\(1,0,1\) warp 0: 9$'
	for launches in shape 'graph shape'; do
		# shellcheck disable=SC2086
		gputap run --gpu soft --json --threads 1000 "$BATS_TEST_TMPDIR/program.o" -- \
			"$BATS_TEST_TMPDIR/shapes" $launches
		expect_status 0
		expect_json '.[0].maps[] | select(.name == "by_box") | .shapes_differ == null and
			.entries[0].values == [{copy: 287, block: [1, 2, 1], thread: [3, 1, 2], value: 7}]'
		expect_json '.[0].maps[] | select(.name == "by_all") | .entries[0].values |
			length == 72 and all(.thread[0] == 3) and
			(map(.block) | unique | length) == 12 and (map(.thread) | unique | length) == 6'
	done
}

@test "values per thread have no coordinates where launches of different shapes used their map" {
	per_thread
	shapes
	gputap run --gpu soft --threads 1000 "$BATS_TEST_TMPDIR/program.o" -- "$BATS_TEST_TMPDIR/shapes" \
		shape line
	expect_status 0
	expect_output_line '^  launches of different shapes used this map: threads are numbered, without coordinates$'
	expect_output_line '^    thread 3: 2$'
	expect_output_line '^    block\(1,2,1\) thread\(3,1,2\): 7$'
	gputap run --gpu soft --json --threads 1000 "$BATS_TEST_TMPDIR/program.o" -- \
		"$BATS_TEST_TMPDIR/shapes" line graph
	expect_json '.[0].maps | map({(.name): .shapes_differ}) | add ==
		{by_all: true, by_box: null, by_warp: null}'
}

@test "the sum of signed values per thread is signed" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	object 'GPUTAP_MAP(narrow, GPUTAP_MAP_HOST_THREAD_ARRAY, unsigned int, int, 1);
		GPUTAP_MAP(wide, GPUTAP_MAP_HOST_THREAD_ARRAY, unsigned int, long long, 1);
		SEC("gpu/exit/*") int each(struct gputap_context *ctx) {
			unsigned int key = 0;
			int *value = bpf_map_lookup_elem(&narrow, &key);
			long long *other = bpf_map_lookup_elem(&wide, &key);
			if (ctx->block_x || ctx->thread_x > 2) return 0;
			if (value) *value = -2;
			if (other) *other = -3;
			return 0; }'
	gputap run --gpu soft "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	expect_status 0
	expect_output_line '^  0: -6 \(3 of '
	expect_output_line '^  0: -9 \(3 of '
	gputap run --gpu soft --json "$BATS_TEST_TMPDIR/program.o" -- "$examples/vectoradd"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].maps | map(.entries[0].sum) == [-6, -9]'
}
