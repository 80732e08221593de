// SPDX-License-Identifier: LGPL-2.1-or-later
// many_modules.js N: N modules of WebAssembly, each with code in a mapping of its own, which call one another; the last
// one calls spin(), which never ends.
'use strict';
const N = Number(process.argv[2]);

// (import "e" "f" (func (param i32) (result i32))) (func (export "run") (param i32) (result i32) local.get 0 call 0)
const type = [1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f];
const imported = [2, 7, 1, 1, 0x65, 1, 0x66, 0, 0];
const declared = [3, 2, 1, 0];
const exported = [7, 7, 1, 3, 0x72, 0x75, 0x6e, 0, 1];
const code = [10, 8, 1, 6, 0, 0x20, 0, 0x10, 0, 0x0b];
// A section of its own makes each module another one, as the same bytes would share their code.
const own = (i) => [0, 4, 1, 0x78, i & 127, i >> 7];

function spin(x) {
    let s = 0;
    for (;;)
        s = (s * 31 + x) | 0;
}

let next = spin;
for (let i = 0; i < N; i++) {
    const bytes = Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...type, ...imported, ...declared, ...exported, ...code,
        ...own(i)]);
    next = new WebAssembly.Instance(new WebAssembly.Module(bytes), {e: {f: next}}).exports.run;
}
console.log('ready');
next(1);
