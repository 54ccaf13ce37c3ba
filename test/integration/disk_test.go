package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// The load of TestDiskUsageIsBounded: the number of keys, and the size of each value.
const (
	flatKeys  = 10_000
	flatValue = 1 << 10
	flatBatch = 10
)

// flatWarmup is the number of bytes written during which the store may grow: the logs reach their final
// number and are reused, and the first tables are merged. flatTotal is the number of bytes written in
// total, dozens of times the size of the keys.
const (
	flatWarmup = 200 << 20
	flatTotal  = 450 << 20
)

// flatFactor bounds the size of the store after the warmup, as a multiple of the largest size during it.
// Most of the size are logs and tables that wait for a compaction, which varies. Without garbage collection
// the factor would be at least 2.3.
const flatFactor = 2

// overwriter updates keys with values that cannot be compressed.
type overwriter struct {
	db      *client.DB
	written atomic.Int64
}

func (o *overwriter) run(ctx context.Context, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 5))
	for ctx.Err() == nil && o.written.Load() < flatTotal {
		var ops []client.Op
		for range flatBatch {
			ops = append(ops, client.PutOp(flatKey(r.IntN(flatKeys)), randomValue(r)))
		}
		// The transaction completes after the end of ctx: on a slow machine ctx ends first.
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), proc.WaitTimeout)
		err := o.db.Execute(own, ops...)
		cancel()
		if err != nil {
			return err
		}
		o.written.Add(flatBatch * flatValue)
	}
	return nil
}

func flatKey(i int) string { return fmt.Sprintf("key/%05d", i) }

func randomValue(r *rand.Rand) []byte {
	v := make([]byte, 0, flatValue)
	for len(v) < flatValue {
		v = binary.LittleEndian.AppendUint64(v, r.Uint64())
	}
	return v
}

// directorySize returns the total size of the files in a directory. Files may be deleted meanwhile.
func directorySize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// TestDiskUsageIsBounded: the store of a node whose keys are only updated does not grow, although the node
// retains some seconds of history and a snapshot of the beginning. The snapshot does not change.
func TestDiskUsageIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes hundreds of MiB")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := proc.NewSingle(t, dir, "--history", "3s", "--history-every", "200ms")
	n.Start(t)
	o := &overwriter{db: proc.Open(t, []string{n.Addr})}
	first := make([][]byte, flatKeys)
	r := rand.New(rand.NewPCG(1, 5))
	var ops []client.Op
	for i := range first {
		first[i] = randomValue(r)
		ops = append(ops, client.PutOp(flatKey(i), first[i]))
	}
	require.NoError(t, o.db.Execute(proc.Context(t), ops...))
	_, err := o.db.CreateSnapshot(proc.Context(t), "first", client.TTL(time.Hour))
	require.NoError(t, err)

	early, later := o.load(t, dir)
	t.Logf("%d MiB written: the store had at most %d MiB during the warmup, %d MiB later", o.written.Load()>>20,
		early>>20, later>>20)
	require.LessOrEqual(t, later, flatFactor*early, "the store grows, the data do not")
	i := 0
	for e, err := range o.db.AtSnapshot("first").Scan(proc.Context(t), client.Range{}) {
		require.NoError(t, err)
		require.Equal(t, flatKey(i), e.Key)
		require.Equal(t, first[i], e.Value)
		i++
	}
	require.Equal(t, flatKeys, i)
	if o.written.Load() < flatTotal {
		t.Skip("this machine was too slow to detect missing garbage collection")
	}
}

// load overwrites keys until flatTotal is written, for at most 30 s. It returns the largest size of the
// store during the warmup and after it.
func (o *overwriter) load(t *testing.T, dir string) (early, later int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var load sync.WaitGroup
	for w := range uint64(8) {
		load.Go(func() {
			if err := o.run(ctx, w+2); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { load.Wait(); close(done) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return early, later
		case <-tick.C:
		}
		if size := directorySize(dir); o.written.Load() < flatWarmup {
			early = max(early, size)
		} else {
			later = max(later, size)
		}
	}
}
