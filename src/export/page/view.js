/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
"use strict";
/*
 * The view of a capture. The element #data has the records, compressed and in Base64, that
 * src/export/html.c writes; its head describes them. Text of the capture is only ever drawn or set
 * as textContent.
 */

const CATEGORIES = ["api", "launch", "copy", "blocked", "wait", "syscall", "fault", "off CPU",
	"kernel", "copy", "H2D", "D2H", "D2D", "P2P", "set", "graph", "job"];
const FIRST_GPU = 8, JOB = 16, CALLS = 5;
const TRACK_STREAM = 4, TRACK_MEMORY = 6; /* rings are between them */
const FIRST_COPY = 9, LAST_COPY = 13;
const FAILED = 1, EXACT = 2, ESTIMATED = 4;
const GROUP = 8; /* slices, or groups of them, that one group of the next level summarizes */

/* ---- records ------------------------------------------------------------------------------- */

/* Growing columns of numbers. */
class Columns {
	constructor(types) {
		this.types = types;
		this.count = 0;
		this.size = 1 << 16;
		for (const name in types)
			this[name] = new types[name](this.size);
	}
	add() {
		if (this.count === this.size) {
			this.size *= 2;
			for (const name in this.types) {
				const larger = new this.types[name](this.size);

				larger.set(this[name]);
				this[name] = larger;
			}
		}
		return this.count++;
	}
}

