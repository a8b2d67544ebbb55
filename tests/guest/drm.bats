# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The sources fence, drm and vblank, compared with the ledger of the fake GPU.

load ../cli/helper
load guest

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# use_output: the events of out.json, in events.json; the ledger in ledger.json. jq takes long to start.
use_output() {
	grep -F '"schema":"gputap.event.1"' out.json >events.json || :
	"$fire" ledger >ledger.json
}

# trace SOURCES COMMAND…: use the output of a session with a command of fire.
trace() {
	local sources=$1
	shift
	gputap trace --gpu nvidia -e "$sources" --json -o out.json -- "$fire" "$@"
	expect_status 0
	use_output
}

# record SOURCES COMMAND…: the same, with the capture run.gtap for other commands.
record() {
	local sources=$1
	shift
	gputap trace --gpu nvidia -e "$sources" -o run.gtap -- "$fire" "$@"
	expect_status 0
	"$build/gputap" trace --from run.gtap --json >out.json
	use_output
}

# holds FILTER…: statements about $events (an array) and $ledger that are true.
holds() {
	local failed
	failed=$(first_false '$ledgers[0] as $ledger |' -n --slurpfile events events.json \
		--slurpfile ledgers ledger.json -- "$@")
	[ -z "$failed" ] || fail "not true: $failed: $(head -c 4000 ledger.json)"
}

# totals SOURCE: recorded, lost and unattributed events.
totals() {
	grep -F '"schema":"gputap.totals.1"' out.json | jq -c --arg source "$1" \
		'select(.source == $source) | [.recorded, .lost, .unattributed]'
}

@test "jobs have the count, order, ring and process of the ledger, and their times are in its brackets" {
	need_modules fakegpu
	trace drm submit 0 200 20
	filters=('$ledger.jobs | length == 200')
	for step in queue run done; do
		filters+=('($events | map(select(.name == "'$step'") | [.context, .seqno, .ring, .pid])) ==
			($ledger.jobs | map([.context, .seqno, .ring, .pid]))'
			'($events | map(select(.name == "'$step'") | .time)) as $times |
				[range(200)] | map($ledger.jobs[.].'$step' as $bracket |
					$bracket[0] <= $times[.] and $times[.] <= $bracket[1]) |
				(map(select(.)) | length) >= 190')
	done
	# The times of a job are those between its steps.
	holds "${filters[@]}" '$events | all(.process == "fire" and .device == "fakegpu")' \
		'($events | map(select(.name == "run") | .queued)) as $queued |
			[range(200)] | all($ledger.jobs[.] as $job | $queued[.] <= $job.run[1] - $job.queue[0] and
				$queued[.] >= $job.run[0] - $job.queue[1])'
	[ "$(totals drm)" = "[$(wc -l <events.json),0,0]" ]
}

@test "jobs of both rings are shown, also those that end while another one does" {
	as_under_6_12
	need_modules fakegpu
	trace drm chain 20 100
	holds '($events | map(select(.name == "done") | .ring) | group_by(.) | map([.[0], length])) ==
		[["copy", 20], ["render", 20]]' \
		'$events | all(.name != "canceled")'
	[ "$(totals drm)" = "[$(wc -l <events.json),0,0]" ]
}

@test "a dependency has the job that it waits for, and blocks it until that is done" {
	need_modules fakegpu
	trace drm blocked 10 300
	# Also: a job is blocked no longer than it is queued.
	holds '($ledger.jobs | map(select(.dependencies != [])) |
			map([.context, .seqno, .dependencies[0][0], .dependencies[0][1]]) | sort) ==
		($events | map(select(.name == "dependency" or .name == "blocked") |
			[.context, .seqno, .on_context, .on_seqno]) | unique)' \
		'$events | map(select(.name == "blocked")) | length == 10' \
		'($events | map(select(.name == "blocked") | [.context, .seqno])) ==
			($events | map(select(.name == "unblocked") | [.context, .seqno]))' \
		'$events | map(select(.name == "run")) | all(.blocked <= .queued)' \
		'$events | map(select(.name == "unblocked") | .blocked) | all(. > 0)'
}

@test "a job that waits for another process has that process as the one that blocks it" {
	as_under_6_12
	need_modules fakegpu
	gputap stat --gpu nvidia -e drm --json -o stat.json -- "$fire" sync-file 300
	expect_status 0
	"$fire" ledger >ledger.json
	run -0 jq --slurpfile ledger ledger.json '.sources[0].blocked[0] |
		[.job.pid, .job.ring, .by.pid, .by.ring] == ($ledger[0].jobs |
			[.[1].pid, .[1].ring, .[0].pid, .[0].ring])' stat.json
	[ "$output" = true ]
}

