package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func blocks(t *testing.T, a *answers, free func()) admission {
	t.Helper()
	got := make(chan admission, 1)
	go func() { got <- a.admit() }()
	select {
	case <-got:
		t.Fatal("admit did not block")
	case <-time.After(20 * time.Millisecond):
	}
	free()
	return <-got
}

func TestAdmitBlocksWhileTheQueueIsFull(t *testing.T) {
	a := newAnswers(2, 1<<20)
	require.Equal(t, admitted, a.admit())
	require.Equal(t, admitted, a.admit())
	a.put(1, gateway.Response{})
	a.put(2, gateway.Response{})
	for n := range uint64(2) {
		require.Equal(t, full, a.admit(), "answered calls count until they are taken")
		a.refuse(3+n, kv.TxnID{}, &kv.Error{})
	}
	require.Equal(t, admitted, blocks(t, a, func() { require.Len(t, a.take(), 4) }))
	require.True(t, a.wasBlocked())
	require.Equal(t, admitted, a.admit())
	require.False(t, a.wasBlocked())
	require.Equal(t, full, a.admit(), "refused calls have not been counted")
}

func TestAdmitBlocksWhileTooManyBytesAreUnread(t *testing.T) {
	a := newAnswers(100, 1000)
	require.Equal(t, admitted, a.admit())
	a.put(1, gateway.Response{Results: []msg.Result{{Value: make([]byte, 1000)}}})
	require.Equal(t, admitted, blocks(t, a, func() { a.take() }))
}

func TestClosingFreesTheReader(t *testing.T) {
	a := newAnswers(1, 1)
	require.Equal(t, admitted, a.admit())
	a.put(1, gateway.Response{Results: []msg.Result{{}}})
	require.Equal(t, closed, blocks(t, a, a.close))
	a.put(2, gateway.Response{})
	require.Empty(t, a.take(), "what comes after the end is dropped")
}

func TestOneWakeForAllThatIsQueued(t *testing.T) {
	a := newAnswers(10, 1<<20)
	for n := range uint64(5) {
		a.admit()
		a.put(n, gateway.Response{})
	}
	require.Len(t, a.wake, 1)
	<-a.wake
	require.Len(t, a.take(), 5)
	require.Empty(t, a.wake)
	require.Empty(t, a.take())
}

func TestTheStreamIsOverWhenAllIsAnswered(t *testing.T) {
	a := newAnswers(10, 1<<20)
	over := func(draining bool) bool { done, _ := a.over(draining); return done }
	require.False(t, over(false))
	require.True(t, over(true))
	a.admit()
	require.False(t, over(true))
	a.readerEnded(nil)
	require.False(t, over(false))
	a.put(1, gateway.Response{})
	require.False(t, over(false))
	a.take()
	require.True(t, over(false))
}
