package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/paged"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
)

var pastReader = kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 9}, Attempt: 1}

// retainedDirectory returns a shard with the directory of a large value in memory, and little else of it, and
// a snapshot for pastReader.
func retainedDirectory(t *testing.T, cache int) *counted {
	c := newPaged(t, memstore.NewAutoSync(), cache, mvcc.Paging{})
	c.score(10_000)
	c.restart(cache)
	c.use(1, call("z", "score", scoredMember(1)))
	env := msg.ToShard(0)
	env.Body = &msg.Read{Reader: pastReader, Gateway: 1, Number: 1, RetainNanos: int64(kv.DefaultScanRetention),
		LeaseNanos: -1}
	c.step(env)
	require.Equal(t, 1, c.m.Status(0).Keys)
	return c
}

// readAllAtSnapshot reads the whole value at that snapshot.
func readAllAtSnapshot(m *shard.Machine) *msg.Envelope {
	env := msg.ToShard(0)
	env.Body = &msg.Read{Reader: kv.TxnRef{TxnID: kv.TxnID{Time: 2, Rand: 9}, Attempt: 1}, Gateway: 1, Number: 1,
		Round: pastReader, CSN: m.CSN(), Incarnation: m.Incarnation(),
		Ops: []msg.Op{call("z", "range-by-rank", adt.Int(0), adt.Int(-1))}}
	return env
}

// TestPagesOfSnapshotReadsCountInTheCache: a read at a snapshot loads pages of a value in the cache, which
// then count in its size.
func TestPagesOfSnapshotReadsCountInTheCache(t *testing.T) {
	c := retainedDirectory(t, 400<<10)
	sent := c.step(readAllAtSnapshot(c.m))
	require.Len(t, sent, 1)
	require.Nil(t, msg.As[msg.ReadResponse](sent[0]).Failure)
	require.Len(t, msg.As[msg.ReadResponse](sent[0]).Results[0].Data, 20_000)
	require.Zero(t, c.m.Status(0).Keys, "the value is larger than the cache")
	require.NoError(t, c.m.Check())
}

// TestSnapshotReadUsesPageLoadedByAnotherRead: reads at snapshots share the pages of a value in memory, but
// not the reads of them. If another read has loaded a page that has been removed from the log since, this one
// uses it.
func TestSnapshotReadUsesPageLoadedByAnotherRead(t *testing.T) {
	c := retainedDirectory(t, 1<<30)
	past := c.m.Step(shard.Input{Now: c.now, Messages: []*msg.Envelope{readAllAtSnapshot(c.m)}})
	require.NotEmpty(t, past.Reads)
	c.use(2, call("z", "range-by-rank", adt.Int(0), adt.Int(-1)))
	for i := range past.Reads {
		res := c.store.Read(0, past.Reads[i])
		res.Rows = nil
		past.Send = append(past.Send, c.act(c.m.Step(shard.Input{Now: c.now, Reads: []entry.ReadResult{res}}))...)
	}
	require.Len(t, past.Send, 1)
	require.Nil(t, msg.As[msg.ReadResponse](past.Send[0]).Failure)
}

// TestDamagedValueOfPreparedRowIsNoPanic: after a restart a prepared row changes a value that is inconsistent.
// It can be neither applied nor aborted: it waits and is counted, and the shard continues.
func TestDamagedValueOfPreparedRowIsNoPanic(t *testing.T) {
	c := newPaged(t, memstore.NewAutoSync(), 1, mvcc.Paging{})
	c.score(10_000)
	prepare, decide := msg.ToShard(0), msg.ToShard(0)
	txn := kv.TxnRef{TxnID: kv.TxnID{Time: 20_000}, Attempt: 1}
	prepare.Body = &msg.Prepare{Txn: txn, CommitID: kv.CommitID{Gateway: 1}, Last: 9, LastIncarnation: 1,
		Piece: msg.Piece{Ops: []msg.Op{call("z", "increment", scoredMember(7), adt.Float(1))},
			Incarnation: c.m.Incarnation()}}
	c.step(prepare)
	newest := c.store.Read(0, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte("z"),
		CSN: c.m.CSN()}).Rows[0]
	head, _, err := entry.DecodeHead(newest.Value)
	require.NoError(t, err)
	// member 7 was present, with score 1, and is not
	patch := append(paged.AppendText([]byte{1}, string(scoredMember(7).Bytes)+"-"), 1, 2)
	_, err = c.store.Append([]entry.Group{{Entries: []entry.Entry{{Table: entry.TableVersion, Key: []byte("z"),
		CSN: c.m.CSN() + 1, Value: entry.EncodePatch(&head, patch)}}}})
	require.NoError(t, err)
	c.restart(1)
	decide.Body = &msg.Decision{Txn: txn, CommitID: kv.CommitID{Gateway: 1}, Last: 9, Commit: true}
	for range 3 {
		for _, sent := range c.step(decide) {
			require.Nil(t, msg.As[msg.DecisionAck](sent), "not applied")
		}
		c.now += int64(time.Second)
	}
	require.Positive(t, c.m.Status(0).Stats.ReadErrors)
	c.use(1, msg.Op{Kind: msg.OpPut, Key: []byte("other"), Value: []byte("x")})
}
