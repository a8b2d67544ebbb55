# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# trace --inject: GPU programs in the kernels of a command whose calls are traced. Needs BPF, and no GPU.

load helper

setup() {
	need_probes
	need_file "$examples/pipeline" "example (no clang that makes PTX)"
}

# object SOURCE: compiles eBPF programs to program.o.
object() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -I"/usr/include/$(uname -m)-linux-gnu" \
		-c "$BATS_TEST_TMPDIR/program.c" -o "$BATS_TEST_TMPDIR/program.o"
}

# A record with the GPU's time for each launch of the example, which has 16 of one thread.
blocks='struct event { unsigned long long gpu_time; unsigned int block; };
	GPUTAP_RING_OF(blocks, struct event, 65536);
	GPUTAP_ARRAY(counts, unsigned long long, 4);
	SEC("gpu/entry.block/*") int begin(struct gputap_context *ctx) {
		struct event event = {bpf_get_globaltimer(), ctx->block_x};
		unsigned int key = 0;
		bpf_ringbuf_output(&blocks, &event, sizeof(event), 0);
		bpf_map_add(&counts, &key, 1);
		return 0; }'

trace_with() {
	gputap trace --gpu soft --inject "$BATS_TEST_TMPDIR/program.o" "$@"
	expect_status 0
}

@test "trace --inject prints records of GPU programs among the calls, then the maps and the coverage" {
	object "$blocks"
	trace_with -- "$examples/pipeline"
	expect_output 'pipeline: 16 launches are right'
	[ "$(grep -cE '^[0-9:.]+ +- +- +blocks +\[GPU\] +\{ \.gpu_time = [0-9]+, \.block = 0 \}$' <<<"$stderr")" = 16 ] ||
		fail 'there are not 16 records'
	expect_error_line ' cudaLaunchKernel +\[ENTER\]'
	expect_error_line "^gputap: the GPU's clock is .* CLOCK_MONOTONIC, with an error of at most [0-9.]+ [nµm]?s$"
	expect_error_line '^gputap: 21 calls: 21 complete, 0 unfinished, 0 lost$'
	expect_error_line '^counts \(array, 4 entries at most\)$'
	expect_error_line '^  0: 16$'
	expect_error_line '^gputap: 1 module: 1 patched .* 1 site: 1 patched, 0 rejected$'
	trace_with -1 -t -- "$examples/pipeline"
	[ "$(grep -cE '^- +- +blocks: \{ \.gpu_time = [0-9]+, \.block = 0 \}$' <<<"$stderr")" = 16 ]
	trace_with -- "$examples/pipeline"
	# No record is before the first launch, of which it is the effect.
	[ "$(grep -nE 'cudaLaunchKernel +\[ENTER\]' <<<"$stderr" | head -1 | cut -d: -f1)" -lt \
		"$(grep -n '\[GPU\]' <<<"$stderr" | head -1 | cut -d: -f1)" ] || fail 'a record is too early'
}

# calls_of COMMAND…: the names of the calls that were recorded, in their order.
calls_of() {
	expect_status 0
	[[ $output == *'add: 1000 sums are right'* ]] || fail "not right: $output"
	jq -r 'select(.schema == "gputap.call.1") | .name' "$BATS_TEST_TMPDIR/out.json"
}

@test "what the agent calls to link and to load patched modules is not recorded" {
	local jit=$root/tests/programs/jit object=$BATS_TEST_TMPDIR/program.o image=$BATS_TEST_TMPDIR/linked.fatbin
	PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
	need_command nvcc
	export SOFTGPU_ARCH=75
	cd "$BATS_TEST_TMPDIR"
	for name in caller callee; do
		nvcc -arch=sm_75 -rdc=true -ptx -o $name.ptx "$jit/$name.cu"
	done
	fatbinary -64 --create="$image" --image3=kind=ptx,sm=75,file=caller.ptx \
		--image3=kind=ptx,sm=75,file=callee.ptx
	gcc -I "$root/softgpu/include" -I "$jit" -o load "$jit/load.c" -L "$softgpu" -l:libcuda.so.1
	for method in data library; do
		gputap trace --gpu soft --json -o out.json -- ./load $method "$image"
		expected=$(calls_of)
		[[ $expected == *cuLaunchKernel* ]]
		# Side modules, and whole ones.
		for section in 'gpu/entry/add' 'gpu/entry/*'; do
			object "SEC(\"$section\") int begin(void *ctx) { return 0; }"
			gputap trace --gpu soft --json -o out.json --inject "$object" -- ./load $method "$image"
			[ "$(calls_of)" = "$expected" ] || fail "$method, $section: $(calls_of) instead of $expected"
			jq -e 'select(.schema == "gputap.programs.1") | .coverage.patched > 0' out.json
		done
	done
}

@test "trace --inject takes several objects" {
	object "$blocks"
	mv "$BATS_TEST_TMPDIR/program.o" "$BATS_TEST_TMPDIR/first.o"
	object "$blocks"
	trace_with --inject "$BATS_TEST_TMPDIR/first.o" -- "$examples/pipeline"
	expect_output 'pipeline: 16 launches are right'
	for name in program first; do
		[ "$(grep -cE " $name:blocks +\\[GPU\\]" <<<"$stderr")" = 16 ] || fail "$name has not 16 records"
		expect_error_line "^$name:counts \(array, 4 entries at most\)$"
	done
	[ "$(grep -c '^  0: 16$' <<<"$stderr")" = 2 ] || fail 'a map is wrong'
	expect_error_line '^gputap: 1 module: 1 patched .* 2 sites: 2 patched, 0 rejected$'
}

