# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs have the same results with every tool as without, and every site is accounted for, on the
# software GPU. Needs no privileges and no GPU.

load helper

programs=$build/tests/programs
cuda=${CUDA_HOME:-/usr/local/cuda}

setup() {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	cd "$BATS_TEST_TMPDIR"
	PATH=$PATH:$cuda/bin
}

# The next functions are called a thousand times. They start no process, and bats, which needs half a
# millisecond for each command that it traces, does not trace them.

# set_results: the lines of the output that do not differ from run to run.
set_results() {
	local line
	results=()
	for line in "${lines[@]}"; do
		[[ $line =~ ' '(ns|µs|ms)$ || $line == 'CPU time'* ]] || results+=("$line")
	done
}

untraced() {
	set +T
	"$@"
	set -T
}

# plainly COMMAND…: runs it without gputap; remembers its status and results.
plainly() {
	on_softgpu "$@"
	untraced set_results
	plain_status=$status
	plain_results=("${results[@]}")
	plain_error_lines=("${stderr_lines[@]}")
}

# compare TOOL COMMAND: the last run printed what the plain run printed, and ended like it; the sites
# that it found are patched, and no module failed.
compare() {
	local results line i
	set_results
	for i in "${!plain_results[@]}"; do
		[ "${results[i]-}" = "${plain_results[i]}" ] ||
			fail "$2 prints with $1 not what it prints without: ${plain_results[i]}"
	done
	[ "$status" = "$plain_status" ] || fail "$2 ends with $status with $1, without with $plain_status"
	for line in "${plain_error_lines[@]}"; do
		[[ $'\n'$stderr$'\n' == *$'\n'"$line"$'\n'* ]] || fail "$2 with $1 does not print the error: $line"
	done
	[[ $stderr$'\n' =~ ([0-9]+)' site's?': '([0-9]+)' patched, '([0-9]+)' rejected'$'\n' ]] ||
		fail "$1 printed no coverage of $2"
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" && ${BASH_REMATCH[3]} == 0 ]] || fail "$1 on $2: ${BASH_REMATCH[0]}"
	[[ $stderr == *' 0 failed; '* ]] || fail "$1 on $2: a module failed"
}

can_load_bpf() {
	[ -e /sys/kernel/btf/vmlinux ] && { has_capability 21 || { has_capability 39 && has_capability 38; }; }
}

# same_with_every_tool COMMAND…: tools with host programs are tried with the first command
# of this file.
same_with_every_tool() {
	local tool tools
	mapfile -t tools <"$BATS_FILE_TMPDIR/tools"
	plainly "$@"
	for tool in "${tools[@]}"; do
		if [[ $tool == *' with host programs' ]]; then
			[ ! -e "$BATS_FILE_TMPDIR/host-programs" ] && can_load_bpf || continue
		fi
		gputap "${tool%% *}" --gpu soft -- "$@"
		untraced compare "${tool%% *}" "${*##*/}"
	done
	gputap run --gpu soft --json "$BATS_FILE_TMPDIR/all.o" -- "$@"
	untraced compare run "${*##*/}"
	grep '^{' <<<"$output" | tail -n 1 | jq -e '.coverage | .found == .patched + .rejected and
		.rejected == 0 and .modules_failed == 0' >/dev/null || fail "the coverage of ${*##*/}"
	touch "$BATS_FILE_TMPDIR/host-programs"
}

# A line for each tool. Those with host programs need privileges, and seconds to detach uprobes.
list_tools() {
	local tool has_host_programs
	for tool in $("$build/gputap" list --tools | awk 'NR > 1 { print $1 }'); do
		has_host_programs=$("$build/gputap" verify --json "$build/programs/$tool.bpf.o" |
			jq 'any(.kind == "linux")')
		case $has_host_programs in
		true) echo "$tool with host programs" ;;
		false) echo "$tool" ;;
		*) return 1 ;;
		esac
	done
}

