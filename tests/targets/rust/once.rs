// SPDX-License-Identifier: LGPL-2.1-or-later
// Threads that wait for what others initialise: "waits-X" for "runs-X". With an argument two need each other: "cycle-1" and
// "cycle-2".
use std::sync::{Barrier, LazyLock, Once, OnceLock};
use std::thread;

static READY: Barrier = Barrier::new(2);
static CELL: OnceLock<u32> = OnceLock::new();
static LAZY: LazyLock<u32> = LazyLock::new(initialise);
static ONCE: Once = Once::new();
static BOTH: Barrier = Barrier::new(2);
static FIRST: OnceLock<u32> = OnceLock::new();
static SECOND: OnceLock<u32> = OnceLock::new();

#[inline(never)]
fn initialise() -> u32 {
    READY.wait();
    loop {
        thread::park();
    }
}

fn cell() {
    CELL.get_or_init(initialise);
}

fn lazy() {
    LazyLock::force(&LAZY);
}

fn once() {
    ONCE.call_once(|| {
        initialise();
    });
}

fn start(name: &str, function: fn()) -> thread::JoinHandle<()> {
    thread::Builder::new().name(name.to_string()).spawn(function).unwrap()
}

fn first() {
    FIRST.get_or_init(|| {
        BOTH.wait();
        *SECOND.get_or_init(|| 1)
    });
}

fn second() {
    SECOND.get_or_init(|| {
        BOTH.wait();
        *FIRST.get_or_init(|| 2)
    });
}

fn main() {
    let mut threads = Vec::new();
    if std::env::args().count() > 1 {
        threads.push(start("cycle-1", first));
        threads.push(start("cycle-2", second));
    } else {
        for (runs, waits, function) in [
            ("runs-cell", "waits-cell", cell as fn()),
            ("runs-lazy", "waits-lazy", lazy),
            ("runs-once", "waits-once", once),
        ] {
            threads.push(start(runs, function));
            READY.wait();
            threads.push(start(waits, function));
            threads.push(start(waits, function));
        }
    }
    println!("ready");
    for thread in threads {
        thread.join().unwrap();
    }
}
