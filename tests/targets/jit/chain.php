<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inner <- middle <- outer, compiled, blocked in usleep(). Nothing but a number tells the last call
 * from those before, so that the compiled code is not left. */
function inner($n) {
	usleep($n);
	return $n * 2;
}
function middle($n) { return inner($n) + 1; }
function outer($n) { return middle($n) + 1; }

$s = 0;
echo "ready\n";
for ($i = 0;; $i++)
	$s += outer(($i >> 10) * 1000000000);
