# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The page of `gputap export --format html` and `gputap report --html`, in headless Chromium.

load helper

synthetic=$build/tests/programs/synthetic

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$BATS_TEST_TMPDIR
}

# browse FILE EXPRESSION…: a line of JSON each.
browse() {
	command -v chromium >/dev/null || skip "chromium is not installed"
	run -0 --separate-stderr "$root/tests/support/browser" "$@"
}

# make_page ITERATIONS: page.html, and rows.csv of the same capture.
make_page() {
	"$synthetic" run.gtap "$1"
	gputap export --format html -o page.html run.gtap
	expect_status 0
	gputap export --format csv -o rows.csv run.gtap
	expect_status 0
}

@test "the page has every outermost call and every operation of the GPU, in tracks" {
	make_page 10
	browse page.html 'gputap.capture.slices.count' \
		'[...Array(gputap.capture.slices.count).keys()].filter(
			(i) => gputap.capture.slices.category[i] >= FIRST_GPU &&
				gputap.capture.slices.category[i] < JOB).length' \
		'gputap.capture.shown.map((track) => gputap.capture.strings[track.label])'
	[ "${lines[1]}" = "$(grep -c '^gpu,' rows.csv)" ]
	((lines[0] > lines[1] + 90)) || fail "${lines[0]} intervals"
	[[ ${lines[2]} == *stream* && ${lines[2]} == *thread* ]] || fail "${lines[2]}"
}

@test "streams have counters of queue depth and copied bytes, devices of allocated memory" {
	make_page 4
	browse page.html 'gputap.rows.filter((track) => track.counter).map(
			(track) => gputap.capture.strings[track.label].trim())' \
		'gputap.rows.filter((track) => track.counter).every(({counter: {times, values}}) =>
			times.every((time, i) => !i || time >= times[i - 1]) && values.at(-1) === 0)' \
		'gputap.rows.filter((track) => track.counter).every(({counter}) => {
			const {times, values, peak} = counter, from = times[3], to = times[times.length - 2];
			return peakOf(counter, times[0], times.at(-1) + 1) === peak &&
				peakOf(counter, from, to) === Math.max(...values.slice(2, -2)) &&
				peakOf(counter, times[0] - 9, times[0]) === 0;
		})' \
		'highest(buildPeaks(
			Float64Array.from({length: 1000}, (_, i) => i * 7919 % 1000)), 13, 700) ===
			Math.max(...Array.from({length: 687}, (_, i) => (i + 13) * 7919 % 1000))'
	[[ ${lines[0]} == *'"queue depth (max 6)"'*'"copied bytes (max '*'"memory of GPU 0 (max '* ]] || fail "${lines[0]}"
	[ "${lines[1]}" = true ]
	[ "${lines[2]}" = true ]
	[ "${lines[3]}" = true ]
}

@test "only the tab that is chosen is visible" {
	make_page 2
	browse page.html '["timeline", "tables", "flame", "about", "timeline"].map((tab) =>
		(setTab(gputap, tab), [...document.querySelectorAll("main > section")].filter(
			(section) => section.getClientRects().length).map((section) => section.id).join()))'
	[ "$output" = '["timeline", "tables", "flame", "about", "timeline"]' ]
}

@test "a page needs no network and has no address in it" {
	make_page 2
	run ! grep -E 'https?://|src=|@import|url\(' page.html
	browse page.html 'performance.getEntriesByType("resource").length'
	[ "$output" = 0 ]
}

@test "tables have the counts of the visible time, and follow it" {
	make_page 10
	browse page.html 'setTab(gputap, "tables"), draw(gputap),
			document.querySelectorAll("#tables table").length' \
		'collectRows(gputap).flat().filter((row) => row.name === "cudaMalloc")[0].count' \
		'(setRange(gputap, gputap.capture.first, gputap.capture.first + 1000),
			collectRows(gputap).flat().reduce((sum, row) => sum + row.count, 0))'
	((lines[0] >= 2))
	[ "${lines[1]}" = "$(grep -c '^call,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,cudaMalloc,' rows.csv)" ]
	((lines[2] < lines[1])) || fail "${lines[*]}"
}

