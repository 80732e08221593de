<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Includes one new file after another out of code of the JIT: opcache keeps each, and the JIT compiles it.
 * "-> name" says what a line calls (tests/live/interpreted.py). FOLDER is where they are. */

function load($path)
{
	$v = include $path;  // -> {include}
	return $v + 1;
}

function outer($path)
{
	$v = load($path);  // -> load
	return $v + 1;
}

$function = "";
for ($i = 0; $i < 40; $i++)
	$function .= "function f%d_$i(\$n) { \$s = 0; for (\$i = 0; \$i < \$n; \$i++) \$s += \$i * $i; return \$s . 'x'; }\n";

echo "ready\n";
for ($n = 0; ; $n++) {
	$path = getenv("FOLDER") . "/$n.php";
	$text = str_replace("%d", $n, $function);  // -> str_replace
	file_put_contents($path, "<?php\n${text}return $n;\n");  // -> file_put_contents
	outer($path);  // -> outer
	unlink($path);  // -> unlink
}
