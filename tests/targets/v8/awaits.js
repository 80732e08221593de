// SPDX-License-Identifier: LGPL-2.1-or-later
// An async function that goes on after an await says where it is, as its own Error has it, and waits there: for a value
// that nobody changes. "busy" has chains that go on again and again.
'use strict';
const fs = require('fs');
const cell = new Int32Array(new SharedArrayBuffer(4));
Error.stackTraceLimit = 200;

function where(error) {
    return error.stack.split('\n').slice(1).map((line) => {
        const place = /at (async )?(?:new )?(.*?) \((?:file:\/\/)?([^()]*):(\d+):\d+\)$/.exec(line);
        const element = /at async (Promise\.\w+ \(index \d+\))$/.exec(line);
        if (element !== null) return {async: true, function: element[1], file: null, line: 0};
        if (place === null) return {async: /at async/.test(line), function: null, file: null, line: 0};
        return {async: place[1] !== undefined, function: place[2].replace(/ \[as .*\]$/, '').split('.').pop(),
                file: place[3], line: Number(place[4])};
    });
}

function waits() { // one line: what is said and what is seen must be the same
    fs.writeSync(1, JSON.stringify(where(new Error())) + '\n'); Atomics.wait(cell, 0, 0);
}

const later = () => new Promise((resolve) => setImmediate(resolve));

async function inner() {
    await later();
    waits();
}

class Shop {
    async order(n) {
        const left = n - 1;
        if (n > 0) {
            return await this.order(left);
        }
        await inner();
        return left;
    }
}

const arrow = async () => {
    await null;
    return 1 + await
    new Shop().order(2);
};

async function outermost() {
    await arrow();
    await later();
}

// ---- all, allSettled, any, race -----------------------------------------------------------

async function all() {
    await Promise.all([later(), inner(), 3]);
}

async function settled() {
    await Promise.allSettled([inner(), later()]);
}

async function any() {
    await Promise.any([later().then(() => Promise.reject(new Error('no'))), inner()]);
}

async function race() {
    await Promise.race([new Promise(() => {}), inner()]);
}

// ---- what else leads from one to the next -------------------------------------------------------

async function fails() {
    await later();
    throw new Error('as it should');
}

async function caught() {
    try {
        await fails();
    } catch (error) {
        waits();
    }
}

async function catcher() {
    await caught();
}

async function* numbers() {
    yield 1;
    await inner();
    yield 2;
}

async function reader() {
    for await (const n of numbers())
        if (n === 2) break;
}

function chained() {
    return inner().then((value) => value).finally(() => {});
}

async function awaitsChained() {
    await chained();
}

async function returnsPromise() {
    return inner();
}

async function awaitsReturned() {
    await null;
    await returnsPromise();
}

async function begins() { // has not waited yet: its caller is on the stack
    waits();
    await null;
}

async function beginner() {
    await later();
    await begins();
}

async function awaitsBeginner() {
    await beginner();
}

async function forked() {
    const one = inner();
    await Promise.all([one, one.then(() => 1), (async () => { await one; })()]);
}

async function thenable() {
    await {then(resolve) { inner().then(resolve); }};
}

function handler() {
    waits();
}

async function inHandler() {
    await later().then(handler);
}

class Handlers {
    handle() {
        waits();
    }
}

async function inBound() {
    const all = new Handlers();
    await Promise.all([null, later().then(all.handle.bind(all)).then((value) => value)]);
}

async function inCaught() {
    await later().then(() => Promise.reject(new Error('as it should'))).catch(handler).finally(() => {});
}

async function inGetter() { // the handler has returned: nothing of it is on the stack
    await later().then(() => ({get then() { waits(); return null; }}));
}

async function inMicrotask() { // nothing is known of who wants it
    await later();
    queueMicrotask(handler);
    await later();
}

// ---- busy ---------------------------------------------------------------------------------------

function spin() {
    let sum = 0;
    for (let i = 0; i < 20000; i++) sum += i % 7;
    return sum;
}

async function a4(n) {
    await null;
    spin();
    if (n % 3 === 0) await later();
    return spin();
}

async function a3(n) {
    return 1 + await a4(n);
}

async function a2(n) {
    const [one] = await Promise.all([a3(n), null]);
    return one;
}

async function a1(n) {
    return await a2(n);
}

async function b3(n) {
    await later();
    spin();
    return n;
}

async function b2(n) {
    const junk = [];
    for (let i = 0; i < 200; i++) junk.push({n, i});
    return (await b3(n)) + junk.length;
}

async function b1(n) {
    return await b2(n);
}

function c2() {
    const junk = [];
    for (let i = 0; i < 200; i++) junk.push({i});
    return spin() + junk.length;
}

function c3(n) {
    return n;
}

async function c1() {
    return await later().then(c2).then(c3);
}

async function busy() {
    fs.writeSync(1, '[]\n');
    for (let n = 0;; n++) await Promise.all([a1(n), b1(n), c1()]);
}

// ---- on another thread --------------------------------------------------------------------------

function worker() {
    new (require('worker_threads').Worker)(__filename, {argv: ['outermost']});
}

const cases = {outermost, all, settled, any, race, catcher, reader, awaitsChained, awaitsReturned, awaitsBeginner,
               forked, thenable, inHandler, inBound, inCaught, inGetter, inMicrotask,
               worker, busy};
cases[process.argv[2]]();
