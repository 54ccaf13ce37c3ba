package entry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestGroupIsDecoded(t *testing.T) {
	steps := [][]entry.Entry{
		{{Table: entry.TableVersion, Key: []byte("k"), CSN: 1 << 40, Value: make([]byte, 300)}, {Table: entry.TableState}},
		{{Action: entry.DeleteBelow, Table: entry.TableOutcome, Key: []byte("o")},
			{Action: entry.Delete, Table: entry.TableReplica}},
	}
	b := entry.AppendGroup(entry.AppendGroup(nil, 7, steps[0]), 9, steps[1])
	csn, got, err := entry.DecodeGroup(b, nil)
	require.NoError(t, err)
	require.Equal(t, kv.CSN(9), csn, "after the last step")
	want := append(append([]entry.Entry(nil), steps[0]...), steps[1]...)
	require.Len(t, got, len(want))
	for i, e := range got {
		require.Equal(t, [3]string{string(want[i].Key), string(want[i].Value), want[i].Table.String()},
			[3]string{string(e.Key), string(e.Value), e.Table.String()})
		require.Equal(t, want[i].Action, e.Action)
		require.Equal(t, want[i].CSN, e.CSN)
	}
	for n := range b {
		_, got, err := entry.DecodeGroup(b[:n], nil)
		if err == nil {
			require.Less(t, len(got), len(want), "cut at %d: fewer whole entries", n)
		}
	}
	_, _, err = entry.DecodeGroup(append(b, 63, 0, 0, 0), nil)
	require.ErrorIs(t, err, entry.ErrEncoding)
}
