<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A known chain of calls that never waits: "-> name" says what a line calls (tests/live/interpreted.py). */

function leaf($n)
{
	$s = 0;
	for ($i = 0; $i < $n; $i++)
		$s += $i % 7;
	$t = md5("x$s");    // -> md5
	$u = crc32("y$t");  // -> crc32
	for ($i = 0; $i < $n; $i++)
		$u ^= $s + $i;
	return $u;
}

class Magic
{
	private $seed = 3;

	public function __toString(): string
	{
		$v = leaf(40);  // -> leaf
		return "m$v";
	}

	public function __call($name, $arguments)
	{
		$v = leaf($arguments[0] + $this->seed);  // -> leaf
		return $v + 1;
	}

	public static function compare($a, $b)
	{
		$x = leaf(20);  // -> leaf
		return $a <=> $b;
	}

	public function __destruct()
	{
		leaf(30);  // -> leaf
	}
}

function numbers($n)
{
	for ($i = 0; $i < $n; $i++)
		yield leaf(30 + $i);  // -> leaf
}

function all($n)
{
	yield leaf(10);           // -> leaf
	yield from numbers($n);   // -> numbers
	yield leaf(10);           // -> leaf
}

function sum($n)
{
	$s = 0;
	foreach (numbers($n) as $v)  // -> numbers
		$s += $v;
	foreach (all($n) as $v)  // -> all
		$s += $v;
	return $s;
}

function deep($n)
{
	if ($n == 0)
		return sum(3);  // -> sum
	$v = deep($n - 1);  // -> deep
	return $v + 1;
}

class Work
{
	public function run($n)
	{
		$m = new Magic;
		$a = $m->anything($n);  // -> Magic::__call Magic::anything
		$t = "$m";              // -> Magic::__toString
		$b = array_map(         // -> array_map
			function ($x) {
				return deep(4) + $x;  // -> deep
			},
			[1, 2]
		);
		usort($b, ['Magic', 'compare']);       // -> usort
		$c = call_user_func('deep', 2);        // -> deep
		$d = eval('return leaf(25);');         // -> {eval}
		$e = array_map('strtoupper', ['a']);   // -> array_map
		$m = null;                             // -> Magic::__destruct
		return $a + strlen($t) + array_sum($b) + $c;  // -> array_sum
	}
}

function outer($n)
{
	$w = new Work;
	return $w->run($n);  // -> Work::run
}

function pause_here()
{
	usleep(1000);  // -> usleep
}

echo "ready\n";
for ($round = 1; ; $round++) {
	outer(50);  // -> outer
	if ($round % 200 == 0)
		pause_here();  // -> pause_here
}
