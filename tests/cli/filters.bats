# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Which calls are traced, which processes, and for how long.

load helper
load tracing

setup() {
	use_standin
}

# expect_account CONDITION: a jq expression over the totals in the JSON in the file out.json.
expect_account() {
	tail -n 1 out.json | jq --exit-status "$1" >/dev/null ||
		fail "not true of $(tail -n 1 out.json): $1"
}

@test "--failed keeps the calls that returned an error, and the others are counted" {
	cat >fail.c <<-'EOF'
		int cudaSetDevice(int device);
		int main(void)
		{
			for (int i = 0; i < 10; i++)
				cudaSetDevice(i % 5 == 0 ? 7 : 0);
		}
	EOF
	need_command cc
	cc fail.c -o fail "$standin/libcudart.so.13"
	trace --failed -- ./fail
	expect_count "$stderr" 'cudaSetDevice +\[EXIT\] +device=7 returned=InvalidDevice \(' 2
	expect_count "$stderr" 'cudaSetDevice' 2
	expect_error_line '^gputap: 10 calls: 2 complete, 0 unfinished, 0 lost, 8 filtered$'
	trace --failed --json -o out.json -- ./fail
	[ "$(jq -r 'select(.name) | .result' out.json | uniq -c)" = "      2 cudaErrorInvalidDevice" ]
	expect_account '.made == 10 and .complete == 2 and .filtered == 8'
	trace --when 'result==101' -c -- ./fail
	expect_error_line '^ +2 +2 .* cudaSetDevice$'
}

