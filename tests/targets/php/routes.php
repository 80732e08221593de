<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A request of php-fpm whose address says which function serves it: /route/3?private=... by route3(). */

function spin()
{
	for ($i = 0, $end = hrtime(true) + 20000000; hrtime(true) < $end;)
		$i++;
	return $i;
}

function route0() { return spin(); }
function route1() { return spin(); }
function route2() { return spin(); }
function route3() { return spin(); }
function route4() { return spin(); }

$function = "route" . explode("/", $_GET["path"])[2];
echo $function() >= 0 ? "served\n" : "\n";
