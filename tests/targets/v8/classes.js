// SPDX-License-Identifier: LGPL-2.1-or-later
// Constructors and calls of all kinds, without end: build makes objects of classes that derive from each other, with
// constructors of their own and without; Root's calls leaf, all else that is called calls leaf, too.
'use strict';
let sink = 0;

function leaf(x) {
    let s = x;
    for (let i = 0; i < 8; i++)
        s = (s * 31 + i) % 1000003;
    sink ^= s;
    return s;
}

class Root {
    constructor(x, ...rest) {
        this.x = leaf(x + rest.length);
    }

    method(y) {
        return leaf(this.x + y);
    }

    get prop() {
        return leaf(this.x);
    }

    static make(x) {
        return new this(x);
    }
}
class Plain extends Root {}
class Fields extends Plain {
    a = leaf(1);
    #b = 2;

    sum() {
        return super.method(this.a + this.#b);
    }
}
class Explicit extends Fields {
    constructor(...all) {
        super(...all, 7);
        this.late = all.length;
    }

    method(y) {
        return super.method(y) + 1;
    }
}
class Last extends Explicit {}

function Old(x) {
    this.x = leaf(x);
}

function sloppy(a, b, c, d) {
    return leaf(a + (b | 0) + (c | 0) + (d | 0));
}
const bound = sloppy.bind(null, 1, 2);
const proxy = new Proxy(sloppy, {apply: (target, self, all) => Reflect.apply(target, self, all)});

function* numbers(n) {
    for (let i = 0; i < n; i++)
        yield leaf(i);
}

function build(k) {
    let s = 0;
    const all = [k, k + 1, k + 2];
    s += new Last(k).x + new Plain(k, 1, 2).x + new Explicit(...all).x + new Fields().sum();
    s += Reflect.construct(Last, all).method(k) + Reflect.construct(Root, all, Plain).x + Last.make(k).prop;
    s += new Old(k).x + sloppy(k) + sloppy(k, 1, 2, 3, 4, 5) + sloppy.call(null, k) + sloppy.apply(null, all);
    s += bound(k) + new (Root.bind(null, k))().x + proxy(k, 1) + sloppy(...all) + Math.max(...all, leaf(k));
    for (const one of numbers(3))
        s += one;
    s += [3, 1, 2].sort((a, b) => leaf(a) % 2 || a - b)[0] + all.map(sloppy)[0] + all.reduce(sloppy, 0);
    s += `${{toString: () => String(leaf(k))}}`.length + Number({valueOf: () => leaf(k)});
    s += /a(b+)c/.exec(`xabbbbc${k & 7}`)[1].length + JSON.stringify({toJSON: () => leaf(k), k}).length;
    const error = k % 64 ? null : new RangeError('made');
    try {
        if (error)
            throw error;
        new (class extends Root { constructor() { if (k % 32) super(k); return k % 32 ? undefined : {}; } })();
    } catch {
        s += leaf(k);
    }
    const {x, ...others} = new Last(k), [first = leaf(k), ...tail] = numbers(2);
    return s + x + first + tail.length + Object.keys(others).length + new Map([[k, leaf(k)]]).get(k);
}

console.log('ready');
for (let k = 0; ; k = (k + 1) & 0xffff)
    build(k);
