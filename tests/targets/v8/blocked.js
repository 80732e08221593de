// SPDX-License-Identifier: LGPL-2.1-or-later
// Says where it is, as its own Error has it, and waits there: for a value that nobody changes. With "covered" V8 counts
// what is executed, as it does for tests.
'use strict';
const cell = new Int32Array(new SharedArrayBuffer(4));

function where(error) {
    return error.stack.split('\n').slice(1, 8).map((line) => {
        const words = /at (?:new )?(\S+) \(.*:(\d+):\d+\)/.exec(line);
        return {function: words[1].split('.').pop(), line: Number(words[2])};
    });
}

function waits() { // one line: what is said and what is seen must be the same
    console.log(JSON.stringify(where(new Error()))); Atomics.wait(cell, 0, 0);
}

class Order {
    constructor() {
        this.id = waits();
    }

    get number() {
        return this.id;
    }
}

class Rush extends Order {
    constructor() {
        super();
        this.late = false;
    }
}

class Desk {
    take(n) {
        return n === 0 ? new Rush().number : this.take(n - 1);
    }
}

// Calls on lines of their own, the last one the one that is seen: the line is that of its own position.
function first(n) {
    return [
        Number(
            n),
        new Desk()
            .take(n)];
}

function spread(n) {
    return Number(
        n
    ) + Number(
        n
    ) + first(
        n
    );
}

const arrow = () => [1].forEach(() => spread(1));

if (process.argv[2] === 'covered') {
    const inspector = require('inspector');
    const session = new inspector.Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', {callCount: true, detailed: true});
}
arrow();
