# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Signals that end gputap otherwise: run and exec pass each one on to their command, every time, and print
# maps and coverage when it has ended.

load helper

# object SOURCE: compiles eBPF programs to program.o.
object() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
}

# waiting: a command that records signals and ends with status 7 when there is a file "stop".
waiting() {
	cat >"$BATS_TEST_TMPDIR/waits" <<-'END'
		#!/bin/bash
		for name in INT TERM HUP QUIT USR1 USR2 ALRM; do
			# shellcheck disable=SC2064 # the name of now
			trap "echo $name >>got" "$name"
		done
		touch ready
		until [ -e stop ]; do sleep 0.02; done
		exit 7
	END
	chmod +x "$BATS_TEST_TMPDIR/waits"
	cd "$BATS_TEST_TMPDIR" || return
	rm -f got ready stop
}

# Starts gputap with these arguments as $tracer, in a process group of its own.
start_waiting() {
	setsid env --default-signal=INT,QUIT,TERM,HUP "$build/gputap" "$@" >out 2>err 3>&- &
	tracer=$!
	wait_for test -e ready
}

has_got() {
	[ -e got ] && [ "$(tr '\n' ' ' <got)" = "$1 " ]
}

# Sends each signal to gputap alone, twice; then ends the command.
send_all() {
	local all= name
	for name in INT INT TERM TERM HUP HUP QUIT QUIT USR1 USR2 ALRM; do
		kill -"$name" "$tracer"
		all+="${all:+ }$name"
		wait_for has_got "$all" || fail "the command has got: $(cat got)"
	done
	touch stop
	status=0
	wait "$tracer" || status=$?
	output=$(cat out) stderr=$(cat err)
	expect_status 7
}

@test "run passes signals on to the command, and prints maps and coverage at its end" {
	object 'GPUTAP_ARRAY(counts, unsigned long long, 2);
		SEC("gpu/entry/*") int count(void *ctx) {
			unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }'
	waiting
	start_waiting run --gpu soft --set 'counts[1]=5' program.o -- ./waits
	send_all
	expect_output_line '^  1: 5$'
	expect_error_line '^gputap: 0 modules: '
	expect_error_line "^gputap: passed signal 2 \(Interrupt\) on; waiting for PID [0-9]+ \(./waits\)$"
	[ "$(grep -c 'passed signal' <<<"$stderr")" = 10 ]
}

@test "the tools pass signals on, too" {
	waiting
	start_waiting cudacounter --gpu soft -- ./waits
	send_all
}

# A host program on the command's own process, which needs BPF, and a GPU program that runs beside it.
@test "exec passes signals on to the command, after which or beside which the program runs" {
	need_probes
	object 'GPUTAP_ARRAY(counts, unsigned long long, 2);
		SEC("gpu/run") int count(void *ctx) {
			unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }
		SEC("raw_tp/sys_enter") int enter(void *ctx) { return 0; }'
	for when in '' --meanwhile; do
		waiting
		# shellcheck disable=SC2086
		start_waiting exec --on gpu --gpu soft --linux --maps $when program.o -- ./waits
		send_all
		expect_output_line '^  0: 1$'
	done
}

@test "Ctrl-C reaches the command once, and gputap stays for its end" {
	object 'GPUTAP_ARRAY(counts, unsigned long long, 1);
		SEC("gpu/entry/*") int count(void *ctx) {
			unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }'
	waiting
	start_waiting run --gpu soft program.o -- sh -c 'touch ready; exec sleep 1000'
	kill -INT -- -"$tracer"
	status=0
	wait "$tracer" || status=$?
	stderr=$(cat err)
	expect_status 130
	expect_error_line '^gputap: 0 modules: '
}
