#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
""".NET, where it is installed: the stacks of one program; all else is in runtime_clr.py."""
import dotnet
import runtime_clr

dotnet.run((runtime_clr.test_stacks,))
