# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Behavior that may differ under another kernel. The tests run under any kernel, but are meant for a
# guest (tests/guest/run): few, since it is slow.

load ../cli/helper
load ../cli/tracing
load guest

setup() {
	need_root
	need_probes
	need_file "$examples/vectoradd" "example (clang for PTX)"
	# With the module of other tests, commands would get no software GPU.
	modprobe -r nvidia-uvm nvidia 2>/dev/null || :
	cd "$BATS_TEST_TMPDIR" || return
}

stand_in() {
	export LD_LIBRARY_PATH=$standin
}

# expect_totals TEXT: how the account ends.
expect_totals() {
	expect_error_line "^gputap: $1$"
}

# The probes of tracefs that are defined.
defined_probes() {
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	grep gputap_ /sys/kernel/tracing/uprobe_events || true
}

@test "doctor finds nothing broken, and what is optional and missing" {
	modprobe fakegpu 2>/dev/null || true
	gputap doctor
	expect_status 0
	expect_no_output_line '^broken'
	expect_output_line '^ok       source cuda '
	expect_output_line '^ok       source process '
	if [ -e /sys/module/gpu_sched ] && [[ $(uname -r) == 6.1.* ]]; then
		expect_output_line '^ok       source drm .*; this kernel has no tracepoint drm_sched_job_add_dep$'
	fi
}

@test "every call of a program is traced, by each kernel's name" {
	gputap trace -- "$examples/vectoradd"
	expect_status 0
	expect_output "vectoradd: 262144 sums are right"
	expect_totals '10 calls: 10 complete, 0 unfinished, 0 lost'
	expect_count "$stderr" 'cudaMalloc .*\[EXIT\]   returned=Success devPtr=0x' 3
	expect_count "$stderr" 'cudaMemcpy .*\[ENTER\]  size=1048576 bytes kind=' 3
	expect_error_line 'cudaLaunchKernel .*\[ENTER\]  func=0x[0-9a-f]+ grid=1024x1x1 .* kernel=add'
}

@test "all functions are attached, and no probe stays when the trace has ended" {
	gputap trace -v -f '*' -- true
	expect_error_line '^gputap: attached ([0-9]+) of \1 in [0-9.]+ ms by (uprobe sessions|uprobe_multi links|perf events)$'
	[[ $stderr =~ attached\ ([0-9]+)\ of ]]
	[ "${BASH_REMATCH[1]}" -gt 500 ]
	[ -z "$(defined_probes)" ]
}

@test "children are traced by fork, by exec and as threads" {
	stand_in
	trace -c -- sh -c "$calls 2; $calls --forks 3 5; $calls --threads 3 9; exec $calls 4"
	expect_error_line '^ *30 +0 .*cudaGetDevice$'
	expect_totals '30 calls: 30 complete, 0 unfinished, 0 lost'
}

@test "calls within calls, abandoned calls and calls that never end are distinguished" {
	stand_in
	trace -- "$callback" nested 2
	expect_totals '4 calls: 4 complete, 0 unfinished, 0 lost'
	trace -- "$callback" longjmp 5
	expect_totals '10 calls: 5 complete, 5 unfinished, 0 lost'
	trace -- "$callback" exit 3
	expect_totals '4 calls: 3 complete, 1 unfinished, 0 lost'
}

@test "a function that jumps to another one is seen to return once" {
	stand_in
	trace -- "$callback" launch 3
	expect_count "$stderr" 'cudaLaunchKernel .*\[EXIT\]   returned=Success' 6
	expect_totals '6 calls: 6 complete, 0 unfinished, 0 lost'
}

@test "a call that runs when the tracing ends is unfinished" {
	stand_in
	sh -c "while [ ! -e go ]; do sleep 0.05; done; exec $callback block 1" >made 3>&- &
	target=$!
	start_trace -d $target
	touch go
	wait_for grep -q 'in a call that blocks' made
	kill -INT "$tracer"
	end_trace
	kill $target
	expect_totals '2 calls: 1 complete, 1 unfinished, 0 lost'
}

@test "a running process is traced from the moment of attaching" {
	as_under_6_12
	stand_in
	"$calls" --wait-for go 4 >/dev/null 3>&- &
	target=$!
	start_trace -c -d $target
	touch go
	end_trace
	expect_totals 'incomplete: 4 calls: 4 complete, 0 unfinished, 0 lost; calls may be missing from calls .*'
}

