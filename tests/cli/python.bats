# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Python callers in stacks: each CPython that is installed, 3.9 to 3.13, is tried.

load helper
load tracing

setup() {
	use_standin
	[ "$(uname -m)" = x86_64 ] || skip "Python callers are known on x86-64 only"
	library=$standin/libcudart.so.13
	script=$BATS_TEST_DIRNAME/../programs/callers.py
}

# The interpreters, one of each file: those in PATH, and those of pyenv.
interpreters() {
	local minor path
	for minor in 9 10 11 12 13; do
		for path in "/usr/bin/python3.$minor" "/usr/local/bin/python3.$minor" \
			"${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python3; do
			[ ! -x "$path" ] || readlink -f "$path"
		done
	done | sort -u
}

# The stacks of the calls in out.json as callers.py prints them, sorted.
recorded_stacks() {
	jq -r 'select(.name == "cudaGetDevice") | [.stack.frames[] | select(.language == "python")
		| "\(.function | split(".") | last):\(.line)"] | join(" ")' out.json | sort
}

# trace_script PYTHON OPTION…: runs the script under gputap, which attaches before it begins.
trace_script() {
	local python=$1
	shift
	trace -p "$library" --json -o out.json "$@" -- "$python" "$script" "$library"
	expect_status 0
}

@test "Python callers are those that the interpreter itself reports, with their lines" {
	local tried=0 python
	for python in $(interpreters); do
		for method in fp mixed dwarf; do
			trace_script "$python" --stack "$method"
			diff <(sort <<<"$output") <(recorded_stacks) ||
				fail "$python with --stack $method: other callers"
		done
		tried=$((tried + 1))
	done
	((tried > 0)) || skip "no CPython 3.9 to 3.13 is installed"
}

@test "frames of the interpreter and of ctypes are not among the callers" {
	need_command python3
	trace_script "$(interpreters | head -n 1)" --stack dwarf
	[ "$(jq -r 'select(.name == "cudaGetDevice") | .stack.frames[] | .module // empty' out.json |
		grep -cE '/(libpython3|python3|_ctypes|libffi)[^/]*$')" = 0 ]
}

@test "without Python callers there are native ones only" {
	need_command python3
	trace_script "$(interpreters | head -n 1)" --stack fp --python off
	[ -z "$(recorded_stacks | tr -d '\n')" ]
}

@test "the callers in a capture's lines are Python functions" {
	need_command python3
	trace -p "$library" --stack fp -o calls.gtap -- "$(interpreters | head -n 1)" "$script" "$library"
	gputap trace --from calls.gtap -v
	expect_output_line '^ +at call \(callers\.py:[0-9]+\)$'
	expect_output_line '^ +at .*recurse \(callers\.py:[0-9]+\)$'
}

@test "Python callers have their names where several sources are recorded, in the order of time" {
	need_command python3
	gputap record -e cuda,sched -p "$library" -o calls.gtap -- "$(interpreters | head -n 1)" \
		"$script" "$library"
	expect_status 0
	gputap trace --from calls.gtap --json
	jq -c 'select(.name == "cudaGetDevice") | .stack.frames[] | select(.language == "python")' \
		<<<"$output" >frames
	[ "$(wc -l <frames)" -ge 3 ]
	[ "$(jq -c 'select(.function and .file and .line | not)' frames)" = '' ]
}

@test "a row by stack is called after the Python function" {
	need_command python3
	cat >train.py <<'EOF'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
def allocate():
    memory = ctypes.c_void_p()
    library.cudaMalloc(ctypes.byref(memory), 100)
def train_step():
    allocate()
def main():
    train_step()
    allocate()
main()
EOF
	gputap leaks --gpu nvidia --by stack -p "$library" -- "$(interpreters | head -n 1)" train.py "$library"
	expect_error_line ' allocate \(train\.py:5\) ← train_step \(train\.py:7\)$'
	expect_error_line ' allocate \(train\.py:5\) ← main \(train\.py:10\)$'
	gputap leaks --gpu nvidia --by stack --python off -p "$library" -- "$(interpreters | head -n 1)" \
		train.py "$library"
	expect_no_error_line 'train\.py:'
}

@test "many threads have their own Python callers" {
	need_command python3
	cat >threads.py <<'EOF'
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
device = ctypes.c_int()
def leaf():
    library.cudaGetDevice(ctypes.byref(device))
def worker(number):
    scope = {"leaf": leaf}
    exec(f"def only_of_{number}(n):\n    return only_of_{number}(n - 1) if n else leaf()", scope)
    for i in range(50):
        scope[f"only_of_{number}"](number)
threads = [threading.Thread(target=worker, args=(i,), name=str(i)) for i in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
EOF
	trace -p "$library" --json -o out.json --stack fp -- "$(interpreters | tail -n 1)" threads.py "$library"
	expect_status 0
	# Of thread N: N + 1 frames of its own function, and none of another thread's.
	jq -e -s '[.[] | select(.name == "cudaGetDevice") | [.stack.frames[].function]
		| map(select(test("only_of_")) | ltrimstr("only_of_") | tonumber)]
		| length == 300 and all(length == .[0] + 1 and (unique | length) == 1)' out.json >/dev/null ||
		fail "$(recorded_stacks | sort | uniq -c)"
}

# Calls cudaMalloc from train_step(), line 7; with a second argument, when a line was entered.
write_train_step() {
	cat >train.py <<'EOP'
import ctypes, sys
if len(sys.argv) > 2:
    print("waiting", flush=True)
    sys.stdin.readline()
library = ctypes.CDLL(sys.argv[1])
def train_step():
    library.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 100)
train_step()
EOP
}

# Whether the only call in out.json has these Python callers.
expect_train_step() {
	jq -e -s 'map(select(.name == "cudaMalloc").stack.frames | map(select(.language == "python") |
		"\(.function):\(.line)")) == [["train_step:7", "<module>:8"]]' out.json >/dev/null ||
		fail "$1: $(jq -c 'select(.name == "cudaMalloc").stack' out.json)"
}

@test "the interpreters of virtual environments, linked and copied, have Python callers" {
	need_command python3
	local python kind
	python=$(interpreters | tail -n 1)
	write_train_step
	for kind in --symlinks --copies; do
		# The version of a copy is known by a symbol that 3.11 was the first to have.
		[[ $kind != --copies || ! $python =~ 3\.(9|10)$ ]] || continue
		"$python" -m venv --without-pip --clear "$kind" environment || skip "no module venv"
		# Without -p the command is held at its first library, until the interpreter is known.
		trace --json -o out.json --stack dwarf -- environment/bin/python train.py "$library"
		expect_status 0
		expect_train_step "$kind"
	done
}

@test "a running interpreter has Python callers in the library that it opens later" {
	need_command python3
	write_train_step
	mkfifo input
	"$(interpreters | tail -n 1)" train.py "$library" wait <input >waiting 3>&- &
	exec 5>input
	wait_for grep -q waiting waiting
	start_trace -p "$library" --json -o out.json --stack fp -d "$!"
	echo >&5
	end_trace
	exec 5>&-
	expect_status 0
	expect_train_step "-d"
}
