/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/symbolize.h>

static void expect(const char *mangled, const char *wanted)
{
	char *text = sw_demangle(mangled);
	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

TEST(test_cpp)
{
	expect("_ZN2ns1fEi", "ns::f(int)");
	expect("_ZNK2ns12_GLOBAL__N_13Foo6methodEPKc",
	       "ns::(anonymous namespace)::Foo::method(char const*) const");
	expect("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_",
	       "std::remove_reference<int&>::type&& std::move<int&>(int&)");
	expect("_ZN1AC1Ev", "A::A()");
	expect("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
	expect("_ZN2ns3barEv.constprop.0", "ns::bar() [clone .constprop.0]");
}

TEST(test_rust_legacy)
{
	/* The hash that ends legacy names is left out. */
	expect("_ZN3std2rt10lang_start17h3a7c1e5f09b8d246E", "std::rt::lang_start");
	expect("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
	       "core::ptr::drop_in_place<alloc::string::String>");
}

/* RFC 2603, "Rust Symbol Name Mangling (v0)". */
TEST(test_rust_v0)
{
	expect("_RNvC6_123foo3bar", "123foo::bar");
	expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	expect("_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>");
	expect("_RNCNvC4main4main0", "main::main::{closure#0}");
}

TEST(test_not_mangled)
{
	assert_null(sw_demangle("main"));
	assert_null(sw_demangle(""));
	assert_null(sw_demangle("_"));
	assert_null(sw_demangle("_start"));
	assert_null(sw_demangle("_Z"));
	assert_null(sw_demangle("_ZN"));
	assert_null(sw_demangle("_Random_name"));
	assert_null(sw_demangle("package__sub__name")); /* not taken for Ada */
}

/* Names made to exhaust the stack, the memory or the patience of a demangler. */
TEST(test_hostile)
{
	char *name = malloc(1 << 16);
	assert_non_null(name);
	memset(name, 'P', 1 << 16);
	memcpy(name, "_Z1f", 4);
	name[(1 << 16) - 1] = '\0';
	assert_null(sw_demangle(name)); /* too long */

	memset(name, 'P', 4000);
	memcpy(name, "_Z1f", 4);
	strcpy(name + 4000, "i");
	assert_null(sw_demangle(name)); /* nests too deep */

	/* f(pair<int, int>, pair of two of those, pair of two of those ...): S_ is pair, S0_ the first
	 * one made of it, and the 30th is 2^30 times as long when written out. */
	strcpy(name, "_Z1fSt4pairIiiE");
	char *end = name + strlen(name);
	for (int i = 0; i < 30; i++) {
		char digit = (char) (i < 10 ? '0' + i : 'A' + i - 10);
		end += sprintf(end, "S_IS%c_S%c_E", digit, digit);
		char *text = i < 3 ? sw_demangle(name) : NULL;
		assert_true(i >= 3 || (text != NULL && strlen(text) > 50));
		free(text);
	}
	assert_null(sw_demangle(name));
	free(name);
}
