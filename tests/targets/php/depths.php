<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls at a random depth, which the functions' names say: d7 calls d8, and below d0 is turn. At the bottom is one of the leaves:
 * a loop, a generator, one that yields from another, functions that C calls, many short calls, code that is made for one
 * call. Every fourth of the functions is a generator.
 *
 * arguments: "naps": each leaf waits for a moment instead; "expressions": each is a regular expression, of which PCRE makes code
 */

const DEEPEST = 40;

function spin($n)
{
	$total = 0;
	for ($i = 0; $i < $n; $i++)
		$total += $i * $i;
	return $total;
}

function loop()
{
	return spin(2000);
}

class Key
{
	public static function key($a, $b)
	{
		return spin(300) * 0 + ($a <=> $b);
	}
}

function sorting()
{
	$list = [3, 1, 2, 5, 4];
	usort($list, ['Key', 'key']);
	return $list;
}

function mapping()
{
	return array_map(fn ($n) => spin(300) + $n, range(0, 5));
}

function made()
{
	for ($i = 0; $i < 5; $i++)
		yield spin(300) + $i;
}

function outer()
{
	yield from made();
}

function generating()
{
	foreach (made() as $n)
		;
}

function delegating()
{
	foreach (outer() as $n)
		;
}

function nothing()
{
	return null;
}

function calling()
{
	for ($i = 0; $i < 200; $i++)
		nothing();
}

function evaluating()
{
	return eval('return spin(1000);');
}

function matching()
{
	for ($i = 0; $i < 5; $i++)
		preg_match('/a(b|c)+d(x+x+)+y/', "abcbcdxxxxxxxxxxxx$i");
}

function napping()
{
	usleep(random_int(0, 20000));
}

for ($n = 0; $n <= DEEPEST; $n++) {
	$inner = $n + 1;
	$call = $inner % 4 == 3 ? "d$inner(\$deepest)->current()" : "d$inner(\$deepest)";
	$how = $n % 4 == 3 ? 'yield' : 'return';
	eval("function d$n(\$deepest)
{
	if (\$deepest == $n) {
		$how LEAVES[array_rand(LEAVES)]();
		return;
	}
	$how $call;
}");
}

function turn()
{
	return d0(random_int(0, DEEPEST - 1));
}

function work()
{
	while (true)
		turn();
}

define('LEAVES', match ($argv[1] ?? '') {
	'naps' => ['napping'],
	'expressions' => ['matching'],
	default => ['loop', 'sorting', 'mapping', 'generating', 'delegating', 'calling', 'evaluating'],
});
echo "ready\n";
work();
