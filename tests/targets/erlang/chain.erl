%% SPDX-License-Identifier: LGPL-2.1-or-later
%% A process in a known chain of calls, f1 to f6, which does what uses all kinds of the machine's code:
%% C functions with and without garbage collection, exceptions, funs, messages, a deep stack.
-module(chain).
-export([main/0, blocked/0, dirty/0, f1/1, twice/1, deep/1]).

main() ->
    spawn(fun() ->
        ets:new(chain, [named_table, public]),
        io:format("~s~nready~n", [pid_to_list(self())]),
        loop(0)
    end).

%% Says what process_info() says of a process that is in C code for as long as it is asked.
blocked() ->
    Subject = binary:copy(<<"a">>, 30),
    Pid = spawn(fun() -> outer(Subject) end),
    timer:sleep(100),
    {current_stacktrace, Stack} = process_info(Pid, current_stacktrace),
    Names = [io_lib:format("~s:~s/~b ~s:~b", [M, F, A, proplists:get_value(file, L, "-"), proplists:get_value(line, L, 0)])
             || {M, F, A, L} <- Stack],
    io:format("~s~n~s~nready~n", [pid_to_list(Pid), lists:join(",", Names)]).

%% Two processes that dirty schedulers run, and what process_info() says of them.
dirty() ->
    {module, _} = code:ensure_loaded(erts_debug), %% else they wait for the code server first
    Pids = [spawn(fun() -> erts_debug:F(wait, 3600000) end) || F <- [dirty_cpu, dirty_io]],
    [begin
        {M, F, A} = in_module(Pid, erts_debug),
        io:format("~s in ~s:~s/~b~n", [pid_to_list(Pid), M, F, A])
     end || Pid <- Pids],
    io:format("ready~n").

%% Wait for a process to execute a function of a module; returns that function.
in_module(Pid, Module) ->
    case process_info(Pid, current_function) of
        {current_function, {Module, _, _} = Function} -> Function;
        _ -> timer:sleep(10), in_module(Pid, Module)
    end.

outer(Subject) -> X = inner(Subject), X + 1.
inner(Subject) -> X = match(Subject), X + 1.
match(Subject) ->
    Y = erlang:phash2(binary:copy(Subject, 100000)),
    case Subject of <<>> -> Y; _ -> match(Subject) end.  % no compiler can tell that it never returns

loop(N) ->
    f1(N),
    loop(N + 1).

f1(N) -> X = f2(N + 1), X + 1.
f2(N) -> X = f3(N + 1), X + 1.
f3(N) -> X = f4(N + 1), X + 1.
f4(N) -> X = f5(N + 1), X + 1.
f5(N) -> X = f6(N + 1), X + 1.

f6(N) ->
    X = work(N rem 8, N),
    X + N.

work(0, _) -> lists:sum(lists:seq(1, 50));
work(1, N) -> length(binary_to_list(term_to_binary({N, lists:seq(1, 20)})));
work(2, N) -> try throw(N) catch throw:V -> V + 1 end;
work(3, N) -> ets:insert(chain, {N rem 64, N}), [{_, V}] = ets:lookup(chain, N rem 64), V;
work(4, N) -> F = fun(V) -> twice(V) + 1 end, F(N);
work(5, N) -> self() ! {me, N}, receive {me, V} -> V after 1000 -> 0 end;
work(6, N) -> M = #{a => N, b => 1.5}, round(maps:get(b, M) * 2.0) + map_size(M#{c => N});
work(7, _) -> deep(40).

twice(V) -> V * 2.

deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).
