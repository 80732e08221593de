// SPDX-License-Identifier: LGPL-2.1-or-later
// Says where it is, as its own Error has it, and waits there: for a value that nobody changes.
'use strict';
const cell = new Int32Array(new SharedArrayBuffer(4));

function where(error) {
    return error.stack.split('\n').slice(1, 6).map((line) => {
        const words = /at (?:new )?(\S+) \(.*:(\d+):\d+\)/.exec(line);
        return {function: words[1].split('.').pop(), line: Number(words[2])};
    });
}

function waits() { // one line: what is said and what is seen must be the same
    console.log(JSON.stringify(where(new Error()))); Atomics.wait(cell, 0, 0);
}

class Desk {
    take(n) {
        return n === 0 ? waits() : this.take(n - 1);
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

arrow();
