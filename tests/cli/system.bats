# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The sources sched, fault, block, cgroup and power, on what shell commands do.

load helper

setup() {
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
}

# expect_json FILE FILTER: a question about all objects of a file whose answer is true.
expect_json() {
	jq --slurp --exit-status "$2" "$1" >/dev/null || fail "not true of $1: $2: $(tail -n 20 "$1")"
}

@test "a thread that does not run at the end is shown once, without a CPU" {
	gputap trace -e sched --json -o out.json -- sh -c 'sleep 30 >/dev/null 2>&1 3>&- & echo $! >pid; sleep 0.2'
	kill "$(cat pid)"
	expect_json out.json "map(select(.name == \"off_cpu\" and .pid == $(cat pid) and .cpu == null)) |
		length == 1 and .[0].state == \"sleeping\" and .[0].duration > 10000000"
}

@test "a thread that ends is not shown as waiting" {
	gputap trace -e sched --json -o out.json -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
	expect_json out.json 'map(select(.name == "off_cpu")) | length > 5 and all(.cpu != null and .state != "dead")'
}

@test "the writer wakes the reader of a pipe" {
	gputap trace -e sched --json -o out.json -- sh -c '(sleep 2; echo x) | sed s/x/y/'
	expect_json out.json 'any(.process == "sed" and .state == "sleeping" and .waker == "sh")'
}

@test "page faults have the address, the access and the process" {
	gputap trace -e fault --json -o out.json -- dd if=/dev/zero of=/dev/null bs=4M count=1
	grep -q '"name":"page_fault"' out.json || skip "no kprobes and no exceptions:page_fault_user"
	expect_json out.json 'map(select(.name == "page_fault")) | all(.pid > 0) and
		any(.process == "dd" and (.flags | startswith("write")))'
	# Each page of the buffer was touched once, in the order of its addresses.
	expect_json out.json 'map(select(.name == "page_fault" and .process == "dd")) | length > 50'
}

@test "direct writes have their bytes, their disk and the process that wrote" {
	dd if=/dev/zero of=file bs=64k count=8 oflag=direct 2>/dev/null || skip "no direct I/O here"
	sync file
	gputap trace -e block --json -o out.json -- dd if=/dev/zero of=file bs=64k count=8 oflag=direct conv=notrunc
	grep -q '"name":"write"' out.json || skip "this file is on no block device"
	expect_json out.json 'map(select(.name == "write" and .process == "dd" and .bytes > 0)) |
		(map(.bytes) | add) >= 8 * 65536 and all(.duration > 0 and .error == null and .disk != null)'
}

@test "a throttled cgroup is shown with its path" {
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	group=$root/gputap-test-$$
	[ -n "$root" ] && grep -qw cpu "$root/cgroup.controllers" || {
		root=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
		group=$root/gputap-test-$$
	}
	mkdir "$group" 2>/dev/null || skip "no cgroup can be made here"
	echo "10000 100000" >"$group/cpu.max" 2>/dev/null ||
		{ echo 100000 >"$group/cpu.cfs_period_us" && echo 10000 >"$group/cpu.cfs_quota_us"; } ||
		{ rmdir "$group" && skip "no limits of CPU time here"; }
	gputap trace -e cgroup --json -o out.json -- sh -c "echo \$\$ >$group/cgroup.procs
		timeout 1.5 sh -c 'while :; do :; done'; echo \$\$ >$root/cgroup.procs"
	rmdir "$group"
	expect_json out.json "any(.name == \"throttled\" and .count > 0 and .duration > 0 and
		.path == \"/gputap-test-$$\")"
}

@test "a cgroup that is frozen and thawed is shown: who asks for it, and when all its threads are" {
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	group=$root/gputap-freeze-$$
	[ -n "$root" ] && mkdir "$group" 2>/dev/null || skip "no cgroup of version 2 can be made here"
	[ -e "$group/cgroup.freeze" ] || { rmdir "$group" && skip "this kernel does not freeze cgroups"; }
	gputap trace -e cgroup --json -o out.json -- sh -c "sleep 60 &
		echo \$! >$group/cgroup.procs
		echo 1 >$group/cgroup.freeze; until grep -qx 'frozen 1' $group/cgroup.events; do sleep 0.05; done
		echo 0 >$group/cgroup.freeze; until grep -qx 'frozen 0' $group/cgroup.events; do sleep 0.05; done
		kill \$!; wait"
	rmdir "$group"
	expect_json out.json "map(select(((.path // \"\") | endswith(\"/gputap-freeze-$$\")) and
		(.name | endswith(\"_stall\") | not))) | map(.name) == [\"freeze\", \"frozen\", \"unfreeze\", \"thawed\"] and
		all(.pid == 0 and .cgroup > 0) and (map(.cgroup) | unique | length) == 1"
}

@test "stat summarizes faults and block I/O together" {
	gputap stat -e fault,block,power --json -o out.json -- dd if=/dev/zero of=file bs=64k count=2
	expect_status 0
	expect_json out.json '.[0].totals | map(.source) | index("fault") != null and index("block") != null and
		index("power") != null'
}
