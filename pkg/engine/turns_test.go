package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// A read that is stopped after a turn can be resumed, and the reads together return each row once, in
// order, for any limit and direction.
func TestPartialResultCanBeResumed(t *testing.T) {
	s := memstore.NewAutoSync()
	var want []string
	for i := range 40 {
		v := entry.Value{Version: kv.Version{Write: 1}}
		key := fmt.Sprintf("k%02d", i)
		if i%3 > 0 {
			v.Type = entry.TypeDeleted
		} else {
			want = append(want, key)
		}
		_, err := s.Append([]entry.Group{{Entries: []entry.Entry{
			{Table: entry.TableVersion, Key: []byte(key), CSN: 1, Value: v.Encode()}}}})
		require.NoError(t, err)
	}
	for _, reverse := range []bool{false, true} {
		for limit := range 4 {
			var got []string
			span := kv.Range(nil, nil)
			for reads := 0; ; reads++ {
				require.Less(t, reads, 100)
				r := entry.Read{Kind: entry.ReadRange, Span: span, CSN: 1, Limit: limit, Reverse: reverse}
				turns := engine.NewTurns(r, 2)
				complete := turns.Add(s.Read(0, turns.Next()))
				res := turns.Partial()
				if complete {
					res = turns.Result()
				}
				for _, row := range res.Rows {
					got = append(got, string(row.Key))
				}
				if res.Resume == nil {
					break
				}
				span = kv.Range(res.Resume, nil)
				if reverse {
					span = kv.Range(nil, res.Resume)
				}
			}
			if reverse {
				slices.Reverse(got)
			}
			require.Equal(t, want, got, "limit %d, reverse %v", limit, reverse)
		}
	}
}
