// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls through WebAssembly and back: outer, w1, w2, back, w3, (without a name:) w4, w5. With "blocked" it says
// where it is, as its own Error has it, and waits in inner, which w5 has called; else it never ends.
'use strict';
const blocked = process.argv[2] === 'blocked';
const cell = new Int32Array(new SharedArrayBuffer(4));

// ---- a module, byte by byte: the names are those of the binary format ------------------------------

function leb(n) {
    const bytes = [];
    for (; n > 127; n = Math.floor(n / 128))
        bytes.push(n % 128 | 128);
    return [...bytes, n];
}

const vector = (items) => [...leb(items.length), ...items.flat()];
const text = (s) => vector([...Buffer.from(s)]);
const section = (id, bytes) => [id, ...leb(bytes.length), ...bytes];
const body = (locals, code) => {
    const bytes = [...vector(locals), ...code, 0x0b];
    return [...leb(bytes.length), ...bytes];
};

const I32 = 0x7f;
const get = (n) => [0x20, n], set = (n) => [0x21, n], constant = (n) => [0x41, n], call = (n) => [0x10, n];
const ADD = 0x6a, MUL = 0x6c, XOR = 0x73, AND = 0x71, SHIFT = 0x76, LESS = 0x48;
const callIndirect = [0x11, 0, 0];

// A loop that is long enough for stops, and code that is too long to be compiled into another function.
const loop = (turns) => [
    ...constant(0), ...set(1), 0x03, 0x40,
    ...Array.from({length: 40}, (_, i) => [
        ...get(0), ...constant(i + 3), MUL, ...get(1), ADD, ...set(0), ...get(0), ...constant(5), SHIFT, ...get(0), XOR,
        ...set(0)]).flat(),
    // mem[x & 60] ^= x
    ...get(0), ...constant(60), AND, ...get(0), 0x36, 2, 0,
    ...get(1), ...constant(1), ADD, ...set(1), ...get(1), ...constant(turns), LESS, 0x0d, 0, 0x0b];

// 0: back, 1: inner, imported; 2 to 6: w1 to w5
const functions = [
    body([[1, I32]], [...loop(1), ...get(0), ...call(3), ...constant(1), ADD]),
    body([[1, I32]], [...loop(2), ...get(0), ...call(0), ...constant(1), ADD]),
    body([[1, I32]], [...loop(2), ...get(0), ...constant(0), ...callIndirect, ...constant(1), ADD]),
    body([[1, I32]], [...loop(1), ...get(0), ...call(6), ...constant(1), ADD]),
    body([[1, I32]], [...loop(20), ...get(0), ...call(1), ...get(0), ADD]),
];
const named = [[2, 'w1'], [3, 'w2'], [4, 'w3'], [6, 'w5']];
const bytes = new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, vector([[0x60, 1, I32, 1, I32]])),
    ...section(2, vector([[...text('env'), ...text('back'), 0, 0], [...text('env'), ...text('inner'), 0, 0]])),
    ...section(3, vector(functions.map(() => [0]))),
    ...section(4, [1, 0x70, 0, 1]),
    ...section(5, [1, 0, 1]),
    ...section(7, vector([[...text('w1'), 0, 2], [...text('w3'), 0, 4]])),
    ...section(9, [1, 0, ...constant(0), 0x0b, ...vector([[5]])]),
    ...section(10, vector(functions)),
    ...section(0, [...text('name'),
        ...section(0, text('chained')),
        ...section(1, vector(named.map(([i, name]) => [i, ...text(name)])))]),
]);

// ---- the chain ---------------------------------------------------------------------------------

let sink = 0, calls = 0;

function where(error) {
    return error.stack.split('\n').slice(1, 9).map((line) => {
        const js = /at (\S+) \((\S*):(\d+):\d+\)$/.exec(line);
        // MODULE.NAME, or MODULE
        const wasm = /at (\S+) \((wasm:.*):(wasm-function\[\d+\]):(0x[0-9a-f]+)\)$/.exec(line);
        return wasm ? {function: wasm[1].split('.')[1] || wasm[3], file: wasm[2], offset: wasm[4]}
            : {function: js[1].split('.').pop(), file: js[2], line: Number(js[3])};
    });
}

function inner(x) {
    if (blocked && ++calls > 20000) { // one line: what is said and what is seen must be the same
        Error.stackTraceLimit = 20; console.log(JSON.stringify(where(new Error()))); Atomics.wait(cell, 0, 0);
    }
    sink = (sink + x) & 0xffff;
    return sink;
}

function back(x) {
    return instance.exports.w3(x + 1) + 1;
}

const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {env: {back, inner}});

function outer(x) {
    return instance.exports.w1(x) + 1;
}

if (!blocked)
    console.log('ready');
for (let k = 0; ; k++)
    outer(k);
