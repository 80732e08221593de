<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A request of php-fpm: a known chain of calls, "-> name" says what a line calls (tests/live/interpreted.py). */

function f6($n)
{
	$s = 0;
	for ($i = 0; $i < $n; $i++)
		$s += $i % 7;
	return $s + strlen(md5("x$s"));  // -> md5
}

function f5($n)
{
	$v = f6($n + 1);  // -> f6
	return $v + 1;
}

function f4($n)
{
	$v = array_map(  // -> array_map
		function ($x) {
			return f5($x) + 1;  // -> f5
		},
		[$n, $n + 1]
	);
	return array_sum($v);  // -> array_sum
}

function f3($n)
{
	$v = f4($n);  // -> f4
	return $v + 1;
}

class F
{
	public function f2($n)
	{
		$v = f3($n);  // -> f3
		return $v + 1;
	}
}

function f1($n)
{
	$o = new F;
	return $o->f2($n);  // -> F::f2
}

$end = hrtime(true) + 20000000;  // -> hrtime
for ($sum = 0; hrtime(true) < $end;)  // -> hrtime
	$sum += f1(100);  // -> f1
echo $sum > 0 ? "served\n" : "\n";
