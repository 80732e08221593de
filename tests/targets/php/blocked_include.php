<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
$place = 'Shop\place';
usort($GLOBALS['two'], fn ($a, $b) => $place($a) && 0);
