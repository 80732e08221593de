// SPDX-License-Identifier: LGPL-2.1-or-later
// A chain of calls that never ends: f1 to f6. f6 is too large to be compiled into another function, the others
// are compiled into each other where V8 does that. It also allocates, throws, sorts and calls back from C++.
'use strict';
let sink = 0;

function f6(x) {
    let s = x;
    for (let i = 0; i < 40; i++) {
        s = (s * 31 + i) % 1000003; s ^= s >> 3; s += i * 7; s = (s * 17 + 3) % 999983; s ^= i << 2;
        s = (s * 13 + i) % 1000033; s ^= s >> 5; s += i * 5; s = (s * 19 + 5) % 999979; s ^= i << 1;
        s = (s * 29 + i) % 1000037; s ^= s >> 7; s += i * 3; s = (s * 23 + 7) % 999961; s ^= i << 3;
        s = (s * 37 + i) % 1000039; s ^= s >> 2; s += i * 9; s = (s * 11 + 9) % 999959; s ^= i << 4;
        s = (s * 41 + i) % 1000081; s ^= s >> 4; s += i * 2; s = (s * 43 + 1) % 999953; s ^= i << 5;
        s = (s * 31 + i) % 1000003; s ^= s >> 3; s += i * 7; s = (s * 17 + 3) % 999983; s ^= i << 2;
        s = (s * 13 + i) % 1000033; s ^= s >> 5; s += i * 5; s = (s * 19 + 5) % 999979; s ^= i << 1;
        s = (s * 29 + i) % 1000037; s ^= s >> 7; s += i * 3; s = (s * 23 + 7) % 999961; s ^= i << 3;
    }
    const made = {s, text: `n${s}`};
    sink = (sink + made.s + made.text.length) & 0xffff;
    return s;
}

function f5(x) {
    return f6(x + 1) + 1;
}

function f4(x) {
    if (x % 16 === 3) {
        try {
            if (f6(x) > 0)
                throw new RangeError('expected');
        } catch (error) {
            sink ^= error.message.length;
        }
    }
    return f5(x + 1) + 1;
}

function f3(x) {
    if (x % 8 === 2)
        return [x, 3, 1, 2].map((y) => f4(y))[0];
    return f4(x + 1) + 1;
}

function f2(x) {
    return f3(x + 1) + 1;
}

function f1(x) {
    return f2(x + 1) + 1;
}

console.log('ready');
for (;;) {
    for (let k = 0; k < 1000; k++)
        f1(k);
}
