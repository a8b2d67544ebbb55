# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Python callers in every version whose structures are known, by interpreters that have these
# structures (tests/programs/python/scripts.h: what they execute). So no CPython is needed.

load helper
load tracing

setup() {
	use_standin
	[ "$(uname -m)" = x86_64 ] || skip "Python callers are known on x86-64 only"
	pythons=$programs/python
}

versions='9 10 11 12 13'

# The stacks in out.json, a line for each call: its size, and the Python functions and those of the
# extension, the innermost first. From 3.11 on functions have their class before them.
recorded_stacks() {
	jq -r 'select(.name == "cudaMalloc") | [.args.size, (.stack.frames[] |
		select(.language == "python" or .function == "apply") |
		if .language == "python" then "\(.function | split(".") | last):\(.line)"
		else .function end)] | join(" ")' out.json | sort -n
}

# expect_stacks VERSION METHOD EXPECTED: the stacks that its interpreter has, beside native ones.
expect_stacks() {
	recorded_stacks | grep ' ' | diff <(printf '%s\n' "$3") - >&2 ||
		fail "CPython 3.$1 with --stack $2: other callers"
}

stacks='10 train_step:41 train:21 <module>:12
11 by_norm:61 apply train:31 <module>:1
12 train_step:30 batches:81 by_norm:61 apply train:31 <module>:1
13 train_step:31 batches:91 train:31
14 𐐨:611 訓練:511 café:411
15 every_entry:100 every_entry:105 every_entry:106 every_entry:103 every_entry:330 every_entry:330 every_entry:331 every_entry:203 every_entry:null every_entry:205
16 by_norm:71'

# Its line table cannot express that an instruction has no line.
stacks_of() {
	if [ "$1" = 9 ]; then
		echo "${stacks/every_entry:null/every_entry:203}"
	else
		echo "$stacks"
	fi
}

@test "Python callers of every version have their names and lines, among those of extensions" {
	for version in $versions; do
		for method in fp mixed dwarf; do
			trace --json -o out.json --stack "$method" -- "$pythons/python3.$version"
			expect_status 0
			expect_stacks "$version" "$method" "$(stacks_of "$version")"
		done
	done
}

@test "a thread without a state of its own in the interpreter has native callers only" {
	for version in $versions; do
		trace --json -o out.json --stack dwarf -- "$pythons/python3.$version"
		jq -e -s 'map(select(.name == "cudaMalloc" and (.args.size | . < 5 or . == 17)))
			| length == 5 and all(.stack.frames | length > 2 and all(.language != "python"))
			' out.json >/dev/null || fail "CPython 3.$version: other callers than native ones"
	done
}