setup_file() {
	local root build targets
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=${BUILD:-$root/build}
	targets=$(ninja -C "$build" -t targets all | sed -n 's/^\(examples\/nvcc-[a-z]*\):.*/\1/p')
	# shellcheck disable=SC2086 # one word a target
	[ -z "$targets" ] || flock "$build" ninja -C "$build" --quiet $targets
	printf '%s\n' '#include <gputap/bpf.h>' 'GPUTAP_ARRAY(counts, unsigned long long, 16);' \
		'#define COUNT(name, key) int name(void *ctx) { unsigned int k = key; \' \
		'	bpf_map_add(&counts, &k, 1); return 0; }' \
		'SEC("gpu/entry/*") COUNT(entry, 0)' 'SEC("gpu/exit/*") COUNT(end, 1)' \
		'SEC("gpu/block_begin") COUNT(first, 2)' 'SEC("gpu/memory") COUNT(memory, 3)' \
		'SEC("gpu/atomic") COUNT(atomic, 4)' 'SEC("gpu/barrier") COUNT(barrier, 5)' \
		'SEC("gpu/branch") COUNT(branch, 6)' 'SEC("gpu/loop") COUNT(loop, 7)' \
		'SEC("gpu/call/*") COUNT(call, 8)' 'SEC("gpu/return/*") COUNT(back, 9)' \
		'SEC("gpu/load.warp") COUNT(loads, 10)' 'SEC("gpu/loop_end") COUNT(left, 11)' \
		'char LICENSE[] SEC("license") = "GPL";' >"$BATS_FILE_TMPDIR/all.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_FILE_TMPDIR/all.c" \
		-o "$BATS_FILE_TMPDIR/all.o"
	list_tools >"$BATS_FILE_TMPDIR/tools"
	[ -s "$BATS_FILE_TMPDIR/tools" ]
}

# Sizes for which the programs need little time.
arguments_of() {
	case $1 in
	*matmul) echo 20 ;;
	*bench) echo 2 ;;
	*graphs) echo 2 ;;
	esac
}

# same_for PROGRAM…: each with the arguments above.
same_for() {
	local program
	for program; do
		# shellcheck disable=SC2046
		same_with_every_tool "$program" $(arguments_of "$program")
	done
}

@test "every example has the same results with every tool as without" {
	local program found=()
	for program in "$examples"/*; do
		[ -f "$program" ] && [ -x "$program" ] && [[ $program != */nvcc-* ]] && found+=("$program")
	done
	[ ${#found[@]} -ge 12 ]
	same_for "${found[@]}"
}

@test "programs with graphs, stream capture and many kernels have the same results" {
	same_for "$programs/graphs" "$programs/vectors" "$programs/device"
}

@test "graphs whose kernel nodes are changed have the same results, with side modules, too" {
	local kernel
	same_for "$programs/graph_updates"
	for kernel in add multiply reverse; do
		gputap run --gpu soft --kernel "$kernel*" "$BATS_FILE_TMPDIR/all.o" -- "$programs/graph_updates"
		untraced compare "run --kernel $kernel" graph_updates
		grep -qF '(1 side, 0 whole)' <<<"$stderr" || fail "no side module for $kernel: $stderr"
	done
}

@test "every example built by nvcc has the same results with every tool as without" {
	[ -x "$examples/nvcc-vectoradd" ] || skip "there is no nvcc"
	same_for "$examples"/nvcc-*
}

@test "a program of relocatable device code has the same results" {
	need_command nvcc
	for unit in 1 2; do
		nvcc -arch=sm_75 -rdc=true -DUNIT=$unit -c -o unit$unit.o "$root/tests/programs/rdc.cu"
	done
	nvcc -arch=sm_75 -rdc=true -cudart shared -o rdc unit1.o unit2.o
	same_for ./rdc
}

@test "a program that compiles its kernels by NVRTC has the same results" {
	need_command gcc
	local library
	library=$(ls "$cuda"/lib64/libnvrtc.so 2>/dev/null) || skip "there is no NVRTC"
	gcc -I "$root/softgpu/include" -o nvrtc "$root/tests/programs/nvrtc.c" -L "$softgpu" \
		-l:libcuda.so.1 "$library" -Wl,-rpath,"${library%/*}"
	same_for ./nvrtc
	expect_output_line '^nvrtc: 100 of 100 quotients are right$'
}

@test "a program of textures and surfaces has the same results" {
	need_command nvcc
	nvcc -std=c++17 -arch=sm_80 -cudart shared -o textures "$root/tests/softgpu/kernels_textures.cu"
	same_for ./textures
}

@test "a kernel that uses texture references has the same results, in a module patched as a whole" {
	local program=$build/tests/softgpu/test-softgpu_textures
	gputap run --gpu soft -v --kernel named "$BATS_FILE_TMPDIR/all.o" -- "$program" 'references of*'
	[ "$status" = 0 ]
	expect_output_line '^ok 1 - references of modules take arrays and samplers'
	grep -qF 'it uses a texture, sampler or surface reference' <<<"$stderr"
}

@test "a kernel that uses texture objects has the same results in a side module" {
	local program=$build/tests/softgpu/test-softgpu_textures
	gputap run --gpu soft -v --kernel fetch "$BATS_FILE_TMPDIR/all.o" -- "$program" 'an object and*'
	[ "$status" = 0 ]
	expect_output_line '^ok 1 - an object and its array may be destroyed'
	grep -qF 'side module with 1 of 6 kernels' <<<"$stderr"
}