@test "what says \"not yet\" is no failure, in live traces, captures and tables alike" {
	need_command cc
	mkdir libraries
	echo 'int cudaStreamQuery(void *stream) { return stream ? 700 : 600; }
		int cudaGetDevice(int *device) { return 0; }' |
		cc -shared -fPIC -Wl,-soname,libcudart.so.13 -x c - -o libraries/libcudart.so.13
	echo 'int ncclCommGetAsyncError(void *comm, int *error) { return comm ? 5 : 7; }' |
		cc -shared -fPIC -Wl,-soname,libnccl.so.2 -x c - -o libraries/libnccl.so.2
	echo 'int cudaStreamQuery(void *), ncclCommGetAsyncError(void *, int *);
		int main(void)
		{
			cudaStreamQuery(0), cudaStreamQuery((void *)1);
			ncclCommGetAsyncError(0, 0), ncclCommGetAsyncError((void *)1, 0);
		}' >query.c
	cc query.c -o query libraries/*.so.*
	export LD_LIBRARY_PATH=$PWD/libraries
	functions=(-e cuda,nccl -f 'cudaStreamQuery,ncclCommGetAsyncError')
	trace "${functions[@]}" --failed -t -- ./query
	expect_count "$stderr" 'returned=(IllegalAddress|InvalidUsage)' 2
	expect_error_line '^gputap: 4 calls: 2 complete, 0 unfinished, 0 lost, 2 filtered$'
	trace "${functions[@]}" -s -o a.gtap -- ./query
	expect_error_line '^ +2 +1 .* cudaStreamQuery$'
	expect_error_line '^ +2 +1 .* ncclCommGetAsyncError$'
	gputap trace --failed -t --from a.gtap
	expect_count "$output" 'returned=(IllegalAddress|InvalidUsage)' 2
	expect_error_line '^gputap: 4 calls: 2 complete, 0 unfinished, 0 lost, 2 filtered$'
}

@test "--when keeps the calls for which it holds" {
	trace --when 'depth==1' -- "$callback" nested 3
	expect_count "$stderr" 'cudaGetDevice .*\[EXIT\]' 3
	expect_no_error_line cudaMalloc
	trace --when 'duration>10s' --json -o out.json -- "$calls" 10
	expect_account '.made == 10 and .complete == 0 and .filtered == 10'
	trace --when 'duration>=0 && result=0 && depth<1' --json -o out.json -- "$calls" 10
	expect_account '.made == 10 and .complete == 10 and .filtered == 0'
}

@test "--when with an invalid condition is rejected with the reason" {
	trace --when 'duration' -- true
	expect_status 2
	expect_error "gputap: no comparison in 'duration', use one such as 'duration>1ms' (operators: < <= == != >= >)"
	trace --when 'bytes>4' -- true
	expect_status 2
	expect_error "gputap: unknown field 'bytes' (one of: duration, result, depth, tid, size, stream, grid, block, kernel)"
	trace --when '(depth>0' -- true
	expect_status 2
	expect_error "gputap: a '(' has no ')'"
	trace --when 'duration>soon' -- true
	expect_status 2
	expect_error "gputap: invalid value 'soon' for duration, use one such as '1ms'"
}

@test "--when with alternatives, sizes, kernels and grids selects the same calls live, counted and of a capture" {
	soft() {
		gputap trace --gpu soft "$@" -- "$build/examples/vectoradd"
	}
	soft -o all.gtap
	gputap trace --from all.gtap --json
	jq -c 'select(.schema == "gputap.call.1")' <<<"$output" >all.json
	made=$(wc -l <all.json)
	while IFS='|' read -r condition wanted; do
		condition=${condition//;/||}
		expected=$(jq -c "select($wanted) | .name" all.json)
		count=$(grep -c . <<<"$expected")
		[ "$count" -gt 0 ] && [ "$count" -lt "$made" ] || fail "$condition: $count of $made calls in the test"
		soft --when "$condition" --json -o out.json
		[ "$(jq -c 'select(.schema == "gputap.call.1") | .name' out.json)" = "$expected" ] ||
			fail "$condition: $(jq -c .name out.json), not $expected"
		expect_account ".made == $made and .complete == $count and .filtered == $((made - count))"
		gputap trace --from all.gtap --json --when "$condition"
		[ "$(jq -c 'select(.schema == "gputap.call.1") | .name' <<<"$output")" = "$expected" ] ||
			fail "$condition, of a capture: $output"
		soft --when "$condition" -c
		[ "$(awk '$1 ~ /^[0-9]+$/ { sum += $1 } END { print sum }' <<<"$stderr")" = "$count" ] ||
			fail "$condition, counted: $stderr"
	done <<-'END'
		kernel=='*add*'|.kernel
		grid>0 && block>=32|.kernel
		grid==1024x1x1 && block==256x1x1|.kernel
		size==1048576 bytes|(.size // .args.size // .args.count // 0) == 1048576
		stream==0x0|.stream == "0x0"
		size>=1MiB|(.size // .args.size // .args.count // 0) >= 1048576
		kernel==*add* ; (size>=1MiB && result==0)|.kernel or (.size // .args.size // .args.count // 0) >= 1048576
		!(kernel=='*add*')|.kernel | not
	END
}

@test "--max-events ends the tracing after exactly so many calls, and the command continues" {
	trace --max-events 5 -- "$calls" 1000
	expect_status 0
	expect_output_line '^calls: 1000 calls'
	expect_count "$stderr" '\[EXIT\]' 5
	trace --max-events 5 --json -o out.json -- "$calls" 1000
	[ "$(grep -c gputap.call.1 out.json)" = 5 ]
	expect_account '.complete == 5 and .made == .complete + .unfinished + .lost + .filtered'
}

@test "--duration ends the tracing after that time, and the command continues" {
	start_trace --duration 200ms -- "$calls" --wait-for go 3
	wait_for grep -q 'tracing has ended' err
	touch go
	end_trace
	expect_status 0
	expect_output_line '^calls: 3 calls'
	expect_error_line '^gputap: 0 calls: 0 complete, 0 unfinished, 0 lost$'
}

@test "--comm keeps processes of that name, which may end in a star" {
	cp "$calls" other
	"$calls" --wait-for go 2 >/dev/null 3>&- &
	first=$!
	./other --wait-for go 3 >/dev/null 3>&- &
	second=$!
	start_trace --comm other
	touch go
	wait $first $second
	kill -INT "$tracer"
	end_trace
	expect_count "$output" 'other .*\[EXIT\]' 3
	expect_no_output_line '^[0-9:.]+ calls .*EXIT'
	trace --comm 'oth*' -- sh -c "$calls 2; ./other 4"
	expect_count "$stderr" 'other .*\[EXIT\]' 4
	expect_count "$stderr" '\[EXIT\]' 4
}

@test "several names are alternatives, live and of a capture" {
	for name in one two three; do
		cp "$calls" $name
	done
	all='./one 2; ./two 3; ./three 4'
	trace --comm one,thr* -- sh -c "$all"
	expect_count "$stderr" 'one .*\[EXIT\]' 2
	expect_count "$stderr" 'three .*\[EXIT\]' 4
	expect_count "$stderr" '\[EXIT\]' 6
	trace -o all.gtap -- sh -c "$all"
	gputap trace --from all.gtap --comm one --comm two
	expect_count "$output" '\[EXIT\]' 5
	trace --comm 1,2,3,4,5,6,7,8,9 -- true
	expect_status 2
	expect_error "gputap: more than 8 values for --comm"
}

@test "--uid keeps the processes of that user, by number or name" {
	need_root
	need_command setpriv
	# The other user can read what is here, and gputap finds the library before the command starts.
	shared=$(mktemp -d)
	cp "$calls" "$standin/libcudart.so.13" "$shared"
	chmod -R a+rX "$shared"
	export LD_LIBRARY_PATH=$shared
	as_other="setpriv --reuid 65534 --regid 65534 --clear-groups"
	$as_other test -r "$shared/calls" || skip "no other user can be taken on, or it cannot read $shared"
	both="$shared/calls 2; $as_other $shared/calls 3"
	trace --uid 65534 -v -- sh -c "$both"
	expect_count "$stderr" '\[EXIT\]' 3
	trace --uid root -- sh -c "$both"
	rm -r "$shared"
	expect_count "$stderr" '\[EXIT\]' 2
}

@test "an unknown user is rejected" {
	trace --uid nobody-at-all -- true
	expect_status 2
	expect_error "gputap: invalid user 'nobody-at-all' for --uid: no such user"
}

@test "--cgroup keeps the processes in that cgroup and below" {
	root_group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$root_group" ] || skip "no cgroup v2 is mounted"
	group=gputap-test-$$
	mkdir -p "$root_group/$group/inner" 2>/dev/null || skip "cgroup v2 cannot be written"
	# shellcheck disable=SC2016 # expanded by the other shell
	inside='echo $$ >"$1/cgroup.procs"; shift; exec "$@"'
	trace --cgroup "$group" -- sh -c "sh -c '$inside' sh $root_group/$group/inner $calls 2; $calls 3"
	rmdir "$root_group/$group/inner" "$root_group/$group"
	expect_count "$stderr" '\[EXIT\]' 2
	trace --cgroup "$group" -- true
	expect_status 1
	expect_error "gputap: $group: no such cgroup: give a path below $root_group"
}

@test "--cgroup finds processes from within a cgroup namespace, where paths begin elsewhere" {
	need_root
	need_command unshare
	root_group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$root_group" ] || skip "no cgroup v2 is mounted"
	group=gputap-test-$$
	mkdir -p "$root_group/$group/inner/most" 2>/dev/null || skip "cgroup v2 cannot be written"
	# shellcheck disable=SC2016 # expanded by the other shell
	observe sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$root_group/$group/inner" \
		unshare -Cm sh -c 'umount "$1"; mount -t cgroup2 none "$1"; echo "$1"/*/; shift; exec "$@"' sh "$root_group" \
		"$build/gputap" trace --gpu nvidia --cgroup most -- \
		sh -c 'echo $$ >"$1/most/cgroup.procs"; "$2" 2; echo $$ >"$1/cgroup.procs"; "$2" 3' sh "$root_group" "$calls"
	rmdir "$root_group/$group/inner/most" "$root_group/$group/inner" "$root_group/$group"
	[[ $output == *"/most/"* ]] || skip "a cgroup namespace cannot be made here"
	expect_count "$stderr" '\[EXIT\]' 2
}