@test "a library outside the loader's path is traced from its first call" {
	as_under_6_12
	need_command cc
	mkdir elsewhere
	cp "$standin/libcudart.so.13" elsewhere/
	cat >opener.c <<-'EOF'
		#include <dlfcn.h>
		int main(void)
		{
			int device, (*get)(int *) = dlsym(dlopen("elsewhere/libcudart.so.13", RTLD_NOW), "cudaGetDevice");
			return get(&device) + get(&device);
		}
	EOF
	cc opener.c -o opener
	trace -- ./opener
	expect_status 0
	expect_totals '2 calls: 2 complete, 0 unfinished, 0 lost'
}

@test "a ring that is too small loses calls, and each is counted" {
	as_under_6_12
	stand_in
	start_trace --ring-size 64K -o calls.gtap -- "$calls" --wait-for go 20000
	kill -STOP $tracer
	touch go
	wait_for grep -q '^calls: 20000 calls' out
	kill -CONT $tracer
	wait $tracer
	gputap trace --from calls.gtap --json -f cudaGetDevice
	output=$(tail -n 1 <<<"$output")
	expect_json '.[0] | .schema == "gputap.account.1" and .lost > 0 and .made == 20000 and
		.complete + .unfinished + .lost == 20000'
}

@test "leaks, copies, kernels and errors report on one capture" {
	as_under_6_12
	gputap trace --stack fp -o leak.gtap -- "$examples/leak"
	expect_status 0
	gputap leaks --json --from leak.gtap
	expect_json '.[0].totals.exit == {count: 3, bytes: 321000}'
	gputap leaks --from leak.gtap
	expect_output_line 'cudaMalloc +grow_cache\(\) \(leak\.cu:[0-9]+\)$'
	gputap errors --json --from leak.gtap
	expect_json '.[0].errors | map([.function, .error, .count]) ==
		[["cudaMalloc", "cudaErrorMemoryAllocation", 1]]'
	gputap trace -o vectoradd.gtap -- "$examples/vectoradd"
	gputap copies --json --from vectoradd.gtap
	expect_json '.[0].copies | map([.direction, .count, .bytes]) | sort ==
		[["D2H", 1, 1048576], ["H2D", 2, 2097152]]'
	gputap kernels --json --from vectoradd.gtap
	expect_json '.[0].kernels | map([.kernel, .launches]) ==
		[["add(float const*, float const*, float*, int)", 1]]'
}

@test "callers are found by .eh_frame, too" {
	as_under_6_12
	gputap leaks --stack dwarf -o leaks.txt -- "$examples/leak"
	for caller in 'grow_cache\(\)' 'load\(bool\)' 'fill_table\(\)'; do
		grep -qE "cudaMalloc +$caller \(leak\.cu:[0-9]+\)$" leaks.txt || fail "$(cat leaks.txt)"
	done
}

@test "callers in libraries have names, though a layer of files gives other devices than mappings" {
	as_under_6_12
	need_file "$programs/handles" "program handles (clang for PTX)"
	gputap trace --gpu soft -t --stack fp -v -f cuLibraryLoadData -- "$programs/handles"
	expect_error_line '^ +at __cudaGetKernel'
	expect_error_line '^ +at main\+0x[0-9a-f]+ \(handles\)$'
}

@test "when gputap is killed the command continues, and the next one cleans up" {
	as_under_6_12
	stand_in
	"$build/gputap" trace --gpu nvidia -- sh -c "touch runs; $calls --wait-for go 3 >made" \
		>/dev/null 2>&1 3>&- &
	tracer=$!
	wait_for [ -e runs ]
	kill -KILL $tracer
	wait $tracer || true
	touch go
	wait_for grep -q '^calls: 3 calls' made
	trace -- "$calls" 2
	expect_totals '2 calls: 2 complete, 0 unfinished, 0 lost'
	[ -z "$(defined_probes)" ]
}

@test "run attaches uprobes to the command and its children, and both sides add to one array" {
	as_under_6_12
	cat >program.c <<-END
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		#include <gputap/bpf.h>
		GPUTAP_SHARED_ARRAY(counts, unsigned long long, 1);
		SEC("gpu/block_begin") int block(void *ctx) {
			unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }
		SEC("uprobe/libcudart.so:cudaLaunchKernel") int launch(void *ctx) {
			unsigned int key = 0;
			unsigned long long *value = bpf_map_lookup_elem(&counts, &key);
			if (value)
				__sync_fetch_and_add(value, 1000000);
			return 0; }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I"$root/include" -I"/usr/include/$(uname -m)-linux-gnu" -c program.c \
		-o program.o
	gputap run --gpu soft program.o -- sh -c '"$1"; "$1"' sh "$examples/vectoradd"
	expect_status 0
	# Two launches of 1024 blocks.
	expect_output_line '^  0: 2002048$'
	[ -z "$(defined_probes)" ]
}