@test "lines and rows by stack are called after the functions of every version" {
	for version in $versions; do
		class=
		((version < 11)) || class='Trainer\.'
		trace -v --stack mixed -- "$pythons/python3.$version"
		grep -A 3 -F 'size=10 bytes' <<<"$stderr" | sed -n '2,$s/^ *//p' >lines
		diff - lines <<-EOF || fail "CPython 3.$version: other lines"
			at ${class//\\/}train_step (train.py:41)
			at ${class//\\/}train (train.py:21)
			at <module> (train.py:12)
		EOF
		((version == 9)) || expect_error_line '^ +at every_entry \(train\.py\)$'
		gputap leaks --gpu nvidia --by stack -- "$pythons/python3.$version"
		expect_error_line " ${class}train_step \(train\.py:41\)"
		expect_error_line ' 𐐨 \(𐐀\.py:611\)'
	done
}

@test "an interpreter is found by its section, and by the version in its symbols" {
	strip -o python3.10 "$pythons/python3.10-static"
	cp "$pythons/python3.13" python
	cp "$pythons/libextension.so" .
	for copy in ./python3.10 ./python; do
		LD_LIBRARY_PATH=$standin:$PWD trace --json -o out.json --stack dwarf -- "$copy"
		recorded_stacks >found
		grep -qx '10 train_step:41 train:21 <module>:12' found || fail "$copy: $(<found)"
	done
}

@test "an interpreter in a library has Python callers, before those of its program" {
	trace --json -o out.json --stack dwarf -- "$pythons/embedding"
	expect_status 0
	expect_stacks 12 dwarf "$stacks"
	jq -e -s 'map(select(.args.size == 10).stack.frames | map(.function))[0]
		| .[2:4] == ["<module>", "main"]' out.json >/dev/null || fail "main() is not the next caller"
}

@test "where the interpreter has no symbols, Python callers are before those of main()" {
	strip -o python3.10 "$pythons/python3.10-static"
	cp "$pythons/libextension.so" .
	LD_LIBRARY_PATH=$standin:$PWD trace --json -o out.json --stack dwarf -- ./python3.10
	jq -e -s 'map(select(.args.size == 10).stack.frames | map(.language == "python"))[0]
		| length > 3 and .[:3] == [true, true, true] and (.[3:] | any | not)' out.json >/dev/null ||
		fail "$(jq -c 'select(.args.size == 10).stack.frames' out.json)"
}

@test "an interpreter with other structures has native callers, and the reason is reported once" {
	local name version reason
	while read -r name version reason; do
		trace --json -o out.json --stack dwarf -- "$pythons/$name"
		expect_status 0
		[ "$(count_of "$stderr" 'no Python callers')" = 1 ] || fail "$name: not one reason"
		expect_error_line "^gputap: no Python callers of .*/$name \(CPython $version\): $reason; its native callers are recorded$"
		jq -e -s 'map(select(.name == "cudaMalloc")) | length == 12 and
			all(.stack.frames | length > 2 and all(.language != "python"))' out.json >/dev/null ||
			fail "$name: Python callers"
	done <<-'EOF'
		python3.8 3.8 only 3\.9 to 3\.13 are supported
		python3.14 3.14 only 3\.9 to 3\.13 are supported
		python3.12-alpha 3.12 it is an alpha version
		python3.13t 3.13 it is a free-threaded build
		python3.13-unlike 3.13 its _Py_DebugOffsets are not those of the releases
	EOF
}

# Starts an interpreter that waits for a line from the pipe `input`, as $waiting.
start_waiting() {
	mkfifo input
	"$1" wait <input >number 3>&- &
	waiting=$!
	exec 5>input
	wait_for test -s number
}

@test "the first call of an interpreter that was running has its Python callers" {
	for version in $versions; do
		rm -f input number
		start_waiting "$pythons/python3.$version"
		# It ends afterwards: then its mappings cannot be read any more.
		start_trace --json -o out.json --stack fp -d "$waiting" --max-events 9
		echo >&5
		end_trace
		exec 5>&-
		expect_status 0
		expect_stacks "$version" fp "$(stacks_of "$version")"
	done
}

# The stacks of the process $1 in out.json.
stacks_of_process() {
	jq -c --arg pid "$1" 'select(.pid == ($pid | tonumber))' out.json >process.json
	mv process.json out.json
	recorded_stacks
}

@test "a child has its parent's interpreter until it executes another one" {
	trace --json -o out.json --stack fp -- "$pythons/python3.9" fork "$pythons/python3.13"
	expect_status 0
	jq -r 'select(.name == "cudaMalloc") | .pid' out.json | uniq >pids
	[ "$(wc -l <pids)" = 2 ] || fail "not two processes"
	cp out.json all.json
	stacks_of_process "$(head -n 1 pids)" | grep ' ' | diff <(stacks_of 9) - >&2 || fail "parent"
	cp all.json out.json
	# A child that ends before its mappings are read has no native callers.
	stacks_of_process "$(tail -n 1 pids)" | grep ' ' | sed 's/ apply / /' |
		diff <(printf '%s\n18 by_norm:71\n' "$(stacks_of 13)" | sed 's/ apply / /') - >&2 ||
		fail "child"
}

@test "a process that executes another version under the same name has that version's callers" {
	mkdir old new
	ln -s "$pythons/python3.9" old/python3
	ln -s "$pythons/python3.12" new/python3
	trace --json -o out.json --stack fp -- old/python3 exec new/python3
	expect_status 0
	recorded_stacks | grep ' ' |
		diff <(printf '%s\n%s\n' "$(stacks_of 9)" "$(stacks_of 12)" | sort -n) - >&2 ||
		fail "other callers"
}

@test "a program that an interpreter executes in its place has native callers only" {
	trace --json -o out.json --stack fp -- "$pythons/python3.11" exec "$calls"
	expect_status 0
	jq -e -s '[.[] | select(.name != "cudaMalloc").stack | values] | length > 0 and
		all(.frames | length > 0 and all(.language != "python"))' out.json >/dev/null ||
		fail "Python callers"
}

@test "--python off: native callers of every version" {
	for version in $versions; do
		trace --json -o out.json --stack fp --python off -- "$pythons/python3.$version"
		jq -e -s 'map(select(.name == "cudaMalloc")) | length == 12 and
			all(.stack.frames | all(.language != "python")) and
			any(.stack.frames | any(.function == "_PyEval_EvalFrameDefault"))' out.json >/dev/null ||
			fail "CPython 3.$version: Python callers, or no native ones"
	done
	trace --json -o out.json --stack fp --python off -- "$pythons/python3.14"
	expect_no_error_line 'Python callers'
}