async function unpack(text) {
	const binary = atob(text);
	const packed = new Uint8Array(binary.length);

	for (let i = 0; i < binary.length; i++)
		packed[i] = binary.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function parse(bytes) {
	const capture = {
		strings: [], tracks: [], stacks: [null], about: {},
		slices: new Columns({
			track: Uint32Array, name: Uint32Array, start: Float64Array, duration: Float64Array,
			category: Uint8Array, flags: Uint8Array, stack: Uint32Array, bytes: Float64Array,
			number: Float64Array, call: Float64Array, wait: Float64Array,
		}),
	};
	const decoder = new TextDecoder();
	const slices = capture.slices;
	let at = 0, time = 0, valueTime = 0;

	function number() {
		let value = 0, scale = 1;

		for (;;) {
			const byte = bytes[at++];

			value += (byte & 0x7f) * scale;
			if (byte < 0x80)
				return value;
			scale *= 128;
		}
	}
	function signed() {
		const value = number();

		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
	function text() {
		const length = number();

		at += length;
		return decoder.decode(bytes.subarray(at - length, at));
	}
	function slice() {
		const i = slices.add();

		slices.track[i] = number();
		slices.name[i] = number();
		slices.category[i] = number();
		slices.flags[i] = number();
		time += signed();
		slices.start[i] = time;
		slices.duration[i] = number();
		slices.stack[i] = number();
		slices.bytes[i] = number();
		slices.number[i] = number();
		slices.call[i] = number();
		slices.wait[i] = number();
	}
	function stack() {
		const frames = [];

		for (let left = number(); left > 0; left--)
			frames.push(number());
		capture.stacks.push(frames);
	}
	function value() {
		const track = capture.tracks[number()];

		track.changes = track.changes || {times: [], values: []};
		valueTime += signed();
		/* What comes late counts from then on. */
		track.changes.times.push(Math.max(valueTime, track.changes.times.at(-1) || 0));
		track.changes.values.push(number());
	}
	const records = {
		1: () => capture.strings.push(text()),
		2: () => capture.tracks.push({kind: number(), process: number(), label: number(),
			group: number()}),
		3: slice,
		4: stack,
		5: () => { capture.about = JSON.parse(text()); },
		6: value,
	};

	while (at < bytes.length)
		records[bytes[at++]]();
	return capture;
}

/* ---- tracks -------------------------------------------------------------------------------- */

/*
 * A pyramid over the slices of a track, which are in the order of their starts: the groups of a
 * level have the begin, the end and the longest slice of GROUP groups of the level below.
 */
function buildLevels(slices, order, from, to) {
	const levels = [];
	let count = to - from;
	let start = new Float64Array(count), end = new Float64Array(count);
	let longest = order.subarray(from, to);

	for (let i = 0; i < count; i++) {
		start[i] = slices.start[longest[i]];
		end[i] = start[i] + slices.duration[longest[i]];
	}
	levels.push({start, end, longest});
	while (count > GROUP) {
		const groups = Math.ceil(count / GROUP);
		const level = {
			start: new Float64Array(groups), end: new Float64Array(groups),
			longest: new Uint32Array(groups),
		};

		for (let group = 0; group < groups; group++) {
			const last = Math.min(count, (group + 1) * GROUP);
			let best = group * GROUP, latest = end[best];

			for (let i = best + 1; i < last; i++) {
				if (slices.duration[longest[i]] > slices.duration[longest[best]])
					best = i;
				latest = Math.max(latest, end[i]);
			}
			level.start[group] = start[group * GROUP];
			level.end[group] = latest;
			level.longest[group] = longest[best];
		}
		levels.push(level);
		({start, end, longest} = level);
		count = groups;
	}
	return levels;
}

/* A list of tracks with their slices, grouped by process, threads before streams. */
function arrange(capture) {
	const {slices, tracks} = capture;
	const counts = new Uint32Array(tracks.length + 1);
	const order = new Uint32Array(slices.count);

	for (let i = 0; i < slices.count; i++)
		counts[slices.track[i] + 1]++;
	for (let track = 0; track < tracks.length; track++)
		counts[track + 1] += counts[track];
	const next = counts.slice();

	for (let i = 0; i < slices.count; i++)
		order[next[slices.track[i]]++] = i;
	tracks.forEach((track, number) => {
		const part = order.subarray(counts[number], counts[number + 1]);
		let sorted = true;

		for (let i = 1; i < part.length && sorted; i++)
			sorted = slices.start[part[i - 1]] <= slices.start[part[i]];
		if (!sorted)
			part.sort((a, b) => slices.start[a] - slices.start[b]);
		track.number = number;
		track.from = counts[number];
		track.to = counts[number + 1];
		track.levels = buildLevels(slices, order, track.from, track.to);
	});
	capture.order = order;
	capture.shown = tracks.filter((track) => track.to > track.from);
	capture.shown.sort((a, b) => a.process - b.process || rank(a) - rank(b) || a.number - b.number);
}

/* The tracks of a thread (its group) stay together; streams and rings follow. */
function rank(track) {
	return track.kind >= TRACK_STREAM ? 2 ** 40 * track.kind + track.group :
		track.group * 8 + track.kind;
}

function findRange(capture) {
	const {slices} = capture;
	let first = Infinity, last = -Infinity;

	for (let i = 0; i < slices.count; i++) {
		first = Math.min(first, slices.start[i]);
		last = Math.max(last, slices.start[i] + slices.duration[i]);
	}
	capture.first = slices.count ? first : 0;
	capture.last = slices.count ? Math.max(last, first + 1) : 1;
}

/* Calls by their numbers, and the operations that a call submitted. */
function link(capture) {
	const {slices} = capture;
	const calls = new Map(), submitted = new Map(), waited = new Map();

	for (let i = 0; i < slices.count; i++) {
		if (slices.category[i] < CALLS && slices.number[i])
			calls.set(slices.number[i], i);
		if (slices.category[i] < FIRST_GPU)
			continue;
		if (slices.call[i])
			submitted.set(slices.call[i], i);
		if (slices.wait[i])
			waited.set(slices.wait[i], i);
	}
	Object.assign(capture, {calls, submitted, waited});
}

/* ---- counters ------------------------------------------------------------------------------ */

/* A pyramid over values: each of a level is the highest of GROUP values of the level below. */
function buildPeaks(values) {
	const peaks = [values];

	for (let below = values; below.length > GROUP;) {
		const level = new Float64Array(Math.ceil(below.length / GROUP));

		for (let i = 0; i < below.length; i++)
			level[Math.floor(i / GROUP)] = Math.max(level[Math.floor(i / GROUP)], below[i]);
		peaks.push(level);
		below = level;
	}
	return peaks;
}

/* The highest of the values from `first` to before `last`; 0 if there is none. */
function highest(peaks, first, last) {
	let best = 0;

	for (let level = 0; first < last; level++) {
		const values = peaks[level], isTop = level === peaks.length - 1;

		while (first < last && (isTop || first % GROUP))
			best = Math.max(best, values[first++]);
		while (first < last && last % GROUP)
			best = Math.max(best, values[--last]);
		first /= GROUP;
		last /= GROUP;
	}
	return best;
}

/* The highest value in a range of time: that at its begin, and those that come in it. */
function peakOf(counter, from, to) {
	const first = lowerBound(counter.times, from), last = lowerBound(counter.times, to);

	return Math.max(first ? counter.values[first - 1] : 0, highest(counter.peaks, first, last));
}

/* A row of the timeline for a counter. `after`: the track below which it is. */
function addCounter(capture, after, label, unit, times, values) {
	const peaks = buildPeaks(values);
	const peak = highest(peaks, 0, values.length);

	if (!peak)
		return;
	capture.strings.push(`${label} (max ${unit(peak)})`);
	capture.shown.push({
		kind: after.kind, group: after.group, number: after.number, process: after.process,
		label: capture.strings.length - 1, from: 0, to: 0,
		levels: [{start: [], end: [], longest: []}],
		counter: {times, values, peaks, peak, unit},
	});
}

/* Operations of a stream that were submitted and have not ended. */
function addQueueDepth(capture, track) {
	const {slices, order, calls} = capture;
	const begins = new Float64Array(track.to - track.from), ends = begins.slice();
	const times = new Float64Array(2 * begins.length), values = times.slice();

	for (let k = 0; k < begins.length; k++) {
		const i = order[track.from + k], call = calls.get(slices.call[i]);

		ends[k] = slices.start[i] + slices.duration[i];
		begins[k] = call === undefined ? slices.start[i] : Math.min(slices.start[call], ends[k]);
	}
	begins.sort();
	ends.sort();
	for (let at = 0, begun = 0, ended = 0; at < times.length; at++) {
		if (begun < begins.length && begins[begun] <= ends[ended])
			times[at] = begins[begun++];
		else
			times[at] = ends[ended++];
		values[at] = begun - ended;
	}
	addCounter(capture, track, "  queue depth", String, times, values);
}

/* While a copy runs; not of those whose times are only bounds. */
function addBandwidth(capture, track) {
	const {slices, order} = capture;
	const times = [], values = [];

	for (let k = track.from; k < track.to; k++) {
		const i = order[k];

		if (slices.category[i] < FIRST_COPY || slices.category[i] > LAST_COPY ||
			slices.flags[i] & ESTIMATED || !slices.bytes[i] || !slices.duration[i])
			continue;
		times.push(slices.start[i], slices.start[i] + slices.duration[i]);
		values.push(slices.bytes[i] / slices.duration[i] * 1e9, 0);
	}
	addCounter(capture, track, "  copied bytes", (rate) => `${size(rate)}/s`,
		Float64Array.from(times), Float64Array.from(values));
}

function addCounters(capture) {
	for (const track of capture.tracks) {
		if (track.kind === TRACK_STREAM) {
			addQueueDepth(capture, track);
			addBandwidth(capture, track);
		} else if (track.kind === TRACK_MEMORY && track.changes) {
			addCounter(capture, track, capture.strings[track.label], size,
				Float64Array.from(track.changes.times),
				Float64Array.from(track.changes.values));
		}
	}
	/* The sort is stable: counters come after their tracks. */
	capture.shown.sort((a, b) => a.process - b.process || rank(a) - rank(b) || a.number - b.number);
}

/* ---- text ---------------------------------------------------------------------------------- */

function duration(ns) {
	for (const [unit, scale] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
		if (Math.abs(ns) >= scale)
			return `${(ns / scale).toPrecision(4)} ${unit}`;
	return `${Math.round(ns)} ns`;
}

function size(bytes) {
	for (const [unit, scale] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
		if (bytes >= scale)
			return `${(bytes / scale).toFixed(1)} ${unit}`;
	return `${bytes} B`;
}

function make(tag, text) {
	const element = document.createElement(tag);

	if (text !== undefined)
		element.textContent = text;
	return element;
}

/* ---- colors -------------------------------------------------------------------------------- */

const HUES = {api: 210, launch: 265, copy: 150, blocked: 20, wait: 45, syscall: 190, fault: 330,
	"off CPU": 0, H2D: 140, D2H: 165, D2D: 120, P2P: 100, set: 80, graph: 285, job: 300};

function hash(text) {
	let value = 0;

	for (let i = 0; i < text.length; i++)
		value = (value * 31 + text.charCodeAt(i)) | 0;
	return value >>> 0;
}

/* Relative luminance of hsl(hue saturation lightness): WCAG 2.1. */
function luminanceOf(hue, saturation, lightness) {
	const chroma = saturation * Math.min(lightness, 1 - lightness);
	const channel = (offset) => {
		const k = (offset + hue / 30) % 12;
		const value = lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1));

		return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	};

	return 0.2126 * channel(0) + 0.7152 * channel(8) + 0.0722 * channel(4);
}

/* A color with the one for text on it: black or white, whose contrast is at least 4.5 : 1. */
function fillOf(hue, saturation, lightness) {
	return {
		fill: `hsl(${hue} ${saturation * 100}% ${lightness * 100}%)`,
		text: luminanceOf(hue, saturation, lightness) > 0.179 ? "#000" : "#fff",
	};
}

/* Kernels differ by their names, other slices by their categories. */
function colorOf(view, i) {
	const {slices, strings} = view.capture;
	const category = slices.category[i];
	const name = slices.name[i];
	const key = category === FIRST_GPU ? 1000 + name : category;
	let color = view.colors.get(key);

	if (!color) {
		const hue = category === FIRST_GPU ? hash(strings[name]) % 360 : HUES[CATEGORIES[category]];

		color = fillOf(hue, category === 7 ? 0 : 0.55, view.dark ? 0.42 : 0.72);
		view.colors.set(key, color);
	}
	return color;
}

/* ---- timeline ------------------------------------------------------------------------------ */

const ROW = 20, RULER = 24, LABELS = 240;

function lowerBound(array, value) {
	let low = 0, high = array.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (array[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The finest level of a track with no more groups in a range than the range has pixels. */
function chooseLevel(track, from, to, pixels) {
	for (const level of track.levels) {
		const first = Math.max(0, lowerBound(level.start, from) - 1);
		const last = lowerBound(level.start, to);

		if (last - first <= 2 * pixels)
			return {level, first, last};
	}
	return null;
}

function fit(canvas, height) {
	const ratio = window.devicePixelRatio || 1;
	const width = canvas.clientWidth;

	canvas.width = Math.max(1, Math.round(width * ratio));
	canvas.height = Math.max(1, Math.round(height * ratio));
	const context = canvas.getContext("2d");

	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = "11px system-ui, sans-serif";
	context.textBaseline = "middle";
	return {context, width, height};
}

function style(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function drawRuler(view, paint) {
	const {context, width} = paint;
	const span = view.to - view.from;
	const pixels = width - LABELS;
	let step = 10 ** Math.floor(Math.log10(span / pixels * 100));

	while (step / span * pixels < 90)
		step *= step / span * pixels < 45 ? 5 : 2;
	context.fillStyle = style("--faint");
	context.strokeStyle = style("--line");
	const origin = view.capture.first;

	for (let at = Math.ceil((view.from - origin) / step) * step; at + origin < view.to; at += step) {
		const x = LABELS + (at + origin - view.from) / span * pixels;

		context.beginPath();
		context.moveTo(x, RULER - 6);
		context.lineTo(x, paint.height);
		context.stroke();
		context.fillText(duration(at), x + 3, RULER / 2);
	}
}

function drawSlice(view, paint, i, x, y, width) {
	const {context} = paint;
	const {slices, strings} = view.capture;
	const name = strings[slices.name[i]];
	const found = view.search && name.toLowerCase().includes(view.search);

	context.globalAlpha = view.search && !found ? 0.25 : 1;
	const color = colorOf(view, i);

	context.fillStyle = color.fill;
	context.fillRect(x, y + 1, Math.max(width, 1), ROW - 3);
	if (slices.flags[i] & FAILED) {
		context.fillStyle = style("--warning");
		context.fillRect(x, y + ROW - 5, Math.max(width, 1), 3);
	}
	if (width > 30) {
		context.save();
		context.beginPath();
		context.rect(x, y, width - 2, ROW);
		context.clip();
		context.fillStyle = color.text;
		context.fillText(name, Math.max(x, LABELS) + 3, y + ROW / 2);
		context.restore();
	}
	if (view.selected === i) {
		context.strokeStyle = style("--accent");
		context.lineWidth = 2;
		context.strokeRect(x, y + 1, Math.max(width, 2), ROW - 3);
		context.lineWidth = 1;
	}
	context.globalAlpha = 1;
}

function drawTrack(view, paint, track, y) {
	const pixels = paint.width - LABELS;
	const scale = pixels / (view.to - view.from);
	const choice = chooseLevel(track, view.from, view.to, pixels);
	let drawnTo = -1;

	if (!choice)
		return;
	for (let group = choice.first; group < choice.last; group++) {
		const start = choice.level.start[group], end = choice.level.end[group];

		if (end < view.from)
			continue;
		const x = LABELS + Math.max(0, (start - view.from) * scale);
		const right = LABELS + Math.min(pixels, (end - view.from) * scale);

		/* What ends in the last pixel that was drawn cannot be seen. */
		if (right <= drawnTo)
			continue;
		drawSlice(view, paint, choice.level.longest[group], x, y, right - x);
		drawnTo = Math.max(drawnTo, Math.ceil(right));
	}
}

/* A column per pixel, as high as the highest value of its time. */
function drawCounter(view, paint, counter, y) {
	const pixels = paint.width - LABELS;
	const step = (view.to - view.from) / pixels;

	paint.context.fillStyle = style("--accent");
	paint.context.globalAlpha = 0.5;
	for (let x = 0; x < pixels; x++) {
		const value = peakOf(counter, view.from + x * step, view.from + (x + 1) * step);
		const height = value && Math.max(1, (ROW - 3) * value / counter.peak);

		paint.context.fillRect(LABELS + x, y + ROW - 2 - height, 1, height);
	}
	paint.context.globalAlpha = 1;
}

/* "queue depth: 3" of the counter at a point of the canvas; "": there is none. */
function counterAt(view, x, y) {
	const track = view.rows[Math.floor((y - RULER + view.scroll) / ROW)];
	const step = (view.to - view.from) / (view.paint.width - LABELS);
	const time = view.from + (x - LABELS) * step;

	if (!track || !track.counter || x < LABELS || y < RULER)
		return "";
	return track.counter.unit(peakOf(track.counter, time, time + step));
}

/* The position of a slice on the canvas; null: its track is not shown. */
function place(view, paint, i) {
	const {slices} = view.capture;
	const row = view.rows.findIndex((track) => track.number === slices.track[i]);
	const scale = (paint.width - LABELS) / (view.to - view.from);

	if (row < 0)
		return null;
	return {
		x: LABELS + (slices.start[i] - view.from) * scale,
		end: LABELS + (slices.start[i] + slices.duration[i] - view.from) * scale,
		y: RULER + row * ROW - view.scroll + ROW / 2,
	};
}

function drawArrow(view, paint, from, to) {
	const start = place(view, paint, from), end = place(view, paint, to);
	const {context} = paint;

	if (!start || !end)
		return;
	context.strokeStyle = style("--accent");
	context.beginPath();
	context.moveTo(start.x, start.y);
	context.bezierCurveTo(start.x + 30, start.y, end.x - 30, end.y, end.x, end.y);
	context.stroke();
}

/* From the call that submitted an operation, and to the call that waited for it. */
function drawLinks(view, paint) {
	const {slices, calls, submitted} = view.capture;
	const i = view.selected;

	if (i < 0)
		return;
	const operation = slices.category[i] >= FIRST_GPU ? i : submitted.get(slices.number[i]);

	if (operation === undefined)
		return;
	const call = calls.get(slices.call[operation]), wait = calls.get(slices.wait[operation]);

	if (call !== undefined)
		drawArrow(view, paint, call, operation);
	if (wait !== undefined)
		drawArrow(view, paint, operation, wait);
}

function drawLabels(view, paint) {
	const {context} = paint;
	const {strings} = view.capture;
	let process = -1;

	context.fillStyle = style("--background");
	context.fillRect(0, RULER, LABELS - 1, paint.height);
	view.rows.forEach((track, row) => {
		const y = RULER + row * ROW - view.scroll;

		if (y < RULER - ROW || y > paint.height)
			return;
		context.save();
		context.beginPath();
		context.rect(0, RULER, LABELS - 6, paint.height);
		context.clip();
		if (track.process !== process) {
			context.strokeStyle = style("--line");
			context.strokeRect(0, y - 0.5, paint.width, 0);
		}
		context.fillStyle = track.process !== process ? paint.text : style("--faint");
		context.fillText((track.process !== process ? `${strings[track.process]} ` : "  ") +
			strings[track.label], 8, y + ROW / 2);
		context.restore();
		process = track.process;
	});
}

function drawTimeline(view) {
	const begin = performance.now();
	const canvas = view.tracks;
	const paint = fit(canvas, canvas.clientHeight);

	paint.text = style("--text");
	drawRuler(view, paint);
	paint.context.save();
	paint.context.beginPath();
	paint.context.rect(LABELS, RULER, paint.width, paint.height);
	paint.context.clip();
	view.rows.forEach((track, row) => {
		const y = RULER + row * ROW - view.scroll;

		if (y <= RULER - ROW || y >= paint.height)
			return;
		if (track.counter)
			drawCounter(view, paint, track.counter, y);
		else
			drawTrack(view, paint, track, y);
	});
	drawLinks(view, paint);
	paint.context.restore();
	drawLabels(view, paint);
	view.paint = paint;
	document.documentElement.dataset.drawMs = (performance.now() - begin).toFixed(1);
}

/* The slice at a point of the canvas; -1: none. */
function sliceAt(view, x, y) {
	const track = view.rows[Math.floor((y - RULER + view.scroll) / ROW)];
	const pixels = view.paint.width - LABELS;
	const time = view.from + (x - LABELS) / pixels * (view.to - view.from);
	const margin = (view.to - view.from) / pixels;
	let best = -1;

	if (!track || x < LABELS || y < RULER)
		return -1;
	const {start, end, longest} = track.levels[0];
	const last = lowerBound(start, time + margin);

	for (let i = last - 1; i >= Math.max(0, last - 64); i--)
		if (end[i] >= time - margin &&
		    (best < 0 || end[i] - start[i] > end[best] - start[best]))
			best = i;
	return best < 0 ? -1 : longest[best];
}

/* ---- details ------------------------------------------------------------------------------- */

function describe(view, i) {
	const {slices, strings, tracks} = view.capture;
	const track = tracks[slices.track[i]];
	const rows = [
		["category", CATEGORIES[slices.category[i]]],
		["process", strings[track.process]],
		["track", strings[track.label]],
		["start", duration(slices.start[i] - view.capture.first)],
		["duration", duration(slices.duration[i])],
	];

	if (slices.bytes[i]) {
		rows.push(["size", size(slices.bytes[i])]);
		if (slices.duration[i] && slices.category[i] >= FIRST_GPU)
			rows.push(["rate", `${size(slices.bytes[i] / slices.duration[i] * 1e9)}/s`]);
	}
	if (slices.flags[i] & FAILED)
		rows.push(["result", "an error"]);
	if (slices.category[i] >= FIRST_GPU && slices.category[i] < JOB)
		rows.push(["times", slices.flags[i] & EXACT ? "first and last instruction" :
			slices.flags[i] & ESTIMATED ? "estimated from calls: bounds" :
			"measured by events of the stream: upper bounds"]);
	return rows;
}

function addLink(view, list, label, i) {
	const {slices, strings} = view.capture;
	const button = make("button", `${strings[slices.name[i]]} at ${
		duration(slices.start[i] - view.capture.first)}`);
	const cell = make("dd");

	button.addEventListener("click", () => select(view, i, true));
	cell.append(button);
	list.append(make("dt", label), cell);
}

function addLinks(view, list, i) {
	const {slices, calls, submitted, waited} = view.capture;
	const gpu = slices.category[i] >= FIRST_GPU;
	const links = gpu ?
		[["submitted by", calls.get(slices.call[i])], ["waited for by", calls.get(slices.wait[i])]] :
		[["submitted", submitted.get(slices.number[i])], ["waited for", waited.get(slices.number[i])]];

	for (const [label, other] of links)
		if (other !== undefined && (gpu || slices.number[i]))
			addLink(view, list, label, other);
}

function showDetails(view) {
	const panel = document.getElementById("details");
	const {slices, strings, stacks} = view.capture;
	const i = view.selected;

	panel.hidden = i < 0;
	if (i < 0)
		return;
	const list = make("dl");

	for (const [label, value] of describe(view, i))
		list.append(make("dt", label), make("dd", value));
	addLinks(view, list, i);
	const frames = stacks[slices.stack[i]];

	if (frames) {
		list.append(make("dt", "callers"), make("dd", strings[frames[0]]));
		for (const frame of frames.slice(1))
			list.append(make("dt"), make("dd", strings[frame]));
	}
	panel.replaceChildren(make("h2", strings[slices.name[i]]), list);
}

function select(view, i, moves) {
	const {slices} = view.capture;

	view.selected = i;
	if (moves && i >= 0) {
		const span = Math.max(view.to - view.from, slices.duration[i] * 2);
		const middle = slices.start[i] + slices.duration[i] / 2;

		setRange(view, middle - span / 2, middle + span / 2);
	}
	showDetails(view);
	refresh(view);
}

/* ---- tables -------------------------------------------------------------------------------- */

/* Calls a function for each slice that overlaps the visible time. */
function eachVisible(view, visit) {
	const {slices, tracks} = view.capture;

	for (const track of tracks) {
		const {start, longest} = track.levels[0];
		const last = lowerBound(start, view.to);

		for (let k = 0; k < last; k++) {
			const i = longest[k];

			if (slices.start[i] + slices.duration[i] >= view.from)
				visit(i, track);
		}
	}
}

const TABLES = [
	["Calls", (category) => category < CALLS],
	["GPU operations", (category) => category >= FIRST_GPU && category < JOB],
	["System calls", (category) => category === 5],
	["Off the CPU and page faults", (category) => category === 6 || category === 7],
	["Jobs of rings", (category) => category === JOB],
];
const COLUMNS = [
	["Count", (row) => row.count, String],
	["Failed", (row) => row.failed, String],
	["Total", (row) => row.total, duration],
	["Mean", (row) => row.total / row.count, duration],
	["Max", (row) => row.longest, duration],
	["Bytes", (row) => row.bytes, (bytes) => bytes ? size(bytes) : ""],
	["Name", (row) => row.name, String],
];
const MAX_ROWS = 100;

function collectRows(view) {
	const {slices, strings} = view.capture;
	const tables = TABLES.map(() => new Map());
	const tableOf = CATEGORIES.map((_, category) => TABLES.findIndex(([, has]) => has(category)));

	eachVisible(view, (i) => {
		const rows = tables[tableOf[slices.category[i]]];
		let row = rows.get(slices.name[i]);

		if (!row) {
			row = {name: strings[slices.name[i]], count: 0, failed: 0, total: 0, longest: 0,
				bytes: 0};
			rows.set(slices.name[i], row);
		}
		row.count++;
		row.failed += slices.flags[i] & FAILED;
		row.total += slices.duration[i];
		row.longest = Math.max(row.longest, slices.duration[i]);
		row.bytes += slices.bytes[i];
	});
	return tables.map((rows) => [...rows.values()]);
}

function compareBy(column) {
	const value = COLUMNS[column][1];

	return column === COLUMNS.length - 1 ?
		(a, b) => value(a).localeCompare(value(b)) : (a, b) => value(b) - value(a);
}

function makeTable(view, title, rows) {
	const table = make("table"), head = make("tr"), body = make("tbody");

	rows.sort(compareBy(view.sort));
	table.append(make("caption", rows.length > MAX_ROWS ?
		`${title}: ${MAX_ROWS} of ${rows.length} names` : title));
	COLUMNS.forEach(([name], column) => {
		const cell = make("th", name + (column === view.sort ? " ▼" : ""));

		cell.addEventListener("click", () => {
			view.sort = column;
			drawTables(view);
		});
		head.append(cell);
	});
	for (const row of rows.slice(0, MAX_ROWS)) {
		const line = make("tr");

		for (const [, value, format] of COLUMNS)
			line.append(make("td", format(value(row))));
		body.append(line);
	}
	table.append(make("thead"), body);
	table.tHead.append(head);
	return table;
}

function drawTables(view) {
	const tables = collectRows(view);

	document.getElementById("tables").replaceChildren(
		...TABLES.map(([title], k) => [title, tables[k]]).filter(([, rows]) => rows.length)
			.map(([title, rows]) => makeTable(view, title, rows)));
}

/* ---- flame graph --------------------------------------------------------------------------- */

const WEIGHTS = {
	time: (slices, i) => slices.category[i] < CALLS ? slices.duration[i] : 0,
	gpu: (slices, i) => slices.category[i] >= FIRST_GPU && slices.category[i] < JOB ?
		slices.duration[i] : 0,
	launches: (slices, i) => slices.category[i] === 1 ? 1 : 0,
	bytes: (slices, i) => slices.category[i] < CALLS ? slices.bytes[i] : 0,
};

/* Operations of GPUs belong to the callers of the calls that submitted them. */
function stackOf(view, i) {
	const {slices, stacks, calls} = view.capture;
	const call = slices.category[i] >= FIRST_GPU ? calls.get(slices.call[i]) : i;

	return call === undefined ? null : stacks[slices.stack[call]];
}

function makeFlame(view) {
	const {slices, strings} = view.capture;
	const root = {name: "all", weight: 0, children: new Map()};
	const weigh = WEIGHTS[document.getElementById("weight").value];

	function descend(node, key, name, weight) {
		let child = node.children.get(key);

		if (!child) {
			child = {name, weight: 0, children: new Map()};
			node.children.set(key, child);
		}
		child.weight += weight;
		return child;
	}
	eachVisible(view, (i) => {
		const weight = weigh(slices, i);
		const frames = weight ? stackOf(view, i) : null;
		let node = root;

		if (!weight)
			return;
		root.weight += weight;
		for (let k = frames ? frames.length - 1 : -1; k >= 0; k--)
			node = descend(node, frames[k], strings[frames[k]], weight);
		descend(node, `leaf ${slices.name[i]}`, strings[slices.name[i]], weight);
	});
	return root;
}

/* Boxes {x, y, width, node} of the frames that are wide enough to be seen. */
function layOut(node, x, y, scale, boxes) {
	const width = node.weight * scale;

	if (width < 0.5)
		return;
	boxes.push({x, y, width, node});
	for (const child of [...node.children.values()].sort((a, b) => b.weight - a.weight)) {
		layOut(child, x, y + ROW, scale, boxes);
		x += child.weight * scale;
	}
}

function formatWeight(weight) {
	const kind = document.getElementById("weight").value;

	return kind === "bytes" ? size(weight) : kind === "launches" ? `${weight} launches` :
		duration(weight);
}

function flameColor(view, node) {
	return fillOf(hash(node.name) % 50 + 10, 0.6, view.dark ? 0.4 : 0.72);
}

function drawFlame(view) {
	const canvas = document.getElementById("frames");
	const root = view.flameRoot || makeFlame(view);
	const boxes = [];

	layOut(root, 0, 0, canvas.clientWidth / Math.max(root.weight, 1e-9), boxes);
	const height = Math.max(ROW, ...boxes.map((box) => box.y + ROW));

	canvas.style.height = `${height}px`;
	const {context} = fit(canvas, height);

	for (const {x, y, width, node} of boxes) {
		const found = view.search && node.name.toLowerCase().includes(view.search);

		context.globalAlpha = view.search && !found ? 0.3 : 1;
		const color = flameColor(view, node);

		context.fillStyle = color.fill;
		context.fillRect(x, y, Math.max(width - 1, 0.5), ROW - 1);
		if (width > 24) {
			context.save();
			context.beginPath();
			context.rect(x, y, width - 2, ROW);
			context.clip();
			context.fillStyle = color.text;
			context.fillText(node.name, x + 3, y + ROW / 2);
			context.restore();
		}
	}
	view.boxes = boxes;
	document.getElementById("unzoom").hidden = !view.flameRoot;
}

function boxAt(view, event) {
	const bounds = event.target.getBoundingClientRect();
	const x = event.clientX - bounds.left, y = event.clientY - bounds.top;

	return (view.boxes || []).find((box) => x >= box.x && x < box.x + box.width && y >= box.y &&
		y < box.y + ROW);
}

/* ---- state --------------------------------------------------------------------------------- */

function setRange(view, from, to) {
	const {first, last} = view.capture;
	const span = Math.min(Math.max(to - from, 20), (last - first) * 1.1);
	const middle = (from + to) / 2;

	view.from = Math.max(first - (last - first) * 0.05, Math.min(middle - span / 2,
		last + (last - first) * 0.05 - span));
	view.to = view.from + span;
	view.flameRoot = null;
	refresh(view);
}

/* Draws at most once per frame of the screen. */
function refresh(view) {
	if (view.pending)
		return;
	view.pending = true;
	requestAnimationFrame(() => {
		view.pending = false;
		draw(view);
	});
}

function draw(view) {
	const drawers = {timeline: drawTimeline, tables: drawTables, flame: drawFlame, about: () => {}};

	drawers[view.tab](view);
	saveState(view);
}

/* The address has the state, so that a link or a reload shows the same. */
function saveState(view) {
	const origin = view.capture.first;
	const state = new URLSearchParams({tab: view.tab, theme: view.dark ? "dark" : "light",
		from: Math.round(view.from - origin), to: Math.round(view.to - origin)});

	history.replaceState(null, "", `#${state}`);
}

function loadState(view) {
	const state = new URLSearchParams(location.hash.slice(1));
	const {first, last} = view.capture;
	const from = Number(state.get("from") || NaN), to = Number(state.get("to") || NaN);
	const theme = state.get("theme") ||
		(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

	setTheme(view, theme === "dark");
	setTab(view, ["timeline", "tables", "flame", "about"].includes(state.get("tab")) ?
		state.get("tab") : "timeline");
	if (to > from)
		setRange(view, first + from, first + to);
	else
		setRange(view, first, last);
}

function setTheme(view, dark) {
	view.dark = dark;
	view.colors = new Map();
	document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function setTab(view, tab) {
	view.tab = tab;
	for (const section of document.querySelectorAll("main > section"))
		section.hidden = section.id !== tab;
	for (const button of document.querySelectorAll("#tabs button"))
		button.setAttribute("aria-selected", String(button.dataset.tab === tab));
}

/* ---- input --------------------------------------------------------------------------------- */

function zoom(view, factor, x) {
	const pixels = view.paint.width - LABELS;
	const at = view.from + Math.max(0, x - LABELS) / pixels * (view.to - view.from);

	setRange(view, at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function scrollRows(view, pixels) {
	const most = Math.max(0, view.rows.length * ROW - (view.paint.height - RULER));

	view.scroll = Math.min(most, Math.max(0, view.scroll + pixels));
	refresh(view);
}

function showTooltip(event, text) {
	const tooltip = document.getElementById("tooltip");

	tooltip.hidden = !text;
	tooltip.textContent = text;
	tooltip.style.left = `${Math.min(event.clientX + 12, innerWidth - 300)}px`;
	tooltip.style.top = `${Math.min(event.clientY + 12, innerHeight - 60)}px`;
}

function listenToTimeline(view) {
	const canvas = view.tracks;
	let drag = null;

	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		if (event.shiftKey)
			scrollRows(view, event.deltaY);
		else
			zoom(view, event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
	}, {passive: false});
	canvas.addEventListener("mousedown", (event) => {
		drag = {x: event.clientX, y: event.clientY, from: view.from, to: view.to,
			scroll: view.scroll, moved: false};
	});
	window.addEventListener("mousemove", (event) => {
		if (!drag)
			return;
		const by = (drag.x - event.clientX) / (view.paint.width - LABELS) * (drag.to - drag.from);

		drag.moved ||= Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y) > 3;
		setRange(view, drag.from + by, drag.to + by);
		view.scroll = drag.scroll;
		scrollRows(view, drag.y - event.clientY);
	});
	window.addEventListener("mouseup", (event) => {
		if (drag && !drag.moved)
			select(view, sliceAt(view, event.offsetX, event.offsetY), false);
		drag = null;
	});
	canvas.addEventListener("mousemove", (event) => {
		const i = drag ? -1 : sliceAt(view, event.offsetX, event.offsetY);
		const {slices, strings} = view.capture;

		showTooltip(event, i < 0 ? !drag && counterAt(view, event.offsetX, event.offsetY) || "" :
			`${strings[slices.name[i]]}, ${duration(slices.duration[i])}`);
	});
	canvas.addEventListener("mouseleave", (event) => showTooltip(event, ""));
}

function listenToFlame(view) {
	const canvas = document.getElementById("frames");

	canvas.addEventListener("mousemove", (event) => {
		const box = boxAt(view, event);

		showTooltip(event, box ? `${box.node.name}, ${formatWeight(box.node.weight)}` : "");
	});
	canvas.addEventListener("mouseleave", (event) => showTooltip(event, ""));
	canvas.addEventListener("click", (event) => {
		const box = boxAt(view, event);

		view.flameRoot = box ? box.node : view.flameRoot;
		refresh(view);
	});
	document.getElementById("weight").addEventListener("change", () => {
		view.flameRoot = null;
		refresh(view);
	});
	document.getElementById("unzoom").addEventListener("click", () => {
		view.flameRoot = null;
		refresh(view);
	});
}

function listenToKeys(view) {
	const step = () => (view.to - view.from) * 0.15;
	const keys = {
		a: () => setRange(view, view.from - step(), view.to - step()),
		d: () => setRange(view, view.from + step(), view.to + step()),
		w: () => zoom(view, 0.8, view.paint.width / 2),
		s: () => zoom(view, 1.25, view.paint.width / 2),
		0: () => setRange(view, view.capture.first, view.capture.last),
		Escape: () => select(view, -1, false),
	};

	window.addEventListener("keydown", (event) => {
		if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (keys[event.key] && view.paint)
			keys[event.key]();
	});
}

function listen(view) {
	listenToTimeline(view);
	listenToFlame(view);
	listenToKeys(view);
	document.getElementById("tabs").addEventListener("click", (event) => {
		if (!event.target.dataset.tab)
			return;
		setTab(view, event.target.dataset.tab);
		refresh(view);
	});
	document.getElementById("theme").addEventListener("click", () => {
		setTheme(view, !view.dark);
		refresh(view);
	});
	document.getElementById("reset").addEventListener("click", () =>
		setRange(view, view.capture.first, view.capture.last));
	document.getElementById("search").addEventListener("input", (event) => {
		view.search = event.target.value.toLowerCase();
		refresh(view);
	});
	window.addEventListener("resize", () => refresh(view));
	window.addEventListener("hashchange", () => loadState(view));
}

/* ---- start --------------------------------------------------------------------------------- */

function showAbout(capture) {
	const list = make("dl");
	const losses = document.getElementById("losses");

	for (const [label, value] of Object.entries(capture.about))
		list.append(make("dt", label), make("dd", String(value)));
	document.getElementById("about").replaceChildren(list);
	losses.textContent = capture.about.losses || "";
	losses.hidden = !capture.about.losses;
	document.getElementById("summary").textContent =
		`${capture.about.capture || ""}: ${capture.slices.count} intervals in ${
			duration(capture.last - capture.first)}`;
	document.title = `${capture.about.capture || "capture"} – gputap`;
}

async function start() {
	const data = document.getElementById("data");
	const capture = parse(await unpack(data.textContent));

	data.remove();
	arrange(capture);
	findRange(capture);
	link(capture);
	addCounters(capture);
	const view = {capture, rows: capture.shown, tracks: document.getElementById("tracks"),
		selected: -1, scroll: 0, search: "", sort: 2, colors: new Map(), pending: false};

	showAbout(capture);
	loadState(view);
	draw(view);
	listen(view);
	Object.assign(document.documentElement.dataset, {ready: "true", slices: capture.slices.count,
		tracks: capture.shown.length, readyMs: performance.now().toFixed(0)});
	window.gputap = view;
}

start().catch((error) => {
	const losses = document.getElementById("losses");

	losses.hidden = false;
	losses.textContent = `This file cannot be shown: ${error.message}`;
	document.documentElement.dataset.ready = "failed";
});
