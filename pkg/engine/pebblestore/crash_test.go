package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

const crashShards = 3

// numbered is batch n: on every shard its number as state, and a version of a
// key of its own. The padding makes memtables fill and logs rotate.
func numbered(n, padding int) (groups []entry.Group) {
	v := entry.Value{Version: kv.Version{Write: uint64(n)}, Payload: make([]byte, padding)}.Encode()
	for s := range kv.ShardID(crashShards) {
		groups = append(groups, entry.Group{Shard: s, Entries: []entry.Entry{
			{Action: entry.Set, Table: entry.TableVersion, Key: fmt.Appendf(nil, "k%06d", n), CSN: kv.CSN(n), Value: v},
			{Action: entry.Set, Table: entry.TableState, Value: fmt.Append(nil, n)},
		}})
	}
	return groups
}

// survivors checks that what a store holds is a prefix of numbered batches,
// each whole, and gives its length.
func survivors(t require.TestingT, e engine.Engine) int {
	n := -1
	for s := range kv.ShardID(crashShards) {
		got := 0
		state := e.Read(s, stateRow)
		require.NoError(t, state.Err)
		for _, r := range state.Rows {
			_, err := fmt.Sscan(string(r.Value), &got)
			require.NoError(t, err)
		}
		if n < 0 {
			n = got
		}
		require.Equal(t, n, got, "%v has another prefix than s0", s)
		res := e.Read(s, entry.Read{Kind: entry.ReadRange, Span: kv.Range(nil, nil), CSN: ^kv.CSN(0)})
		require.NoError(t, res.Err)
		require.Len(t, res.Rows, n, "%v", s)
		for i, r := range res.Rows {
			require.EqualValues(t, i+1, r.CSN, "%v", s)
		}
	}
	return n
}

// TestCrashKeepsADurablePrefix takes the machine down at random moments while
// one goroutine appends and others learn what is durable. The disk then holds
// what was synced and a random part of the rest.
func TestCrashKeepsADurablePrefix(t *testing.T) {
	crashOften(t, testOptions(t, nil))
}

// TestCrashKeepsAPrefixWithoutALog is the same with a store whose durable batches are those in tables.
func TestCrashKeepsAPrefixWithoutALog(t *testing.T) {
	crashOften(t, unlogged(testOptions(t, nil)))
}

func crashOften(t *testing.T, o Options) {
	runs := 40
	if testing.Short() {
		runs = 8
	}
	lost, some := 0, 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l, rest := crashOnce(t, o, seed, rng)
		lost, some = lost+l, some+rest
	}
	require.NotZero(t, lost, "no crash lost anything: the test does not test")
	require.NotZero(t, some, "no batch survived")
}

func crashOnce(t *testing.T, o Options, seed uint64, rng *rand.Rand) (lost, rest int) {
	fs := vfs.NewCrashableMem()
	o.FS = fs
	o.MemTableBytes = 64 << 10
	s, err := Open("store", o)
	require.NoError(t, err)

	var durable atomic.Uint64
	waits := make(chan engine.Position, 1000)
	waited := make(chan error, 1)
	go func() {
		for p := range waits {
			if err := s.WaitDurable(p); err != nil {
				waited <- err
				return
			}
			durable.Store(uint64(p))
		}
		waited <- nil
	}()

	total := 1 + rng.IntN(300)
	crashAt := 1 + rng.IntN(total)
	padding := rng.IntN(3000)
	var disk *vfs.MemFS
	var atLeast, atMost int
	for n := 1; n <= total; n++ {
		p, err := s.Append(numbered(n, padding))
		require.NoError(t, err)
		if rng.IntN(4) == 0 {
			waits <- p
		}
		if n == crashAt {
			// What is durable now must survive; more may become durable
			// while the disk's state is taken.
			atLeast = int(durable.Load())
			disk = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			atMost = n
		}
	}
	close(waits)
	require.NoError(t, <-waited)
	require.NoError(t, s.Close())

	o.FS = disk
	again, err := Open("store", o)
	require.NoError(t, err, "seed %d", seed)
	n := survivors(t, again)
	require.GreaterOrEqual(t, n, atLeast, "seed %d: a durable batch is lost", seed)
	require.LessOrEqual(t, n, atMost, "seed %d", seed)
	// The survivor goes on as a store does.
	p, err := again.Append(numbered(n+1, 1))
	require.NoError(t, err)
	require.NoError(t, again.WaitDurable(p))
	require.Equal(t, n+1, survivors(t, again))
	require.NoError(t, again.Close())
	return atMost - n, n
}

// TestWaitDurableMeansSynced crashes right after each WaitDurable, on a disk
// that keeps nothing that was not synced.
func TestWaitDurableMeansSynced(t *testing.T) {
	t.Run("with a log", func(t *testing.T) { crashAfterWaits(t, testOptions(t, nil)) })
	t.Run("without", func(t *testing.T) { crashAfterWaits(t, unlogged(testOptions(t, nil))) })
}

func crashAfterWaits(t *testing.T, o Options) {
	fs := vfs.NewCrashableMem()
	o.FS = fs
	s, err := Open("store", o)
	require.NoError(t, err)
	for n := 1; n <= 30; n++ {
		p, err := s.Append(numbered(n, 100))
		require.NoError(t, err)
		require.NoError(t, s.WaitDurable(p))
		crashed := o
		crashed.FS = fs.CrashClone(vfs.CrashCloneCfg{})
		again, err := Open("store", crashed)
		require.NoError(t, err)
		require.Equal(t, n, survivors(t, again))
		require.NoError(t, again.Close())
	}
	require.NoError(t, s.Close())
}

// TestCrashWhileOpening takes the machine down at every moment of a store's
// first start that a file operation separates.
func TestCrashWhileOpening(t *testing.T) {
	for stop := int64(1); ; stop++ {
		mem := vfs.NewCrashableMem()
		fs := &snapshotFS{FS: mem, stop: stop}
		s, err := Open("store", testOptions(t, fs))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		if fs.disk == nil {
			require.Greater(t, stop, int64(10), "the start has that many operations at least")
			return
		}
		again, err := Open("store", testOptions(t, fs.disk))
		require.NoError(t, err, "a crash at operation %d", stop)
		require.Zero(t, survivors(t, again))
		require.NoError(t, again.Close())
	}
}

// snapshotFS takes the disk's state before the operation with number stop.
type snapshotFS struct {
	vfs.FS
	ops  atomic.Int64
	stop int64
	disk *vfs.MemFS
}

func (fs *snapshotFS) count() {
	if fs.ops.Add(1) == fs.stop {
		fs.disk = fs.FS.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{})
	}
}

func (fs *snapshotFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	fs.count()
	return fs.FS.Create(name, c)
}

func (fs *snapshotFS) Rename(from, to string) error {
	fs.count()
	return fs.FS.Rename(from, to)
}

func (fs *snapshotFS) Remove(name string) error {
	fs.count()
	return fs.FS.Remove(name)
}

func (fs *snapshotFS) OpenDir(name string) (vfs.File, error) {
	fs.count()
	return fs.FS.OpenDir(name)
}
