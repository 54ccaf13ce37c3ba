package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
)

// The command of a report repeats the run, and so does the command of the
// report of that, on the same cluster.
func TestACommandThatWasRepeatedOnceIsRepeatedTheSame(t *testing.T) {
	for _, args := range []string{
		"--addr a:1,b:2 --connections 3 --skew 2",
		"--addr a:1 --own-cluster=false",
		"--own-cluster --nodes 5",
	} {
		command := func(args []string) string {
			c := newApplication(environment{}, bankApp)
			require.NoError(t, c.ParseFlags(args))
			return repeatFlags(c)
		}
		once := command(strings.Fields(args))
		require.Equal(t, strings.Contains(args, "--addr"), strings.Contains(once, "--addr="), once)
		require.Equal(t, strings.Contains(args, "--nodes"), strings.Contains(once, "--nodes="), once)
		require.Equal(t, once, command(words(once)[1:]), args)
	}
}

// closedBook is a store of data types that cannot be read at the end.
type closedBook struct{ store }

func (closedBook) Calls() app.DB { return addsOnly{} }

type addsOnly struct{ app.DB }

func (addsOnly) Execute(_ context.Context, calls ...app.Call) (app.Executed, error) {
	for _, c := range calls {
		if c.Method != "add" {
			return app.Executed{}, kv.Errorf(kv.KindPermissionDenied, "not for your eyes")
		}
	}
	return app.Executed{Answers: make([]app.Answer, len(calls))}, nil
}

func TestAnApplicationThatCannotBeVerifiedSaysWhy(t *testing.T) {
	var out, errs output
	env := environment{out: &out, err: &errs, open: func(context.Context, target) (store, error) {
		return closedBook{closing{&loadtest.Store{}, newProgram(t, nil)}}, nil
	}}
	require.Equal(t, exitFailed, execute(t.Context(), env, []string{"app", "raw-mix", "--adds", "100", "--count", "10"}))
	require.Contains(t, errs.String(), "the invariants could not be checked: ")
	require.Contains(t, errs.String(), "not for your eyes")
	require.NotContains(t, errs.String(), "too short", "everything committed")
}