@test "a click on an operation shows the call that submitted it, and a link leads there" {
	make_page 4
	browse page.html '(() => {
			const {slices} = gputap.capture;
			const i = slices.category.findIndex((category) => category === FIRST_GPU);

			select(gputap, i, true);
			return document.getElementById("details").innerText;
		})()' \
		'(document.querySelector("#details button").click(),
			document.querySelector("#details h2").textContent)'
	[[ ${lines[0]} == *"submitted by"* && ${lines[0]} == *times* ]] || fail "${lines[0]}"
	[[ ${lines[1]} == *Launch* ]] || fail "${lines[1]}"
}

@test "the flame graph has the weight of all calls, and of the GPU under their callers" {
	make_page 10
	browse page.html 'setTab(gputap, "flame"), draw(gputap), makeFlame(gputap).weight' \
		'(document.getElementById("weight").value = "launches", makeFlame(gputap).weight)' \
		'(document.getElementById("weight").value = "gpu", makeFlame(gputap).weight > 0)'
	((lines[0] > 0))
	[ "${lines[1]}" = "$(grep -c '^call,.*LaunchKernel' rows.csv)" ]
	[ "${lines[2]}" = true ]
}

@test "light and dark differ, and the address keeps theme, table and time" {
	make_page 10
	browse --hash 'theme=light' page.html 'shot light.png' 'getComputedStyle(document.body).backgroundColor'
	local light=$output
	browse --hash 'theme=dark&tab=tables&from=100&to=5000' page.html 'shot dark.png' \
		'getComputedStyle(document.body).backgroundColor' 'location.hash'
	[ "${lines[0]}" != "$light" ]
	[ "${lines[1]}" = '"#tab=tables&theme=dark&from=100&to=5000"' ]
	run ! cmp -s light.png dark.png
}

# A script that has the lowest contrast (WCAG 2.1) of a text of the page in a theme, with the text.
contrast='(() => {
	const context = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
	const luminance = (color) => {
		context.fillStyle = color;
		context.fillRect(0, 0, 1, 1);
		const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map((value) => value / 255)
			.map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const ratio = (one, other) => {
		const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
		return (high + 0.05) / (low + 0.05);
	};
	const behind = (element) => {
		for (; element; element = element.parentElement) {
			const color = getComputedStyle(element).backgroundColor;
			if (color !== "rgba(0, 0, 0, 0)")
				return color;
		}
	};
	let lowest = [21, ""], texts = 0;
	const check = (text, background, label) => {
		texts++;
		if (ratio(text, background) < lowest[0])
			lowest = [ratio(text, background), label];
	};
	for (const element of document.querySelectorAll("body *"))
		if (element.matches("button, input, select") ||
			[...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
			check(getComputedStyle(element).color, behind(element), element.outerHTML.slice(0, 80));
	for (const name of ["--text", "--faint", "--warning"])
		check(style(name), style("--background"), name);
	for (let hue = 0; hue < 360; hue++)
		for (const lightness of [0.4, 0.42, 0.72])
			for (const saturation of [0, 0.55, 0.6]) {
				const {fill, text} = fillOf(hue, saturation, lightness);
				check(text, fill, `hue ${hue}`);
			}
	for (let i = 0; i < gputap.capture.slices.count; i++)
		check(colorOf(gputap, i).text, colorOf(gputap, i).fill, `slice ${i}`);
	return texts > 3000 ? lowest[0] >= 4.5 || lowest : texts;
})()'

@test "each text has a contrast of 4.5 : 1 at least, in both themes and all tabs" {
	make_page 10
	for theme in light dark; do
		browse --hash "theme=$theme" page.html "$contrast" 'setTab(gputap, "tables"), 0' "$contrast" \
			'setTab(gputap, "flame"), 0' "$contrast" 'setTab(gputap, "about"), 0' "$contrast" \
			'[select(gputap, 3), 0][1]' "$contrast"
		for line in 0 2 4 6 8; do
			[ "${lines[line]}" = true ] || fail "$theme: ${lines[*]}"
		done
	done
}

@test "a level of detail has the begin, the end and the longest slice of each group" {
	make_page 2
	browse page.html '(() => {
		const count = 5000, order = Uint32Array.from({length: count + 20}, (_, i) => (i + 10) % (count + 20));
		const slices = {start: new Float64Array(count + 20), duration: new Float64Array(count + 20)};
		order.forEach((slice, i) => {
			slices.start[slice] = i * 10;
			slices.duration[slice] = i * 7919 % 1009;
		});
		const levels = buildLevels(slices, order, 10, 10 + count);
		let groups = 0;
		levels.forEach(({start, end, longest}, level) => {
			const size = GROUP ** level;
			for (let group = 0; group * size < count; group++, groups++) {
				const part = [...order.subarray(10 + group * size, Math.min(10 + (group + 1) * size, 10 + count))];
				const ends = part.map((slice) => slices.start[slice] + slices.duration[slice]);
				if (start[group] !== slices.start[part[0]] || end[group] !== Math.max(...ends) ||
					slices.duration[longest[group]] !== Math.max(...part.map((slice) => slices.duration[slice])) ||
					!part.includes(longest[group]))
					throw new Error(`level ${level}, group ${group}`);
			}
			if (start.length !== Math.ceil(count / size))
				throw new Error(`level ${level} has ${start.length} groups`);
		});
		return [levels.length > 2, levels.at(-1).start.length <= GROUP, groups > count];
	})()'
	[ "$output" = '[true, true, true]' ] || [ "$output" = '[true,true,true]' ] || fail "$output"
}

