// SPDX-License-Identifier: LGPL-2.1-or-later
// Node with something to wait for: a timer far away and its standard input.
setTimeout(() => {}, 86400000);
process.stdin.resume();
process.stdout.write("ready\n");
