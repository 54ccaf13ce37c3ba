package memory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestThoseThatWaitTakeTurns: what one user gives back is offered to each account in turn,
// however many wait on one of them, and wakes no waiter that gets nothing.
func TestThoseThatWaitTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1 << 20)
		holder := b.Conn().Account("holder")
		holder.Add(Requests, 1<<20)
		granted := make(chan string, 100)
		wait := func(a *Account, user string) {
			go func() {
				if a.Wait(t.Context(), Requests, 2<<10, time.Minute) == nil {
					granted <- user
				}
			}()
			synctest.Wait()
		}
		many, few := b.Conn().Account("many"), b.Conn().Account("few")
		for range 50 {
			wait(many, "many")
		}
		wait(few, "few")
		wait(few, "few")
		holder.Give(Requests, 1<<10)
		synctest.Wait()
		require.Empty(t, granted)
		require.Equal(t, 50, many.queue.Len(), "all wait where they did")
		var got []string
		for len(got) < 4 {
			holder.Give(Requests, 1<<10)
			synctest.Wait()
			for len(granted) > 0 {
				got = append(got, <-granted)
			}
		}
		require.Equal(t, []string{"many", "few", "many", "few"}, got[:4])
		holder.Give(Requests, holder.by[Requests])
		synctest.Wait()
		require.Len(t, granted, 52-len(got))
		require.Zero(t, b.waiting.Len())
	})
}

// TestWhoWantsLessMayGoFirst: one that waits for more than there will be does not keep those
// behind it.
func TestWhoWantsLessMayGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1 << 20)
		a := b.Conn().Account("u")
		grab(a)
		done := make(chan bool, 2)
		go func() { done <- a.Wait(t.Context(), Requests, 1<<17, time.Second) == nil }()
		synctest.Wait()
		go func() { done <- a.Wait(t.Context(), Requests, 1<<10, time.Second) == nil }()
		synctest.Wait()
		a.Give(Answers, 2<<10)
		require.True(t, <-done, "the small one")
		require.False(t, <-done, "the large one, after a second")
	})
}

// TestWaitersArePassedABoundedNumberOfTimes: a large request lets as much go before it as it
// wants itself, and then has its turn, also of those that come when something is free.
func TestWaitersArePassedABoundedNumberOfTimes(t *testing.T) {
	for name, later := range map[string]bool{"by those that wait": false, "by those that come later": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const much, little = 64 << 10, 4 << 10
				b := New(1 << 20)
				a := b.Conn().Account("u")
				grab(a)
				large := make(chan bool, 1)
				go func() { large <- a.Wait(t.Context(), Requests, much, time.Minute) == nil }()
				synctest.Wait()
				small := make(chan bool, 200)
				passed := 0
				for len(large) == 0 && passed < 100 {
					wait := func() { small <- a.Wait(t.Context(), Requests, little, time.Minute) == nil }
					if !later {
						go wait()
						synctest.Wait()
					}
					a.Give(Answers, little)
					if later {
						go wait()
					}
					synctest.Wait()
					for len(small) > 0 {
						<-small
						passed++
						a.Give(Requests, little)
						a.Add(Answers, little)
						synctest.Wait()
					}
				}
				require.Len(t, large, 1)
				require.LessOrEqual(t, passed, much/little)
				a.conn.Close()
				synctest.Wait()
			})
		})
	}
}

// TestWhoseTimeIsUpLooksAgain: one that was too far behind to be asked takes what is there.
func TestWhoseTimeIsUpLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1 << 20)
		a := b.Conn().Account("u")
		grab(a)
		for range maxPassed {
			go a.Wait(t.Context(), Requests, 1<<17, time.Minute)
			synctest.Wait()
		}
		done := make(chan *kv.Error, 1)
		go func() { done <- a.Wait(t.Context(), Requests, 1<<10, time.Second) }()
		synctest.Wait()
		a.Give(Answers, 4<<10)
		synctest.Wait()
		require.Empty(t, done)
		require.Nil(t, <-done)
		require.EqualValues(t, 1<<10, a.by[Requests])
		a.conn.Close()
	})
}
