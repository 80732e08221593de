<?php
// SPDX-License-Identifier: LGPL-2.1-or-later
// A fiber that another fiber has resumed prints PHP's own trace, and the line before that where it waits.

function wait(): void
{
    debug_print_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    printf("waiting %d\n", __LINE__ + 2);
    print "ready\n";
    fgets(STDIN);
}

function inner(int $number): void
{
    Fiber::suspend($number);
    wait();
}

function outer(Fiber $other): void
{
    $resume = fn () => $other->resume();
    $resume();
}

function schedule(Fiber $fiber, Fiber $other): void
{
    $fiber->start($other);
}

$other = new Fiber('inner');
$other->start(1);
schedule(new Fiber('outer'), $other);
