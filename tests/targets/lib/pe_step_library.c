/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of functions of Wine's libraries for pe_step.c: code of many hands, as distributions build
 * it. None of them may enter the system: there the trap flag would be seen by others.
 */
#include <windows.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

void step_library(void);

static volatile double sink;

static int __cdecl compare(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

static void text(void)
{
	char line[200];
	wchar_t wide[64];
	sink += snprintf(line, sizeof(line), "%d %-8s %#x %c %5.2f %e %g %lld %%", 17, "text", 255,
			 'c', 3.25, 1e100, 0.0001, 1234567890123LL);
	sink += sscanf("12 word 3.5 0x1f", "%*d %99s %*f %*i", line);
	sink += strtod("-12.75e-3", NULL) + (double) strtoul("0777", NULL, 0) + atoi("  42");
	sink += strcmp("one", "two") + (double) strspn("aabc", "ab") +
		(strstr("haystack", "st") != NULL);
	strcpy(line, "a,b;c");
	for (char *word = strtok(line, ",;"); word != NULL; word = strtok(NULL, ",;"))
		sink += *word;
	sink += (double) wcslen(wcscpy(wide, L"wide")) + _wtoi(L"99") + towupper(L'x');
	sink += swprintf(wide, 64, L"%ls %d", L"text", 3);
}

static void numbers(void)
{
	int values[] = {9, 3, 7, 1, 8, 2, 6, 4, 5, 0, 12, 11, 10}, key = 7;
	qsort(values, 13, sizeof(*values), compare);
	sink += bsearch(&key, values, 13, sizeof(*values), compare) != NULL;
	sink += sin(1.5) + exp(2.5) + pow(1.7, 3.3) + log(7.5) + floor(2.5) + fmod(7.5, 2.0) +
		atan2(1, 2);
	struct tm tm = {.tm_year = 100, .tm_mon = 5, .tm_mday = 17, .tm_hour = 3};
	char line[64];
	sink += (double) strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S %j", &tm);
}

static void system_library(void)
{
	char line[64];
	wchar_t wide[64];
	FILETIME time = {0x12345678, 0x01d00000};
	SYSTEMTIME fields;
	sink += MultiByteToWideChar(CP_UTF8, 0, "gr\xc3\xbc\xc3\x9f", -1, wide, 64);
	sink += WideCharToMultiByte(CP_UTF8, 0, L"gr\u00fc\u00df", -1, line, 64, NULL, NULL);
	sink += FileTimeToSystemTime(&time, &fields) + lstrlenW(L"length") +
		lstrcmpiA("One", "oNE");
	void *block = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, 400);
	sink += block != NULL && HeapFree(GetProcessHeap(), 0, block);
	CRITICAL_SECTION section;
	InitializeCriticalSection(&section);
	EnterCriticalSection(&section);
	LeaveCriticalSection(&section);
	DeleteCriticalSection(&section);
	sink += GetModuleHandleA("ntdll") != NULL;
	sink += GetProcAddress(GetModuleHandleW(L"kernel32"), "CreateFileW") != NULL;
	SetLastError(5);
	sink += GetLastError() + GetTickCount() % 2;
	sink += GetEnvironmentVariableA("PATH", line, sizeof(line));
}

void step_library(void)
{
	text();
	numbers();
	system_library();
}
