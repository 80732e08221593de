// SPDX-License-Identifier: LGPL-2.1-or-later
// The event loop does one of these: spin, a function that never ends; sync, one that waits for a file; turns, many short
// functions; idle, it waits for a timer; pool FIFO, more work for libuv's threads than there are threads. main: the main module
// never ends, and the loop does not begin.
'use strict';
const fs = require('fs');
const mode = process.argv[2];

function spin() {
    for (let i = 0; ; i++)
        if (i === -1)
            return;
}

function held() {
    fs.readSync(0, Buffer.alloc(1));
}

function turn() {
    const end = Date.now() + 2;
    while (Date.now() < end)
        ;
    setImmediate(turn);
}

const modes = {
    spin: () => setTimeout(spin, 1),
    sync: () => setTimeout(held, 1),
    turns: turn,
    main: spin,
    idle: () => setTimeout(() => {}, 1e9),
    pool: () => {
        for (let i = 0; i < 9; i++)
            fs.open(process.argv[3], 'r', () => {});
    },
};
fs.writeSync(1, 'ready\n');
modes[mode]();
