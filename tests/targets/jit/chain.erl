%% SPDX-License-Identifier: LGPL-2.1-or-later
%% inner <- middle <- outer, busy: a blocked process would be on no stack of the system's.
-module(chain).
-export([main/0, outer/1, middle/1, inner/2]).

inner(0, Sum) -> Sum;
inner(N, Sum) -> inner(N - 1, (Sum * 7 + N) rem 1000003).

middle(N) -> inner(N, 0) + 1.

outer(N) -> middle(N) + 1.

main() ->
    io:format("ready~n"),
    loop(0).

loop(Sum) -> loop((Sum + outer(1000000)) rem 1000003).