# In the objects of the analyses, and shortened in their tables.
expect_tables_with_container() {
	output=$(cat leaks.json)
	expect_json ".[0].processes | length == 1 and all(.container == \"$id\" and (.cgroup | endswith(\"$group\")))"
	output=$(cat copies.json)
	expect_json ".[0].copies | all(.container == \"$id\")"
	grep -q "bench in container ${id:0:12} " leaks.txt || fail "$(cat leaks.txt)"
}

@test "--containers records the cgroup of each process, and its container" {
	root_group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$root_group" ] || skip "no cgroup v2 is mounted"
	id=$(printf '%064x' $$)
	group=docker-$id.scope
	mkdir "$root_group/$group" 2>/dev/null || skip "cgroup v2 cannot be written"
	# shellcheck disable=SC2016 # expanded by the other shell
	inside='echo $$ >"$1/cgroup.procs"; shift; exec "$@"'
	trace --containers --json -o out.json -- sh -c "$calls --wait 200 1; sh -c '$inside' sh $root_group/$group $calls --wait 200 2"
	trace --containers -- sh -c "exec sh -c '$inside' sh $root_group/$group $calls --wait 200 2"
	for report in leaks copies; do
		"$build/gputap" $report --gpu soft --containers --by process --json -o $report.json -- \
			sh -c "exec sh -c '$inside' sh $root_group/$group $examples/bench 5000" >/dev/null 2>&1
	done
	"$build/gputap" leaks --gpu soft --containers -o leaks.txt -- \
		sh -c "exec sh -c '$inside' sh $root_group/$group $examples/bench 5000" >/dev/null 2>&1
	rmdir "$root_group/$group"
	jq -c 'select(.schema == "gputap.process.1") | [.process, .container, (.cgroup | endswith("'"$group"'"))]' \
		out.json >processes
	grep -qF "[\"calls\",null,false]" processes || fail "$(cat processes)"
	grep -qF "[\"calls\",\"$id\",true]" processes || fail "$(cat processes)"
	output=$(grep "\"container\":\"$id\"" out.json)
	expect_json 'all(.command | endswith("calls --wait 200 2"))'
	expect_error_line "calls +[0-9]+ +process +container=$id cgroup=/$group$"
	expect_tables_with_container
	trace -v -- "$calls" 1
	expect_no_error_line cgroup=
}

