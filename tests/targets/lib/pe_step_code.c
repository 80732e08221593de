/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions as compilers make them, for pe_step.c: built several times, each time with another
 * compiler or other options and another NAME. They call nothing that is not here.
 */
#include <stdarg.h>

#define NOINLINE    __attribute__((noinline))
#define GLUE2(a, b) a##b
#define GLUE(a, b)  GLUE2(a, b)
#define CODE        GLUE(step_code_, NAME)

void CODE(void);

static volatile int sink, zero;
static volatile double real = 1.5;
static int (*volatile pointer)(int);

static NOINLINE int leaf(int n)
{
	return n * 3 + zero;
}

static NOINLINE int saves_many(int a, int b, int c, int d)
{
	int e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d), i = leaf(e + f), j = leaf(g + h);
	return leaf(a + b) + leaf(c + d) + leaf(e + f + g + h) + i * j + a * b * c * d;
}

static NOINLINE int recursive(int n)
{
	int below = n > 0 ? recursive(n - 1) : leaf(n);
	sink += n;
	return below + n;
}

static NOINLINE int variable(int n)
{
	volatile char *bytes = __builtin_alloca((unsigned) n * 16U);
	bytes[0] = bytes[n] = (char) leaf(n);
	return bytes[0] + bytes[n];
}

static NOINLINE int page(int n)
{
	volatile char bytes[5000];
	bytes[n] = (char) leaf(n);
	return bytes[n];
}

static NOINLINE int large(int n)
{
	volatile char bytes[700000];
	bytes[n] = (char) leaf(n);
	int a = leaf(n), b = leaf(a);
	return bytes[n] + leaf(b) * a;
}

/* More than 1 MB below, so that saved registers are far from the frame's base. */
static NOINLINE double larger(int n)
{
	volatile char bytes[1200000];
	double a = real, b = real + n, c = real * n, d = a - b;
	bytes[n] = (char) leaf(n);
	int e = leaf(n), f = leaf(e);
	return bytes[n] + leaf(f) * e + a + b + c * d;
}

static NOINLINE double saves_xmm(int n)
{
	double a = real, b = real + n, c = real * n, d = a - b, e = a * b, f = b * c, g = c - d;
	int h = leaf(n), i = leaf(h);
	return a + b * c - d * e + f * g + leaf(h + i) * h + i + real;
}

static NOINLINE int arguments(int a, int b, int c, int d, int e, int f, int g, ...)
{
	va_list list;
	va_start(list, g);
	int h = va_arg(list, int), i = va_arg(list, int);
	va_end(list);
	return leaf(a + b + c + d) * leaf(e + f + g) + h * i;
}

static NOINLINE int tail(int n)
{
	return leaf(n + 1);
}

static NOINLINE int tail_saved(int n)
{
	int a = leaf(n), b = leaf(a) + n;
	return tail(a + b);
}

static NOINLINE int tail_pointer(int n)
{
	int a = leaf(n);
	sink = leaf(a) + n;
	return pointer(a);
}

static NOINLINE __attribute__((cold)) int rare(int n)
{
	return leaf(n) - 1;
}

/* The unlikely part is a function of its own where the compiler splits. */
static NOINLINE int split(int n)
{
	int a = leaf(n), b = leaf(a);
	if (__builtin_expect(n == zero + 5, 0)) {
		sink = rare(a) + rare(b);
		sink = rare(a + b) * n;
		if (sink == 77)
			return rare(n);
	}
	return leaf(a + b) + n * a;
}

static NOINLINE int switched(int n)
{
	int a = leaf(n);
	switch (n) {
	case 0: return a + leaf(1);
	case 1: return tail(a) * 2;
	case 2: sink = a; break;
	case 3: return leaf(a) + leaf(n);
	case 4: return saves_many(a, n, 1, 2);
	case 5: sink = leaf(n) * a; break;
	default: return 7;
	}
	return a + n;
}

static NOINLINE int early(int n)
{
	if (n == 3)
		return 1;
	int a = leaf(n), b = leaf(a), c = leaf(b);
	return a * b + c * n + leaf(a + b + c);
}

static NOINLINE int mutual(int n);
static NOINLINE int loops(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += leaf(i) * leaf(sum);
	return n > 1 ? mutual(n - 1) : sum;
}

static NOINLINE int mutual(int n)
{
	sink = leaf(n);
	return loops(n - 1);
}

void CODE(void)
{
	pointer = leaf;
	sink = leaf(1) + saves_many(1, 2, 3, 4) + recursive(4) + variable(9) + page(8) + large(7);
	sink += (int) larger(6) + (int) saves_xmm(5);
	sink += arguments(1, 2, 3, 4, 5, 6, 7, 8, 9) + tail(1) + tail_saved(2) + tail_pointer(3);
	sink += split(4) + split(5) + early(3) + early(4) + loops(4);
	for (int i = 0; i < 7; i++)
		sink += switched(i);
}