@test "trace --inject --json has records, in time, whatever the GPU's clock is" {
	object "$blocks"
	for offset in 0 -86400s 5000s; do
		SOFTGPU_CLOCK_OFFSET=$offset trace_with --json -o "$BATS_TEST_TMPDIR/out.json" -- "$examples/pipeline"
		output=$(cat "$BATS_TEST_TMPDIR/out.json")
		expect_json 'map(select(.schema == "gputap.record.1")) | length == 16 and
			all(.ring == "blocks" and .record.block == 0 and .gpu_time == .record.gpu_time)'
		# The order is that of the ring, and so that of the GPU's times.
		expect_json 'map(select(.schema == "gputap.record.1").gpu_time) | . == sort'
		expect_json '(map(select(.schema == "gputap.call.1" and .name == "cudaLaunchKernel"))[0].time) as $launch |
			(map(select(.schema == "gputap.account.1"))[0].time) as $last |
			map(select(.schema == "gputap.record.1")) | all(.time >= $launch and .time <= $last)'
		expect_json '.[-1] | .schema == "gputap.programs.1" and .coverage.patched == 1 and
			(.maps[] | select(.name == "counts") | .entries) == [{key: 0, value: 16}]'
	done
}

@test "a capture has the records, and shows them on another day" {
	object "$blocks"
	trace_with -o "$BATS_TEST_TMPDIR/run.gtap" -- "$examples/pipeline"
	expect_error_line '^  0: 16$'
	rm "$BATS_TEST_TMPDIR/program.o"
	gputap trace --from "$BATS_TEST_TMPDIR/run.gtap"
	[ "$(grep -cE ' blocks +\[GPU\] +\{ \.gpu_time = ' <<<"$output")" = 16 ]
	gputap trace --json --from "$BATS_TEST_TMPDIR/run.gtap"
	expect_json 'map(select(.schema == "gputap.record.1")) | length == 16 and all(.record.block == 0)'
}

@test "trace --inject prints what programs print, and records of host programs" {
	object '#include <linux/bpf.h>
		GPUTAP_RING_OF(calls, unsigned int, 4096);
		GPUTAP_SHARED_ARRAY(total, unsigned long long, 1);
		SEC("gpu/entry.block/step*") int begin(struct gputap_context *ctx) {
			static const char format[] = "block %d";
			unsigned int key = 0;
			bpf_map_add(&total, &key, 1);
			bpf_trace_printk(format, sizeof(format), ctx->block_x);
			return 0; }
		SEC("uprobe/cudart:cudaLaunchKernel") int on_launch(void *ctx) {
			unsigned int key = 0, seven = 7;
			unsigned long long *value = bpf_map_lookup_elem(&total, &key);
			if (value) __sync_fetch_and_add(value, 1000);
			bpf_ringbuf_output(&calls, &seven, sizeof(seven), 0);
			return 0; }'
	trace_with -- "$examples/pipeline"
	[ "$(grep -cE ' - +- +printk +\[GPU\] +block 0$' <<<"$stderr")" = 16 ]
	[ "$(grep -cE ' - +- +calls +\[GPU\] +7$' <<<"$stderr")" = 16 ]
	expect_error_line '^  0: 16016$'
	trace_with --json -o - -- "$examples/pipeline"
	output=$(grep '^{' <<<"$output")
	expect_json 'map(select(.schema == "gputap.record.1" and .ring == null)) | length == 16 and
		all(.record == "block 0" and .gpu_time == null)'
}

@test "--kernel and --set are for --inject, which needs a command" {
	object "$blocks"
	trace_with --kernel 'none*' --set 'counts[1]=5' -- "$examples/pipeline"
	expect_error_line '^  1: 5$'
	expect_no_error_line '\[GPU\]'
	expect_error_line '^gputap: no kernel matches --kernel "none\*" and a program'
	gputap trace --inject "$BATS_TEST_TMPDIR/program.o"
	expect_status 2
	expect_error_line '^gputap: --inject needs a command: -- CMD \(try '
	gputap trace --kernel 'x*' -- true
	expect_status 2
	expect_error_line '^gputap: --kernel and --set are for --inject FILE \(try '
}

@test "a program that the verifier rejects is an error before the command starts" {
	object 'SEC("gpu/entry/*") int loop(void *ctx) { for (;;) ; return 0; }'
	gputap trace --gpu soft --inject "$BATS_TEST_TMPDIR/program.o" -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 1
	expect_error_line '^gputap: loop: rejected: '
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	gputap trace --gpu soft --inject "$BATS_TEST_TMPDIR/none.o" -- touch "$BATS_TEST_TMPDIR/ran"
	expect_status 2
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "trace --inject patches modules where the command is not held, too" {
	need_root
	need_command setpriv
	object "$blocks"
	observe setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$build/gputap" trace -v --gpu soft \
		--inject "$BATS_TEST_TMPDIR/program.o" -- "$examples/pipeline"
	expect_status 0
	expect_error_line 'a seccomp filter requires CAP_SYS_ADMIN'
	expect_error_line '^gputap: 1 module: 1 patched .* 1 site: 1 patched, 0 rejected$'
}