@test "a timeout is reported, and the job has its error" {
	need_modules fakegpu
	record drm hang 0
	holds '($events | map(select(.name == "timeout") | [.context, .seqno])) ==
		[$ledger.jobs[0] | [.context, .seqno]]' \
		'($events | map(select(.name == "done") | [.seqno, .error]) | sort) ==
			[[1, "ETIME"], [2, null]]'
	gputap stat --from run.gtap --json -o stat.json
	run -0 jq -c '.sources[0].rings | map([.ring, .jobs, .done, .errors, .timeouts])' stat.json
	[ "$output" = '[["render",2,2,1,1]]' ]
}

@test "stat has the jobs of each ring and process, and how many were on the hardware" {
	as_under_6_12
	need_modules fakegpu
	gputap stat --gpu nvidia -e drm --json -o stat.json -- "$fire" submit 1 50 200
	run -0 jq -c '.sources[0].rings | map([.device, .ring, .jobs, .done, .queued.count,
		.on_hardware.count])' stat.json
	[ "$output" = '[["fakegpu","copy",50,50,50,50]]' ]
	run -0 jq '.sources[0].rings[0] | .max_on_hardware <= 2 and .max_on_hardware >= 1 and
		.max_depth >= 1 and .on_hardware.p50 >= 200000' stat.json
	[ "$output" = true ]
	run -0 jq -c '.sources[0].processes | map([.process, .jobs])' stat.json
	[ "$output" = '[["fire",50]]' ]
	gputap stat --gpu nvidia -e drm -o table -- "$fire" blocked 5 2000
	grep -qE '^fakegpu +render +5 +5 ' table
	grep -qE '^fakegpu +copy +on the hardware +5 ' table
	grep -qE '^[0-9]+ fire copy +[0-9]+ fire render ' table
}

# account_of_fences COUNT: each of the four events of so many fences is shown or counted as lost.
account_of_fences() {
	local shown recorded lost unknown
	shown=$(grep -c '"schema":"gputap.event.1"' out.json)
	read -r recorded lost unknown < <(totals fence | tr -d '[]' | tr , ' ')
	[ "$shown" = "$recorded" ] || fail "$shown shown, $recorded recorded"
	[ $((recorded + lost + unknown)) = $((4 * $1)) ] || fail "$recorded + $lost + $unknown"
}

@test "each fence that a program makes is shown or counted as lost, at full speed" {
	need_modules fakegpu
	gputap trace --gpu nvidia -e fence --json -o out.json -- "$fire" fences 20000 0
	account_of_fences 20000
	expect_ledger '.fences[1] | [.created, .enabled, .signaled, .released] == [20000, 20000, 20000, 20000]'
}

@test "with a ring that is full, fences are lost, and each one is counted" {
	need_modules fakegpu
	"$build/gputap" trace --gpu nvidia --ring-size 64K -e fence --json -o out.json -- sh -c "
		touch runs; until [ -e go ]; do sleep 0.05; done; $fire fences 5000 0; touch done" 3>&- &
	tracer=$!
	wait_for [ -e runs ]
	kill -STOP $tracer # nobody reads the ring
	touch go
	wait_for [ -e done ]
	kill -CONT $tracer
	wait $tracer
	account_of_fences 5000
	[ "$(totals fence | jq '.[1] > 0')" = true ] || fail "nothing was lost: $(totals fence)"
	expect_ledger '.fences[1] | .created + .enabled + .signaled + .released == 20000'
}

@test "fences have their driver and timeline, also when they are signaled, and the order of their life" {
	need_modules fakegpu
	trace fence fences 100 1
	holds '($events | map(select(.timeline == "flood") | .name) | group_by(.) | map([.[0], length])) ==
		[["destroy", 100], ["enable_signal", 100], ["init", 100], ["signaled", 100],
		 ["wait_end", 100], ["wait_start", 100]]' \
		'$events | map(select(.timeline == "flood")) | all(.driver == "fakegpu" and .pid > 0)' \
		'$events | map(select(.timeline == "flood" and (.name == "init" or .name == "signaled" or
			.name == "destroy"))) | sort_by(.seqno) | [.[].name] == [range(100) | "init", "signaled", "destroy"]'
}

