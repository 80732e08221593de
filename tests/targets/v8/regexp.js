// SPDX-License-Identifier: LGPL-2.1-or-later
// Regular expressions that take long, each called on a line of its own, at any instant.
'use strict';
const fs = require('fs');
const as = 'a'.repeat(14) + 'b';
const us = 'a'.repeat(11) + 'B';
const xs = 'x'.repeat(16) + 'z';
const words = 'abcABC'.repeat(6) + '-';

const nested = /^(a+)+$/;
const overlapping = /(x+x+)+y/;
const repeated = /^(?:([a-c]+)\1+)+$/i; // compares by a function of C++
const wide = /^(?:\p{Ll}+\p{Ll}?)+$/u;
const global = /(a+)+c|ab/g;

function byTest() {
    return nested.test(as);
}

function byExec() {
    return overlapping.exec(xs);
}

function byMatch() {
    return words.match(repeated);
}

function byUnicode() {
    return wide.exec(us);
}

function called(all) {
    return all.length;
}

function byReplace() {
    return as.replace(global, called);
}

function bySplit() {
    return as.split(global);
}

function rounds() {
    byTest();
    byExec();
    byMatch();
    byUnicode();
    byReplace();
    bySplit();
}

for (let i = 0; i < 3; i++) rounds(); // compiled from the second time on
fs.writeSync(1, 'ready\n');
for (;;) rounds();