@test "a ring that is too small loses calls, counts them, and says what helps" {
	trace --ring-size 4K --json -o out.json -- "$calls" --threads 4 100000
	expect_account '.lost > 0 and .made == 100000 and
		.made == .complete + .unfinished + .lost + .filtered'
	expect_error_line '^gputap: incomplete: 100000 calls: .* lost.*\(use a larger --ring-size, a capture \(-o FILE\.gtap\), -c, or trace fewer functions: -f\)$'
}

@test "a ring smaller than a page, or larger than the maximum, is rejected" {
	trace --ring-size 100 -- touch ran
	expect_status 2
	expect_error "gputap: invalid value '100' for --ring-size ($(getconf PAGESIZE), a page, to 2147483648 bytes)"
	trace --ring-size 1 -- touch ran
	expect_error "gputap: invalid value '1' for --ring-size ($(getconf PAGESIZE), a page, to 2147483648 bytes)"
	trace --ring-size 4G -- touch ran
	expect_status 2
	expect_error "gputap: invalid value '4294967296' for --ring-size ($(getconf PAGESIZE), a page, to 2147483648 bytes)"
	[ ! -e ran ]
}

@test "invalid values of options are rejected with the valid ones" {
	hint="(try 'gputap trace --help')"
	trace --max-events many -- true
	expect_status 2
	expect_error "gputap: invalid value 'many' for --max-events (a whole number) $hint"
	trace --duration soon -- true
	expect_error "gputap: invalid value 'soon' for --duration (a duration such as 10s or 500ms) $hint"
	trace --ring-size 0 -- true
	expect_error "gputap: invalid value '0' for --ring-size (a size such as 64K or 16M) $hint"
	trace --ring-size big -- true
	expect_error "gputap: invalid value 'big' for --ring-size (a size such as 64K or 16M) $hint"
	trace --time iso -- true
	expect_error "gputap: invalid value 'iso' for --time (one of: wall, relative, ns) $hint"
	gputap trace --gpu amd -- true
	expect_error "gputap: invalid value 'amd' for --gpu (one of: auto, nvidia, soft) $hint"
	trace -d 12x
	expect_error "gputap: invalid process id '12x' for --pid $hint"
	trace -d 0
	expect_error "gputap: invalid process id '0' for --pid $hint"
	trace -f '' -- true
	expect_error "gputap: invalid value '' for --function (expected NAME,…) $hint"
	expect_status 2
}