@test "names with markup are text" {
	mkdir '<'
	"$synthetic" '</script><img src=x onerror=document.title=1>.gtap' 2
	gputap export --format html -o page.html '</script><img src=x onerror=document.title=1>.gtap'
	expect_status 0
	run ! grep -q '<img' page.html
	browse page.html 'setTab(gputap, "about"), document.querySelectorAll("img").length' \
		'document.getElementById("about").innerText' 'document.title'
	[ "${lines[0]}" = 0 ]
	[[ ${lines[1]} == *'</script><img src=x'* && ${lines[2]} != '"1"' ]] || fail "${lines[*]}"
}

@test "a capture with hostile names has the same page but for these" {
	"$synthetic" run.gtap 4 hostile
	gputap export --format html -o page.html run.gtap
	expect_status 0
	browse page.html 'gputap.capture.slices.count' 'gputap.capture.strings.join()' \
		'(setTab(gputap, "tables"), draw(gputap), document.querySelectorAll("f").length)'
	((lines[0] > 40))
	[[ ${lines[1]} == *'c,d;e\n<f>&'*'\ufffd'* || ${lines[1]} == *'c,d;e\n<f>&'*$'\uFFFD'* ]] || fail "${lines[1]}"
	[ "${lines[2]}" = 0 ]
}

@test "a capture with losses says so, an incomplete file that it cannot be shown" {
	make_page 2
	browse page.html 'document.getElementById("losses").innerText'
	[ "$output" = '"Incomplete: 3 of 23 calls were lost, 0 filtered, 0 unfinished; 0 other events were lost.\n"' ] || fail "$output"
	sed 's/\(id="data">.\{200\}\)[^<]*/\1/' page.html >truncated.html
	browse truncated.html 'document.getElementById("losses").innerText'
	[[ $output == *"This file cannot be shown"* ]] || fail "$output"
}

@test "an empty capture is a page without intervals" {
	"$synthetic" run.gtap 0
	gputap export --format html -o page.html run.gtap
	expect_status 0
	browse page.html 'document.documentElement.dataset.ready'
	[ "$output" = '"true"' ]
}

@test "report writes the page beside the report" {
	"$synthetic" run.gtap 4
	gputap report --html page.html run.gtap
	expect_status 0
	gputap export --format html -o other.html run.gtap
	cmp page.html other.html
}
