// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls at a random depth, which the functions' names say: d7 calls d8, and below d0 is turn. At the bottom is one of the
// leaves: a loop, functions that builtins and C++ code call, closures that are made for one call, allocations that collect
// garbage, exceptions, generators, code that is made for one call.
//
// arguments: "naps": each leaf waits for a moment instead; "loads": each leaf makes code for one call
'use strict';
const DEEPEST = 40;
const naps = process.argv.includes('naps'), loads = process.argv.includes('loads');
const cell = new Int32Array(new SharedArrayBuffer(4));
let sink = 0;
let kept = [];

function random(n) {
    return Math.floor(Math.random() * n);
}

function spin(n) {
    let s = n;
    for (let i = 0; i < n; i++) {
        s = (s * 31 + i) % 1000003; s ^= s >> 3; s += i * 7; s = (s * 17 + 3) % 999983; s ^= i << 2;
        s = (s * 13 + i) % 1000033; s ^= s >> 5; s += i * 5; s = (s * 19 + 5) % 999979; s ^= i << 1;
    }
    sink = (sink + s) & 0xffff;
    return s;
}

function looping() {
    return spin(300);
}

function key(x) {
    return spin(40) + x;
}

function sorting() {
    return [3, 1, 2, 5, 4].sort(function order(a, b) {
        spin(20);
        return a - b;
    })[0];
}

function mapping() {
    return [1, 2, 3].map(key)[1];
}

function made() {
    return spin(30);
}

function* generating() {
    for (let i = 0; i < 3; i++)
        yield made() + i;
}

function iterating() {
    let s = 0;
    for (const x of generating())
        s += x;
    return s;
}

function reviving() {
    return JSON.parse('[1,2,3]', function revive(k, v) {
        spin(20);
        return v;
    }).length;
}

function replacing() {
    return 'a-b-c'.replace(/-/g, function replaced() {
        return String(spin(20) & 7);
    }).length;
}

function allocating() {
    const all = [];
    for (let i = 0; i < 300; i++)
        all.push({number: i, text: `n${i}`, call: () => i}); // none is called: which of two calls allocates is not known
    kept.push(all);
    if (kept.length > 200)
        kept = [];
    return all.length;
}

function thrown(n) {
    if (n === 0)
        throw new RangeError('expected');
    return thrown(n - 1) + spin(3);
}

function throwing() {
    try {
        return thrown(5);
    } catch (error) {
        return spin(30) + error.message.length;
    }
}

class Base {
    constructor(n) {
        this.n = spin(n);
    }
}

class Derived extends Base {
    constructor(n) {
        super(n);
        this.m = spin(n);
    }
}

function constructing() {
    return new Derived(30).n;
}

function applying() {
    return Reflect.apply(key, null, [1]) + key.call(null, 2) + key.bind(null, 3)();
}

// Two names, so that an old one has a wrong caller where code comes to where other was.
function making() {
    return new Function('spin', 'return (function made1() { return spin(60); })();')(spin);
}

function building() {
    return new Function('spin', 'return (function built1() { return spin(60); })();')(spin);
}

function napping() {
    Atomics.wait(cell, 0, 0, 1 + random(8));
}

const leaves = naps ? [napping] : loads ? [making, building] :
    [looping, sorting, mapping, iterating, reviving, replacing, allocating, throwing, constructing, applying];

function leaf() {
    return leaves[random(leaves.length)]();
}

const d = [];
for (let n = DEEPEST; n >= 0; n--)
    d[n] = eval(`(function d${n}(left, d) { return left === 0 ? leaf() : d[${n + 1}](left - 1, d) + 1; })`);

function turn() {
    return d[0](random(DEEPEST), d);
}

function work() {
    for (;;)
        for (let i = 0; i < 1000; i++)
            turn();
}

console.log('ready');
work();
