<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Generators are resumed by a loop, by functions of their own, and by another generator. */

function numbers()
{
	yield 1;
	yield 2;
}

function all()
{
	yield from numbers();
}

function first($g)
{
	return $g->current();
}

function second($g)
{
	$g->next();
	return $g->current();
}

function sum()
{
	$s = 0;
	foreach (all() as $v)
		$s += $v;
	return $s;
}

function other($g, ...$more)
{
	$g->next();
	return $g->current() + count($more);
}

function run()
{
	$g = numbers();
	$n = first($g) + second($g) + sum();
	$g = all();
	return $n + first($g) + other($g, 1, 2, 3, 4, 5, 6, 7);
}

run();
