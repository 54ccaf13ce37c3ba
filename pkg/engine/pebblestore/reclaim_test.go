package pebblestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestReclaimGivesRoomBack: what is deleted while the disk is short of room is off the
// disk after Reclaim, and what lies beside it is untouched. Of what was deleted before,
// or is not noted, nothing is promised.
func TestReclaimGivesRoomBack(t *testing.T) {
	o := testOptions(t, vfs.NewMem())
	s, err := Open("store", o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r := rand.New(rand.NewPCG(1, 2))
	write := func(action entry.Action, csn kv.CSN, keys ...string) {
		t.Helper()
		var entries []entry.Entry
		for _, k := range keys {
			e := entry.Entry{Action: action, Table: entry.TableVersion, Key: []byte(k), CSN: csn}
			if action == entry.Set {
				payload := make([]byte, 4096)
				for i := range payload {
					payload[i] = byte(r.Uint32()) // which does not compress
				}
				v := entry.Value{Version: kv.Version{Write: 1}, Payload: payload}
				e.Value = v.Encode()
			}
			entries = append(entries, e)
		}
		p, err := s.Append([]entry.Group{{Shard: 1, Entries: entries}})
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
	}
	var gone, kept []string
	for i := range 500 {
		gone, kept = append(gone, fmt.Sprintf("gone/%03d", i)), append(kept, fmt.Sprintf("kept/%03d", i))
	}
	write(entry.Set, 1, gone...)
	write(entry.Set, 1, kept...)
	require.NoError(t, s.db.Flush())
	tables := func() int64 { return s.Metrics().TableBytes }
	full := tables()
	require.Greater(t, full, int64(1000*4096))
	s.Sparing(true)
	write(entry.DeleteBelow, 2, gone...)
	require.GreaterOrEqual(t, tables(), full, "deletions alone give nothing back")
	require.NoError(t, s.Reclaim(t.Context()))
	require.Less(t, tables(), full*6/10)
	for _, k := range kept {
		res := s.Read(1, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(k), CSN: 9})
		require.NoError(t, res.Err)
		require.Len(t, res.Rows, 1, k)
	}
	before := s.Metrics().Compactions
	require.NoError(t, s.Reclaim(t.Context()))
	require.Equal(t, before, s.Metrics().Compactions, "nothing was deleted since")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	write(entry.DeleteBelow, 2, kept[0])
	require.ErrorIs(t, s.Reclaim(ctx), context.Canceled)
	s.Sparing(false)
	write(entry.DeleteBelow, 2, kept[1])
	require.Empty(t, s.reclaims.take(), "nothing is noted while there is room")
}
