%% SPDX-License-Identifier: LGPL-2.1-or-later
%% Many processes in each state. Says what process_info() says of all of them, then waits; with "busy" some go on.
-module(processes).
-export([main/0, busy/0, deep/2, wait/1, init/1, handle_call/3, handle_cast/2]).
-behaviour(gen_server).

init(A) -> {ok, A}.
handle_call(_, _, S) -> {reply, ok, S}.
handle_cast(_, S) -> {noreply, S}.

wait(N) ->
    receive {go, X} -> X + N end.

deep(0, T) ->
    X = wait(T),
    {X};
deep(N, T) ->
    X = deep(N - 1, T),
    {X, N}.

said(P) ->
    case process_info(P, [registered_name, current_function, initial_call, message_queue_len, status,
                          current_stacktrace]) of
        undefined -> ok;
        [{_, Name}, {_, _Function}, {_, Initial}, {_, Messages}, {_, Status}, {_, Trace}] ->
            io:format(standard_error, "~w|~w|~w|~w|~w|~w~n",
                      [P, Name, Initial, Messages, Status, [{M, F, A} || {M, F, A, _} <- Trace]])
    end.

main() ->
    Ps = [spawn(?MODULE, deep, [I rem 7, I]) || I <- lists:seq(1, 400)],
    [{ok, _} = gen_server:start(?MODULE, [1], []) || _ <- lists:seq(1, 300)],
    register(first_of_them, hd(Ps)),
    [hd(Ps) ! {stop, X} || X <- lists:seq(1, 7)],
    Suspended = lists:sublist(Ps, 3, 2),
    [erlang:suspend_process(P) || P <- Suspended],
    timer:sleep(300), %% others begin meanwhile: the test waits for what it says
    lists:foreach(fun said/1, processes()),
    [hd(Suspended) ! {go, X} || X <- lists:seq(1, 3)], %% they stay in its outer queue
    io:format(standard_error, "ready~n", []),
    receive stop -> ok end.

%% Processes that receive go on, and are asked again.
turns(Ps) ->
    [P ! {go, 1} || P <- Ps],
    turns([spawn(?MODULE, deep, [I rem 7, I]) || I <- lists:seq(1, length(Ps))]).

busy() ->
    io:format(standard_error, "ready~n", []),
    turns([spawn(?MODULE, deep, [I rem 7, I]) || I <- lists:seq(1, 200)]).
