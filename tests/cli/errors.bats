# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Errors of tracing: what was attempted, what went wrong, what to do next.

load helper
load tracing

setup() {
	use_standin
}

@test "a missing path is reported" {
	trace -p nowhere
	expect_status 1
	expect_output ""
	expect_error "gputap: nowhere: cannot be opened: No such file or directory: check the path"
}

@test "a file that is not an ELF file is reported" {
	echo hello >text
	trace -p text
	expect_status 1
	expect_error 'gputap: text: not an ELF file (it starts with "hello")'
	mkdir directory
	trace -p directory
	expect_error "gputap: directory: not an ELF file (it is a directory)"
	: >empty
	trace -p empty
	expect_error "gputap: empty: not an ELF file (it is empty)"
}

@test "a truncated ELF file is reported" {
	head -c 100 "$calls" >short
	trace -p short
	expect_status 1
	expect_error "gputap: short: truncated ELF: its program headers end at byte 792, the file has 100"
	head -c $(($(stat -c %s "$calls") - 1)) "$calls" >almost
	trace -p almost
	expect_error "gputap: almost: truncated ELF: its section headers end at byte $(stat -c %s "$calls"), the file has $(stat -c %s almost)"
}

@test "a truncated program is reported before it is run" {
	head -c 9000 "$calls" >short
	chmod +x short
	trace -- ./short
	expect_status 1
	expect_error "gputap: ./short: truncated ELF: its section headers end at byte $(stat -c %s "$calls"), the file has 9000"
}

@test "a library without CUDA functions is reported" {
	need_command cc
	echo 'int zero(void) { return 0; }' | cc -shared -fPIC -x c - -o libzero.so
	trace -p ./libzero.so
	expect_status 1
	expect_error "gputap: ./libzero.so: no CUDA functions; name a library such as libcudart.so.13 or libcuda.so.1, or a program that uses one"
	cp libzero.so libcudart.so.13
	trace -p ./libcudart.so.13
	expect_error "gputap: ./libcudart.so.13: has the name of a CUDA library, but none of its functions; name a library such as libcudart.so.13 or libcuda.so.1, or a program that uses one"
	strip libzero.so
	trace -p ./libzero.so
	expect_status 1
	expect_error "gputap: ./libzero.so: no CUDA functions (it is stripped: a statically linked runtime cannot be found); name a library such as libcudart.so.13 or libcuda.so.1, or a program that uses one"
}

@test "a command that is not there, or cannot be executed, has the status that a shell gives" {
	trace -- no-such-command
	expect_status 127
	expect_error "gputap: no-such-command: no such command in PATH ($PATH)"
	cp "$calls" here-only
	trace -- here-only
	expect_status 127
	expect_error "gputap: here-only: no such command in PATH ($PATH); did you mean './here-only'?"
	trace -- ./nothing
	expect_status 127
	expect_error "gputap: ./nothing: cannot be executed: No such file or directory"
	echo data >data
	trace -- ./data
	expect_status 126
	expect_error "gputap: ./data: cannot be executed: Permission denied"
	mkdir directory
	trace -- ./directory
	expect_status 126
	expect_error "gputap: ./directory: is a directory: name the program to run"
}

@test "a script is traced, and so is what it runs" {
	printf '#!/bin/sh\n%s 2 >/dev/null\n' "$calls" >script
	printf '%s 3 >/dev/null\n' "$calls" >plain
	chmod +x script plain
	trace -c -- ./script
	expect_error_line '^ *2 +0 .*cudaGetDevice$'
	trace -c -- ./plain
	expect_error_line '^ *3 +0 .*cudaGetDevice$'
	expect_error_line "^gputap: ./plain is a text file without a '#!' line: /bin/sh runs it as a script$"
	printf '#!/no/such/shell\n' >script
	trace -- ./script
	expect_status 127
}

@test "without privileges it says what to do, and the command does not run" {
	need_root
	need_command setpriv
	chmod a+rwx .
	observe setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
		/proc/self/fd/9 trace --via kernel --gpu nvidia -- touch ran 9<"$build/gputap"
	expect_status 1
	expect_output ""
	expect_error "gputap: no privilege to load BPF programs: run as root (sudo), or give gputap CAP_BPF and CAP_PERFMON"
	[ ! -e ran ]
}

# The attach methods of this kernel, by the names that -v prints.
attach_methods() {
	local method name
	while read -r method name; do
		trace -v --attach "$method" -f cudaGetDevice -- true
		[[ $stderr != *"this kernel has no $name"* ]] || continue
		expect_error_line "^gputap: attached ([0-9]+) of \\1 in [0-9.]+ ms by $name\$"
		methods+=("$method")
	done <<-'END'
		session uprobe sessions
		multi uprobe_multi links
		perf perf events
	END
}

@test "every attach method sees the same calls" {
	local methods=() program expected
	attach_methods
	for program in "$calls 20" "$calls --threads 3 9" "$callback nested 3" "$callback longjmp 4" \
		"$callback exit 5" "$callback thread 3" "$callback exec 4"; do
		expected=
		for method in "${methods[@]}"; do
			# shellcheck disable=SC2086 # words
			trace -c --attach "$method" -- $program
			seen=$(awk '/ cuda[A-Z]/ {sub(".*s  cuda", $1 " " $2 " cuda"); print} / complete, / {print}' <<<"$stderr")
			[[ $seen == *cuda* ]] || fail "$program by $method: $stderr"
			: "${expected:=$seen}"
			[ "$seen" = "$expected" ] || fail "$program by $method: $seen, expected $expected"
		done
	done
}

@test "what is no capture is not written into a file that is named as one" {
	gputap leaks -o "$BATS_TEST_TMPDIR/a.gtap" -- true
	expect_status 2
	expect_error "gputap: -o FILE is the report and cannot be a capture; record one by 'gputap trace --stack mixed -o FILE.gtap' (try 'gputap leaks --help')"
	gputap trace --json -o "$BATS_TEST_TMPDIR/a.gtap" -- true
	expect_status 2
	expect_error "gputap: --json and -o FILE.gtap (a capture) cannot be used together; record first, then use --from (try 'gputap trace --help')"
	[ ! -e "$BATS_TEST_TMPDIR/a.gtap" ]
}

@test "a capture in place of a command is recognized by its name" {
	for command in trace leaks kernels; do
		gputap $command there.gtap
		expect_status 2
		expect_error "gputap: there.gtap is a capture, not a command: use --from there.gtap (try 'gputap $command --help')"
	done
	gputap top there.gtap
	expect_status 2
	expect_error "gputap: there.gtap is a capture, not a command: 'gputap report there.gtap' shows it (try 'gputap top --help')"
}

@test "an unknown source is reported with the nearest one" {
	need_probes
	trace -e cuba -- true
	expect_status 2
	expect_error "gputap: unknown source 'cuba': did you mean 'cuda'? 'gputap list' shows all"
	trace -e frobnicate -- true
	expect_status 2
	expect_error "gputap: unknown source 'frobnicate'; 'gputap list' shows all"
}