@test "an unknown function or source is rejected with the nearest name" {
	trace -f cudaMaloc -- true
	expect_status 2
	expect_error "gputap: no function is called 'cudaMaloc': did you mean 'cudaMalloc'? 'gputap list --functions' shows all"
	trace -e cudaa -- true
	expect_status 2
	expect_error "gputap: unknown source 'cudaa': did you mean 'cuda'? 'gputap list' shows all"
}

@test "options that exclude each other are rejected" {
	trace -d 1 -- true
	expect_status 2
	expect_error "gputap: -d and a command exclude each other (try 'gputap trace --help')"
	trace -c --json -- true
	expect_status 2
	expect_error "gputap: -c and --json cannot be used together (try 'gputap trace --help')"
}

@test "-f with '!' excludes functions from those that are traced by default" {
	trace -c -f '!cudaGet*' -- "$callback" nested 2
	expect_error_line '^ *2 +0 .*cudaMalloc$'
	expect_no_error_line 'cudaGetDevice$'
	trace -c -f 'cuda*' -f '!cudaMalloc' -- "$callback" nested 2
	expect_error_line '^ *2 +0 .*cudaGetDevice$'
	expect_no_error_line 'cudaMalloc$'
	trace -o run.gtap -- "$callback" nested 2
	gputap trace --from run.gtap -c -f '!cudaGet*'
	expect_output_line 'cudaMalloc$'
	expect_no_output_line 'cudaGetDevice$'
	trace -f '!cudaGetDevicee' -- true
	expect_status 2
	expect_error "gputap: no function is called 'cudaGetDevicee': did you mean 'cudaGetDevice'? 'gputap list --functions' shows all"
	trace -f '!*' -- true
	expect_status 2
	expect_error "gputap: --function excludes all functions that are traced by default"
}

@test "--help of trace says what is traced by default" {
	gputap trace --help
	output=$(tr -s ' \n' ' ' <<<"$output")
	[[ $output == *"Calls traced by default: "*"'gputap list --functions' lists them, -f '*' traces all."* ]]
}

@test "--when compares results with the names of errors, and threads" {
	trace -c --when 'result!=Success' -- "$callback" nested 2
	expect_no_error_line 'cudaMalloc$'
	trace -c --when 'result==cudaSuccess' -- "$callback" nested 2
	expect_error_line '^ *2 +0 .*cudaMalloc$'
	trace --when 'result==OUT_OF_MEMORY && tid>0' -- "$callback" nested 2
	expect_no_error_line 'cudaMalloc'
	trace --when 'result==NoSuchError' -- true
	expect_status 2
	expect_error "gputap: invalid value 'NoSuchError' for result, use one such as '2'"
	trace -o run.gtap -- "$calls" --threads 2 4
	tid=$(gputap trace --json --from run.gtap && jq -r 'select(.name) | .tid' <<<"$output" | head -n 1)
	gputap trace --from run.gtap --json --when "tid==$tid"
	[ "$(jq -r 'select(.name) | .tid' <<<"$output" | sort -u)" = "$tid" ]
	trace -c --when 'tid==1' -- "$calls" 4
	expect_no_error_line 'cudaGetDevice$'
}
