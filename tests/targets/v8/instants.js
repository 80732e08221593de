// SPDX-License-Identifier: LGPL-2.1-or-later
// The stepped code (tests/fixtures/record_instants.py) is between two process.ppid: add is compiled, for numbers that are
// small, by maglev or turbofan, as the argument says, and gets others: it is deoptimised while it runs. Run with
// --allow-natives-syntax. It says that it is ready and waits for a line.
'use strict';
const ROUNDS = 4;
const self = process; // the global name is a getter
const small = {x: 1}, other = {x: 1.5, y: 2};

function add(one, two) {
    return one.x + two.x;
}

function outer(one, two) {
    return 1 + add(one, two);
}

function run(one, two) {
    return outer(one, two);
}

%NeverOptimizeFunction(outer);
%NeverOptimizeFunction(run);
for (let i = 0; i < ROUNDS; i++) {
    %PrepareFunctionForOptimization(add);
    run(small, small);
    run(small, small);
    if (process.argv[2] === 'maglev')
        %OptimizeMaglevOnNextCall(add);
    else
        %OptimizeFunctionOnNextCall(add);
    run(small, small);
    if (i === 0) {
        console.log('ready');
        require('fs').readSync(0, Buffer.alloc(1));
    }
    self.ppid;
    run(other, small);
    self.ppid;
    %ClearFunctionFeedback(add);
}
