package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func admit(a *answers) admission {
	what, _ := a.admit(callCost)
	return what
}

func answer(a *answers, number uint64, r gateway.Response) { a.put(number, r, counted{need: callCost}) }

// taken takes all answers, and has sent them.
func taken(a *answers) []queued {
	all := a.all()
	a.sent(all)
	return all
}

func blocks(t *testing.T, a *answers, free func()) admission {
	t.Helper()
	got := make(chan admission, 1)
	go func() { got <- admit(a) }()
	select {
	case <-got:
		t.Fatal("admit did not block")
	case <-time.After(20 * time.Millisecond):
	}
	free()
	return <-got
}

func TestAdmitBlocksWhileTheQueueIsFull(t *testing.T) {
	a := newAnswers(2, 1<<20, nil)
	require.Equal(t, admitted, admit(a))
	require.Equal(t, admitted, admit(a))
	answer(a, 1, gateway.Response{})
	answer(a, 2, gateway.Response{})
	for n := range uint64(2) {
		require.Equal(t, full, admit(a), "answered calls count until they are taken")
		a.refuse(3+n, kv.TxnID{}, &kv.Error{})
	}
	require.Equal(t, admitted, blocks(t, a, func() { require.Len(t, taken(a), 4) }))
	require.True(t, a.wasBlocked())
	require.Equal(t, admitted, admit(a))
	require.False(t, a.wasBlocked())
	require.Equal(t, full, admit(a), "refused calls have not been counted")
}

func TestAdmitBlocksWhileTooManyBytesAreUnread(t *testing.T) {
	a := newAnswers(100, 1000, nil)
	require.Equal(t, admitted, admit(a))
	answer(a, 1, gateway.Response{Results: []msg.Result{{Value: make([]byte, 1000)}}})
	require.Equal(t, admitted, blocks(t, a, func() { taken(a) }))
}

func TestClosingFreesTheReader(t *testing.T) {
	a := newAnswers(1, 1, nil)
	require.Equal(t, admitted, admit(a))
	answer(a, 1, gateway.Response{Results: []msg.Result{{}}})
	require.Equal(t, closed, blocks(t, a, a.close))
	answer(a, 2, gateway.Response{})
	require.Empty(t, taken(a), "what comes after the end is dropped")
}

func TestOneWakeForAllThatIsQueued(t *testing.T) {
	a := newAnswers(10, 1<<20, nil)
	for n := range uint64(5) {
		admit(a)
		answer(a, n, gateway.Response{})
	}
	require.Len(t, a.wake, 1)
	<-a.wake
	require.Len(t, taken(a), 5)
	require.Empty(t, a.wake)
	require.Empty(t, taken(a))
}

func TestTheStreamIsOverWhenAllIsAnswered(t *testing.T) {
	a := newAnswers(10, 1<<20, nil)
	over := func(draining bool) bool { done, _ := a.over(draining); return done }
	require.False(t, over(false))
	require.True(t, over(true))
	admit(a)
	require.False(t, over(true))
	a.readerEnded(nil)
	require.False(t, over(false))
	answer(a, 1, gateway.Response{})
	require.False(t, over(false))
	taken(a)
	require.True(t, over(false))
}
