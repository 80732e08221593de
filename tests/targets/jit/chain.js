/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inner <- middle <- outer, called often enough to be compiled, then blocked in inner: node, deno and
 * bun all let the main thread wait so. Nothing but numbers tell the last call from those before, so
 * that the compiled code is not left. With the argument "busy" it computes instead; with "more" it
 * makes hundreds of functions afterwards: what a runtime keeps in a buffer reaches its file.
 */
const args = typeof Deno === "undefined" ? process.argv.slice(2) : Deno.args;
const cell = new Int32Array(new SharedArrayBuffer(4));
let sink = 0;

function inner(n, wait) {
	for (let i = 0; i < n; i++)
		sink = (sink + i * 7) % 1000003;
	Atomics.wait(cell, 0, 0, wait);
	return sink;
}

function middle(n, wait) {
	return inner(n, wait) + 1;
}

function outer(n, wait) {
	return middle(n, wait) + 1;
}

for (let i = 0; i < 20000; i++)
	outer(20, 0);
for (let k = 0; args[0] === "more" && k < 400; k++) {
	const filler = new Function("n", `return (n * ${k}) % 7 + ${k}`);
	for (let i = 0; i < 2000; i++)
		sink += filler(i);
}
console.log("ready");
for (;;)
	outer(args[0] === "busy" ? 1e6 : 20, args[0] === "busy" ? 0 : 1e9);
