<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each part of what is stepped (tests/fixtures/record_instants.py) is between two getmypid(). It says that it is ready and
 * waits for a line. */

class Ended extends Exception
{
}

function leaf($number = 1)
{
	return $number;
}

function call()
{
	getmypid();
	leaf();
	getmypid();
}

function by_c()
{
	getmypid();
	array_map('leaf', [1]);
	getmypid();
}

function numbers()
{
	yield 1;
	yield 2;
}

function all()
{
	yield from numbers();
}

function start($generator)
{
	return $generator->current();
}

function resume()
{
	$generator = all();
	start($generator); // it was resumed by another call before
	getmypid();
	$generator->next();
	getmypid();
}

function thrower($ended)
{
	throw $ended;
}

function between($ended)
{
	thrower($ended);
}

function caught()
{
	$ended = new Ended;
	getmypid();
	try {
		between($ended);
	} catch (Ended $e) {
	}
	getmypid();
}

echo "ready\n";
fgets(STDIN);
for ($i = 0; $i < 20; $i++) {
	call();
	by_c();
	resume();
	caught();
}
