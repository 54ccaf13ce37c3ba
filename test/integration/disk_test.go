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

// The load of TestDiskStaysFlat: so many keys, with values of so many bytes.
const (
	flatKeys  = 10_000
	flatValue = 1 << 10
	flatBatch = 10
)

// flatRoom is how much is written while the store may grow: by then its logs
// have come to their number and are used again, and its first tables were
// merged. flatTotal is how much is written in all, dozens of times the keys.
const (
	flatRoom  = 200 << 20
	flatTotal = 450 << 20
)

// flatFactor is how much larger the store may be later than it ever was until
// flatRoom. Most of it are logs, and tables that wait to be merged, whose size
// goes up and down; without collection it would be 2.3 times as large, or more.
const flatFactor = 2

// overwriting updates keys with values that cannot be compressed.
type overwriting struct {
	db      *client.DB
	written atomic.Int64
}

func (o *overwriting) run(ctx context.Context, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 5))
	for ctx.Err() == nil && o.written.Load() < flatTotal {
		var ops []client.Op
		for range flatBatch {
			ops = append(ops, client.PutOp(flatKey(r.IntN(flatKeys)), noise(r)))
		}
		// What is begun ends: on a slow machine the time is over before all is written.
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

func noise(r *rand.Rand) []byte {
	v := make([]byte, 0, flatValue)
	for len(v) < flatValue {
		v = binary.LittleEndian.AppendUint64(v, r.Uint64())
	}
	return v
}

// sizeOf adds up the files of a directory. Files may go while it looks.
func sizeOf(dir string) (size int64) {
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

// TestDiskStaysFlat: a node whose keys are only ever updated, and that keeps a
// history of some seconds and a snapshot of the beginning, needs no more room as
// time goes on, and the snapshot is as it was.
func TestDiskStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes hundreds of megabytes")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := single(t, "filling", dir, "--history", "3s", "--history-every", "200ms")
	n.Start(t)
	o := &overwriting{db: proc.Open(t, []string{n.Addr})}
	first := make([][]byte, flatKeys)
	r := rand.New(rand.NewPCG(1, 5))
	var ops []client.Op
	for i := range first {
		first[i] = noise(r)
		ops = append(ops, client.PutOp(flatKey(i), first[i]))
	}
	require.NoError(t, o.db.Execute(soon(t), ops...))
	_, err := o.db.CreateSnapshot(soon(t), "first", client.TTL(time.Hour))
	require.NoError(t, err)

	grown, later := o.load(t, dir)
	t.Logf("%d MiB written: the store had %d MiB at most, later %d MiB", o.written.Load()>>20, grown>>20, later>>20)
	require.LessOrEqual(t, later, flatFactor*grown, "the store grows, although the data do not")
	i := 0
	for e, err := range o.db.AtSnapshot("first").Scan(soon(t), client.Range{}) {
		require.NoError(t, err)
		require.Equal(t, flatKey(i), e.Key)
		require.Equal(t, first[i], e.Value)
		i++
	}
	require.Equal(t, flatKeys, i)
	if o.written.Load() < flatTotal {
		t.Skip("this machine was too slow: it would not have shown that everything is kept")
	}
}

// load overwrites until all is written, or for half a minute. It returns the
// greatest size of the store until it has had its room, and after that.
func (o *overwriting) load(t *testing.T, dir string) (grown, later int64) {
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
			return grown, later
		case <-tick.C:
		}
		if size := sizeOf(dir); o.written.Load() < flatRoom {
			grown = max(grown, size)
		} else {
			later = max(later, size)
		}
	}
}
