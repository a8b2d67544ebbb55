# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The source "syscall"; strace is the yardstick of its texts.

load helper

program=$build/tests/programs/syscalls

setup() {
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
	mkdir empty
}

trace_calls() {
	gputap trace --gpu nvidia -e syscall "$@"
}

# calls FILE: the calls among JSON lines, as "TID name(arguments) = result".
calls() {
	jq -r 'select(.schema == "gputap.event.1" and .source == "syscall") | "\(.tid) \(.name)(" +
		(.arguments | map(select(. != "")) | join(", ")) + ") = \(.returned)"' "$1"
}

# The same in each run: processes have numbers in the order of their ids, random bytes and times that
# are left are none, and what a process that kills itself receives of that call is not seen by strace.
normalize() {
	local names=() ids=$1 id
	for id in $ids; do
		names+=(-e "s/\\b$id\\b/PID${#names[@]}/g")
	done
	sed -E "${names[@]}" -e 's/\) += /) = /' -e '/^(---|\+\+\+) /d' -e 's, /\* [0-9.]+ s \*/,,g' \
		-e 's/(getrandom\(")[^"]*/\1/' -e 's/getppid\(\) = .*/getppid()/' -e 's/rt_sigreturn\(.*/rt_sigreturn()/' -e 's/(tgkill\(.*SIGKILL\)) = .*/\1/' \
		-e '/^(sysinfo|getrusage|wait.*ru_|times|gettimeofday)/s/[0-9]+/N/g' -e 's/left \{[^}]*/left {/' \
		-e 's/si_utime=[0-9]+, si_stime=[0-9]+/si_times/' -e 's/tv_sec=999, tv_nsec=[0-9]+/tv_sec=999/' \
		-e 's/getcpu\(\[[0-9]+/getcpu([N/' -e 's/features=[^,]*/features/' -e '/futex\(.*PID/d'
}

# The calls from the execution of the program on.
from_program() {
	sed -n '/^execve(.*syscalls".* = 0/,$p'
}

# Soon after a boot, the id of a process may be any number that a call has, such as 255.
skip_small_ids() {
	[ "$BASHPID" -gt 30000 ] || echo 30000 2>/dev/null >/proc/sys/kernel/ns_last_pid || true
}

@test "calls have the names, arguments and results that strace prints" {
	command -v strace >/dev/null || skip "strace is not installed"
	skip_small_ids
	(cd empty && strace -ff -o ../strace setarch -R env -i "$program")
	(cd empty && "$build/gputap" trace --gpu nvidia -e syscall --json -o ../out.json -- \
		setarch -R env -i "$program" 2>/dev/null)
	calls out.json >ours
	strace_ids=$(printf '%s\n' strace.* | sed 's/.*\.//' | sort -n)
	our_ids=$(cut -d' ' -f1 ours | sort -nu)
	first=$(head -n 1 <<<"$our_ids")
	for id in $strace_ids; do
		normalize "$strace_ids" <"strace.$id" >"s.$id"
	done
	from_program <"s.$(head -n 1 <<<"$strace_ids")" >expected
	for id in $(tail -n +2 <<<"$strace_ids"); do cat "s.$id"; done >>expected
	sed -n "s/^$first //p" ours | normalize "$our_ids" | from_program >got
	for id in $(tail -n +2 <<<"$our_ids"); do
		sed -n "s/^$id //p" ours | normalize "$our_ids"
	done >>got
	[ "$(wc -l <expected)" -ge 500 ]
	diff expected got
}

@test "a call is one event with an id, raw arguments, its result and the error's name" {
	trace_calls --json -o out.json -- cat /missing
	jq -s 'map(select(.schema == "gputap.event.1" and .source == "syscall"))' out.json >calls.json
	run -0 jq -e 'map(.call) | length == (unique | length) and all(. > 0)' calls.json
	run -0 jq -c '.[] | select(.name == "openat" and .arguments[1] == "\"/missing\"") |
		[.argument0, .argument2, .result, .error, .unfinished, .returned]' calls.json
	[ "$output" = '["0xffffff9c","0x0",-2,"ENOENT",false,"-1 ENOENT (No such file or directory)"]' ] || fail "$output"
	run -0 jq -e 'any(.name == "exit_group" and .returned == "?" and (.unfinished | not))' calls.json
	run -0 jq -e 'all(.duration >= 0 and .time > 0)' calls.json
}

@test "a call that has not returned at the end of the session is shown as unfinished" {
	mkfifo fifo
	{
		wait_for grep -q '"unfinished":true' out.json
		echo >fifo
	} 3>&- &
	trace_calls --syscall openat --duration 3s --json -o out.json -- sh -c 'read line <fifo'
	run -0 jq -c 'select(.name == "openat" and .unfinished) | [.arguments, .returned]' out.json
	[ "$output" = '[["AT_FDCWD","\"fifo\"","O_RDONLY"],"?"]' ] || fail "$output"
	run -0 jq -s 'map(select(.name == "openat")) as $calls |
		(map(select(.schema == "gputap.totals.1"))[-1].recorded) == ($calls | length)' out.json
	[ "$output" = true ]
}

@test "--syscall selects calls by globs" {
	trace_calls --syscall 'open*,!openat2,close' --json -o out.json -- cat /dev/null
	run -0 jq -sr 'map(select(.schema == "gputap.event.1" and .source == "syscall") | .name) | unique | join(" ")' out.json
	[ "$output" = "close openat" ]
	trace_calls --syscall '!mmap' --json -o out.json -- cat /dev/null
	run -0 jq -s 'map(select(.schema == "gputap.event.1" and .source == "syscall") | .name) |
		(any(. == "read")) and (all(. != "mmap"))' out.json
	[ "$output" = true ]
}

@test "all entries of a folder that are read are counted" {
	mkdir many
	touch many/{1..120}
	trace_calls --syscall getdents64 --json -o out.json -- ls many
	run -0 jq -sc 'map(select(.name == "getdents64") | .arguments[1] | capture("(?<count>[0-9]+) entries").count)' out.json
	[ "$output" = '["122","0"]' ] || fail "$output"
}

@test "a call in which a thread is killed ends there" {
	trace_calls --json -o out.json -- sh -c 'sleep 60 &
		until grep -q "(sleep) S" /proc/$!/stat; do sleep 0.05; done
		sleep 0.3; kill -KILL $!; wait'
	# With the signal, the call ends, or it returns and the thread ends before it runs on.
	run -0 jq -s 'map(select(.name == "clock_nanosleep" and .process == "sleep")) |
		any((.returned | test("^[?]")) and .arguments[2] == "{tv_sec=60, tv_nsec=0}" and
			.duration > 200000000)' out.json
	[ "$output" = true ]
}

@test "text, a capture and stat show the same calls" {
	trace_calls -o run.gtap -- cat /dev/null
	gputap trace --from run.gtap
	lines=$(grep -c '\[SYSCALL\]' <<<"$output")
	grep -qE 'openat +\[SYSCALL\] +\(AT_FDCWD, "/dev/null", O_RDONLY\) = [0-9]+ \([0-9.]+ .*s\)$' <<<"$output"
	gputap stat --from run.gtap --json
	run -0 jq '[.sources[] | select(.schema == "gputap.event.1" and .source == "syscall") | .events[].count] | add' <<<"$output"
	[ "$output" = "$lines" ]
}
