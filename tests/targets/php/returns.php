<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* C code calls outer(), which has C code call inner() and go on with a generator. */

function inner($x)
{
	return $x + 1;
}

function numbers()
{
	yield 1;
}

class Ends
{
	public function __destruct()
	{
	}
}

function outer($a, $b)
{
	array_map('inner', [$a]);
	foreach (numbers() as $w)
		new Ends;
	return $a <=> $b;
}

function run()
{
	$l = [3, 1];
	usort($l, 'outer');
}

run();
