<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Says by debug_print_backtrace() where it is, and waits there for input. */

namespace Shop;

trait Waiting
{
	protected function wait_for($what)
	{
		return array_map(function ($x) {
			return $this->here($x);
		}, [$what]);
	}
}

abstract class Base
{
	use Waiting;

	public static function make(...$arguments)
	{
		return new static(...$arguments);
	}

	protected function here($x)
	{
		ob_start();
		debug_print_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS); $line = __LINE__;
		file_put_contents('php://stderr', ob_get_clean() . "line $line\nready\n"); fgets(STDIN);
		return $x;
	}
}

final class Order extends Base
{
	public function __construct(private $id)
	{
		$this->items();
	}

	private function items()
	{
		foreach ($this->all() as $item)
			$this->last = $item;
	}

	private function all()
	{
		yield from $this->some();
	}

	private function some()
	{
		yield 0;
		yield from $this->each();
	}

	private function each()
	{
		yield $this->wait_for($this->id);
	}

	public $last;
}

function place($id)
{
	$anonymous = new class {
		public function run($id)
		{
			return Order::make($id);
		}
	};
	return $anonymous->run($id);
}

$two = [1, 2];
include __DIR__ . '/blocked_include.php';