@test "a wait lasts from wait_start to wait_end, and stat has its distribution" {
	need_modules fakegpu
	trace fence wait 300000
	holds '$events | map(select(.name == "wait_end")) | length == 1 and .[0].duration > 10000000'
	gputap stat --gpu nvidia -e fence --json -o stat.json -- "$fire" fences 50 1
	run -0 jq -c '.sources[0] | (.timelines | map(select(.timeline == "flood"))[0] |
		[.driver, .fences, .signaled, .waits.count, .latency.count]),
		(.processes | map([.process, .waits.count]))' stat.json
	[ "$output" = $'["fakegpu",50,50,50,50]\n[["fire",50]]' ]
}

@test "jobs and fences have the same key and the same process" {
	need_modules fakegpu
	trace drm,fence submit 0 20 50
	holds '($events | map(select(.source == "drm" and .name == "queue") | [.context, .seqno, .pid])) -
		($events | map(select(.name == "signaled") | [.context, .seqno, .pid])) == []'
}

@test "vblanks have the sequence numbers of the ledger, and their device" {
	need_modules fakegpu
	"$build/gputap" trace -e vblank --json -o out.json --duration 5s 3>&- &
	tracer=$!
	while kill -0 $tracer 2>/dev/null; do
		"$fire" vblank 5
	done
	wait $tracer
	use_output
	# The last: the time of a vblank is that of the interrupt, not that of the event.
	holds '$events | map(select(.name == "vblank" and .pid == 0)) | length >= 20' \
		'($events | map(select(.name == "vblank") | .sequence)) - ($ledger.vblanks | map(.sequence)) == []' \
		'$events | map(select(.name == "vblank")) | (map(select(.device == "fakegpu")) | length) == length' \
		'[$events[] | select(.name == "vblank") | . as $vblank |
		($ledger.vblanks[] | select(.sequence == $vblank.sequence)).event[1] >= $vblank.timestamp] | all'
}

@test "events of vblanks belong to the process that asked, and have both latencies" {
	need_modules fakegpu
	record vblank vblank 10
	holds '($events | map(.name) | group_by(.) | map([.[0], length])) ==
		[["vblank_delivered", 10], ["vblank_queued", 10]]' \
		'$events | all(.process == "fire" and .device == "fakegpu")' \
		'$events | map(select(.name == "vblank_delivered")) | all(.late > 0 and .queued > 0 and
			.queued < 1000000000)'
	gputap stat --from run.gtap --json -o stat.json
	run -0 jq -c '.sources[0].crtcs | map([.device, .crtc, .queued, .delivered, .delivery_latency.count,
		.queue_latency.count])' stat.json
	[ "$output" = '[["fakegpu",0,10,10,10,10]]' ]
}

@test "modules that are loaded during the session are traced from then on" {
	need_modules fakegpu
	# Drivers that other tests loaded use gpu_sched.
	modprobe -r fakegpu amdgpu xe 2>/dev/null || :
	[ ! -e /sys/module/gpu_sched ] || modprobe -r gpu_sched
	gputap trace --gpu nvidia -e drm --json -o out.json -- sh -c "modprobe fakegpu
		for try in \$(seq 300); do
			$fire submit 0 1 20
			! grep -q '\"name\":\"done\"' out.json || break
			sleep 0.1
		done
		$fire submit 1 5 20"
	expect_status 0
	run -0 jq -s 'map(select(.name == "done" and .ring == "copy")) | length == 5' out.json
	[ "$output" = true ]
	grep -q 'drm: the module gpu_sched is not loaded (events are shown once it is)' <<<"$stderr"
}

@test "jobs of a process that is killed are done or canceled, each once" {
	need_modules fakegpu
	jobs=/sys/kernel/debug/fakegpu/jobs
	# So many jobs that the process cannot end before it is killed.
	gputap trace --gpu nvidia -e drm --json -o out.json -- sh -c "$fire submit 0 600 100000 &
		until [ \$(wc -l <$jobs) = 600 ] && grep -q '\"done\":\[[1-9]' $jobs; do sleep 0.1; done
		kill -9 \$!; wait
		while grep -q '\"done\":\[[0-9]*,0\]' $jobs; do sleep 0.1; done"
	use_output
	# The kernel waits a second before it kills an entity.
	holds '$ledger.jobs | length == 600' '($events | map(select(.name == "done" or .name == "canceled") | .seqno) | sort) ==
		($ledger.jobs | map(.seqno))' \
		'$events | map(select(.name == "canceled")) | length > 0 and all(.ran == 0)' \
		'$events | map(select(.name == "done")) | all(.ran > 0)'
}
