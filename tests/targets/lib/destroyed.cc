/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A library whose classes are destroyed a known number of times, for tests/targets/functions.cc. It is compiled without
 * optimization: then the destructor that deletes calls the other one, through the PLT or, of a hidden class, directly.
 */
#define HIDDEN __attribute__((visibility("hidden")))

struct sheet {
	int n = 0;
	virtual ~sheet();
};
sheet::~sheet()
{
	n++;
}

struct HIDDEN card {
	int n = 0;
	virtual ~card();
};
card::~card()
{
	n++;
}

/* The destructor of a folder ends a sheet that is a part of it, and a card. */
struct HIDDEN folder : sheet {
	card first;
	~folder() override;
};
folder::~folder()
{
	n++;
}

/* Deletes n objects of each class. */
extern "C" void destroy_all(int n)
{
	for (int i = 0; i < n; i++) {
		delete new sheet;
		delete new card;
		sheet *part = new folder;
		delete part;
	}
}
