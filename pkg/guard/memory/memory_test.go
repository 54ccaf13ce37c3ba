package memory

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// grab takes as much as there is, in small steps.
func grab(a *Account) {
	for a.Take(Answers, 1<<10) == nil {
	}
}

func TestWhoTakesAllLeavesSomethingForTheNext(t *testing.T) {
	const total = 64 << 20
	b := New(total)
	left := float64(total)
	for i := range 10 {
		user := fmt.Sprint("u", i)
		for range 10 {
			grab(b.Conn().Account(user))
		}
		left *= 0.8
		require.InEpsilon(t, left, float64(total-b.Stats().Used["responses"]), 0.01, "after %d users", i+1)
	}
}

func TestOneConnectionHasLessThanItsUser(t *testing.T) {
	const total = 64 << 20
	b := New(total)
	first, second := b.Conn().Account("u"), b.Conn().Account("u")
	grab(first)
	require.InDelta(t, total*3/19, b.Stats().Used["responses"], 1<<11)
	require.Nil(t, second.Take(Streams, 1<<20), "another connection goes on")
	grab(second)
	require.InDelta(t, total/5, b.Stats().Used["responses"]+b.Stats().Used["streams"], 1<<11)
}

func TestEachUserHasALittleAtAnyTime(t *testing.T) {
	const total = 1 << 20
	b := New(total)
	b.Conn().Account("greedy").Add(Requests, 2*total)
	a := b.Conn().Account("u")
	require.Nil(t, a.Take(Answers, total/1024))
	err := a.Take(Answers, 1)
	require.Equal(t, kv.KindResourceExhausted, err.Kind)
	require.Contains(t, err.Text, "--memory-budget")
	require.Contains(t, err.Text, "unread responses")
	require.EqualValues(t, 1, b.Stats().Refused["responses"])
}

// TestWhatCannotBeIsInvalid: to come back later would be no use.
func TestWhatCannotBeIsInvalid(t *testing.T) {
	b := New(64 << 20)
	b.Process = func(callers int64) int64 { return 10 * callers }
	a := b.Conn().Account("u")
	require.Nil(t, a.Take(Requests, a.Most()))
	a.Give(Requests, a.Most())
	for name, err := range map[string]*kv.Error{
		"take":  a.Take(Requests, a.Most()+1),
		"wait":  a.Wait(t.Context(), Requests, a.Most()+1, time.Hour),
		"never": a.Never(Requests, a.Most()+1),
	} {
		require.Equal(t, kv.KindInvalid, err.Kind, name)
		require.Contains(t, err.Text, "--memory-budget", name)
		require.Contains(t, err.Hint, "--memory-budget 641MiB", name)
	}
	require.EqualValues(t, 3, b.Stats().Refused["requests"])
	require.Nil(t, a.Never(Requests, a.Most()))
	b.Process = func(int64) int64 { return 0 }
	require.Equal(t, "split the request", a.Never(Requests, 1<<40).Hint)
}

func TestWaitingForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1 << 20)
		c := b.Conn()
		a := c.Account("u")
		grab(a)
		require.NotNil(t, a.Wait(t.Context(), Requests, 1<<16, time.Second), "nobody gives")
		require.EqualValues(t, 1, b.Stats().Refused["requests"])
		done := make(chan *kv.Error)
		go func() { done <- a.Wait(t.Context(), Requests, 1<<16, time.Minute) }()
		synctest.Wait()
		a.Give(Answers, 1<<10)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("that was not enough")
		default:
		}
		a.Give(Answers, 1<<18)
		require.Nil(t, <-done)
		grab(a)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- a.Wait(ctx, Requests, 1<<17, time.Minute) }()
		synctest.Wait()
		cancel()
		require.NotNil(t, <-done)
		go func() { done <- a.Wait(t.Context(), Requests, 1<<17, time.Minute) }()
		synctest.Wait()
		c.Close()
		require.Equal(t, kv.KindCancelled, (<-done).Kind)
	})
}

// TestMemoryOfCallInFlightOutlastsItsConnection: a client that leaves does not leave its work to others.
func TestMemoryOfCallInFlightOutlastsItsConnection(t *testing.T) {
	b := New(1 << 20)
	c := b.Conn()
	a := c.Account("u")
	require.Nil(t, a.Take(Requests, 1<<17))
	require.Nil(t, a.Take(Answers, 1<<10))
	c.Close()
	c.Close()
	require.EqualValues(t, 1<<17, b.used)
	require.NotNil(t, b.Conn().Account("u").Take(Requests, 1<<17), "it is the same user's")
	a.Give(Requests, 1<<17)
	require.Zero(t, b.used)
	a.Give(Answers, 1<<10)
	require.Zero(t, b.used)
}

func TestWithoutBounds(t *testing.T) {
	var b *Budget
	a := b.Conn().Account("u")
	require.Nil(t, a.Take(Streams, 1<<60))
	a.Add(Streams, 1)
	a.Give(Streams, 1)
	b.Conn().Close()
	require.Zero(t, b.Stats().Total)
}

// TestItAddsUp: whatever is taken, given back and closed, all is free in the end.
func TestItAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(1 << 20)
		type taken struct {
			a *Account
			k Kind
			n int64
		}
		conns := []*Conn{b.Conn(), b.Conn(), b.Conn()}
		var all []taken
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			c := conns[rapid.IntRange(0, 2).Draw(t, "conn")]
			a := c.Account(rapid.SampledFrom([]string{"u", "v"}).Draw(t, "user"))
			x := taken{a, Kind(rapid.IntRange(0, int(numKinds)-1).Draw(t, "kind")),
				int64(rapid.IntRange(0, 1<<19).Draw(t, "bytes"))}
			switch rapid.SampledFrom([]string{"take", "take", "add", "give", "close"}).Draw(t, "verb") {
			case "take":
				if a != nil && a.Take(x.k, x.n) == nil {
					all = append(all, x)
				}
			case "add":
				if a != nil && x.k != Requests {
					a.Add(x.k, x.n)
					all = append(all, x)
				}
			case "give":
				if len(all) > 0 {
					all[0].a.Give(all[0].k, all[0].n)
					all = all[1:]
				}
			case "close":
				c.Close()
			}
		}
		for _, x := range all {
			x.a.Give(x.k, x.n)
		}
		if b.used < 0 {
			t.Fatalf("%d bytes are less than nothing", b.used)
		}
		if b.used != 0 {
			t.Fatalf("%d bytes are left", b.used)
		}
		for _, c := range conns {
			c.Close()
		}
		if len(b.users) != 0 || b.by != [numKinds]int64{} {
			t.Fatalf("%v, %v are left", b.users, b.by)
		}
	})
}
