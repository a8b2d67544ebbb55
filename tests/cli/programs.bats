# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The programs that other tests trace do what those rely on.
load helper

programs=$build/tests/programs
standin=$programs/standin

on_standin() {
	observe env LD_LIBRARY_PATH="$standin" "$@"
}

disassemble() {
	objdump -d --no-show-raw-insn "$standin/libcudart.so.13"
}

@test "every function of the stand-in runtime begins with push %rbp" {
	need_command objdump
	[ "$(uname -m)" = x86_64 ] || skip "push %rbp is an instruction of x86-64"
	local starts
	starts=$(disassemble | grep -A1 -E '^[0-9a-f]+ <(__)?(cuda|standin)[^>]*>:$' | grep -vE '>:$|^--')
	[ "$(wc -l <<<"$starts")" = 11 ]
	! grep -vE ':[[:blank:]]+push +%rbp$' <<<"$starts"
}

@test "the stand-in's __cudaLaunchKernel jumps to cudaLaunchKernel" {
	need_command objdump
	disassemble | sed -n '/<__cudaLaunchKernel>:/,/^$/p' | grep -qE '[[:blank:]](jmp|b) +[0-9a-f]+ <cudaLaunchKernel>'
}

@test "the programs of tests do not say where their CUDA runtime lies" {
	for program in calls calls-late callback device; do
		observe readelf -d "$programs/$program"
		expect_no_output_line 'RPATH|RUNPATH'
	done
	observe readelf -d "$programs/calls-late"
	expect_no_output_line 'NEEDED.*libcud'
}

@test "calls makes its calls, in threads, in children, late and by a signal's end" {
	on_standin "$programs/calls" 12345
	expect_status 0
	expect_output_line '^calls: 12345 calls, [0-9]+\.[0-9] ns each$'
	on_standin "$programs/calls" --threads 3 1000
	expect_status 0
	expect_output_line '^calls: 1000 calls, '
	on_standin "$programs/calls" --forks 4 100
	expect_status 0
	expect_output "calls: 400 calls in 4 processes"
	on_standin "$programs/calls-late" --wait 1 7
	expect_status 0
	expect_output_line '^calls-late: 7 calls, '
	on_standin "$programs/calls" --signal 9 7
	expect_status 137
}

@test "calls keeps the given rate" {
	local start=${EPOCHREALTIME/./}
	on_standin "$programs/calls" --rate 2000 1000
	local took=$((${EPOCHREALTIME/./} - start))
	expect_status 0
	((took >= 490000)) || fail "1000 calls at 2000 a second took $took us"
}

@test "calls rejects invalid arguments" {
	on_standin "$programs/calls" --speed 3
	expect_status 2
	expect_error_line '^usage: calls \[options\] \[CALLS\]$'
}

@test "callback leaves calls by longjmp, nests them, and never returns" {
	on_standin "$programs/callback" longjmp 5
	expect_status 0
	expect_output "callback: 5 calls left by longjmp, 5 ordinary"
	on_standin "$programs/callback" nested 4
	expect_status 0
	expect_output "callback: 4 calls, 4 within them"
	on_standin "$programs/callback" exit 3
	expect_status 0
	expect_output "callback: 3 ordinary calls, then one that does not return"
	on_standin "$programs/callback" launch 2
	expect_status 0
	expect_output "callback: 2 launches of each kind"
	on_standin timeout -s KILL 1 "$programs/callback" block 1
	expect_status 137
}
