# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Callers of calls, compared with those that backtrace(3) finds in the program itself.

load helper

setup() {
	need_probes
	[ "$(uname -m)" = x86_64 ] || skip "functions have frame pointers on $(uname -m)"
	command -v g++ >/dev/null || skip "no g++"
	cd "$BATS_TEST_TMPDIR" || return
}

# build_stacks OPTION…: the program ./stacks.
build_stacks() {
	g++ -g "$@" "-I$root/softgpu/include" "$root/tests/programs/stacks.cpp" -o stacks -lpthread \
		"$softgpu/libcudart.so.13" || fail "g++ $*"
}

# check_stacks METHOD DEPTH: each call has the callers that the program printed, up to a depth.
check_stacks() {
	gputap trace --gpu soft --stack "$1" --stack-depth "$2" -v -f cudaMalloc --json -o trace.json -- ./stacks
	expect_status 0
	expect_error_line '^gputap: 14 calls: 14 complete, 0 unfinished, 0 lost$'
	printf '%s\n' "$output" | awk -v depth="$2" '{
		line = $1
		for (i = 2; i <= NF && i <= depth; i++)
			line = line " " $i
		print line
	}' >expected
	jq -r 'select(.name == "cudaMalloc" and .stack) |
		"\(.args.size // .arguments.size) \(.stack.frames[1:] | map(select(.inlined | not).address) | join(" "))"' trace.json >found
	diff expected found >difference || fail "$(cat difference)"
}

@test "callers are those of backtrace(3) in a program without frame pointers" {
	for options in "-O2 -fomit-frame-pointer" "-O1 -fomit-frame-pointer" "-O3 -fomit-frame-pointer -mavx" \
		"-O2 -fomit-frame-pointer -no-pie"; do
		# shellcheck disable=SC2086
		build_stacks $options
		check_stacks mixed 127
	done
}

@test "callers are those of backtrace(3) in a program with frame pointers, and at any depth" {
	build_stacks -O1 -fno-omit-frame-pointer
	check_stacks mixed 127
	check_stacks mixed 5
}

@test "callers are complete while other threads change the address space" {
	gcc -g -O2 "-I$root/softgpu/include" "$root/tests/programs/mapping_threads.c" -o mapping_threads -lpthread \
		"$softgpu/libcudart.so.13" || fail "gcc"
	gputap leaks --gpu soft --json -o leaks.json -- ./mapping_threads 40000
	expect_error_line '^gputap: 40000 calls: 40000 complete, 0 unfinished, 0 lost$'
	# The first ones may come before gputap knows the mappings.
	complete=$(jq '[.leaks[] | select(.stack.frames[-1].function == "_start") | .count] | add // 0' leaks.json)
	[ "$complete" -ge 20000 ] || fail "$complete of 40000 stacks are complete"
}

# check_jit PREFIX…: the function that the program makes has its name, also after the end of both.
check_jit() {
	local tracer
	rm -f go
	"$build/gputap" trace --gpu soft --stack fp --json -o jit.json -- "$@" ./jit >out 3>&- &
	tracer=$!
	wait_for grep -q '"name":"cudaMalloc"' jit.json
	touch go
	wait $tracer
	rm "$(cat out)"
	jq -es 'any(.stack.frames[0].function? == "jit::train_step(int)")' jit.json >/dev/null ||
		fail "$(cat jit.json)"
}

@test "functions of JIT compilers have the names of the map for perf, also of a container's process" {
	gcc -g -O1 -fno-omit-frame-pointer "-I$root/softgpu/include" "$root/tests/programs/jit.c" -o jit \
		"$softgpu/libcudart.so.13" || fail "gcc"
	check_jit
	touch go
	gputap record -e cuda --gpu soft --stack fp -o jit.gtap -- ./jit
	rm "$output"
	gputap leaks --from jit.gtap
	expect_output_line 'jit::train_step\(int\) \(perf-[0-9]+\.map\)'
	need_root
	check_jit unshare --pid --fork
}
