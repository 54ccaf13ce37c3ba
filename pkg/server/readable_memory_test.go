package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestReadAnswersWakeThoseThatWait: what a client has read is free for its calls that wait
// for memory, at once.
func TestReadAnswersWakeThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 1 << 20
		account := memory.New(total).Conn().Account("u")
		count := counter(account)
		count(total / 2)
		done := make(chan *kv.Error, 1)
		go func() { done <- account.Wait(t.Context(), memory.Requests, total/8, memoryTimeout) }()
		synctest.Wait()
		began := time.Now()
		count(-total / 2)
		require.Nil(t, <-done)
		require.Zero(t, time.Since(began))
	})
}
