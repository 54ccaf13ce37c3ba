package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
)

// quick does not wait for locks.
var quick = Options{LockTimeout: time.Millisecond}

func mustOpen(t testing.TB, dir string) *Catalog {
	t.Helper()
	c, err := OpenWith(dir, quick)
	require.NoError(t, err)
	return c
}

func testIdentity() membership.Saved {
	return membership.Saved{Node: 2, Cluster: "c0ffee", List: []string{"a:1", "b:1", "c:1"}, Shards: 9,
		HotKeys: [][]byte{[]byte("hot"), {0xff, 0}},
		Members: []membership.Member{{Node: 1, Address: "a:1"}, {Node: 2, Address: "b:1", Seen: true},
			{Node: 3, Address: "c:1", Moves: 4}}}
}

func reopen(t testing.TB, c *Catalog, dir string) *Catalog {
	t.Helper()
	require.NoError(t, c.Close())
	return mustOpen(t, dir)
}

func TestIdentityIsWrittenOnce(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	_, ok := c.Get()
	require.False(t, ok)

	c = reopen(t, c, dir)
	_, ok = c.Get()
	require.False(t, ok, "an empty catalog stays empty")
	require.NoError(t, c.Init(testIdentity()))
	err := c.Init(testIdentity())
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	require.ErrorContains(t, err, "c0ffee")

	c = reopen(t, c, dir)
	id, ok := c.Get()
	require.True(t, ok)
	require.Equal(t, testIdentity(), id)
	require.Equal(t, kv.KindInvalid, kv.KindOf(c.Init(testIdentity())))

	id.HotKeys[0][0], id.Members[0].Address = 'x', "x"
	again, _ := c.Get()
	require.Equal(t, testIdentity(), again, "the caller owns the result of Get")
	require.NoError(t, c.Close())
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1, "only the file is created")
}

func TestInvalidIdentityIsRejected(t *testing.T) {
	c := mustOpen(t, t.TempDir())
	for name, spoil := range map[string]func(*membership.Saved){
		"no cluster":           func(id *membership.Saved) { id.Cluster = "" },
		"node zero":            func(id *membership.Saved) { id.Node = 0 },
		"node beyond the list": func(id *membership.Saved) { id.Node = 4 },
		"no members":           func(id *membership.Saved) { id.Members, id.List = nil, nil },
		"a shorter list":       func(id *membership.Saved) { id.List = id.List[1:] },
		"no shards":            func(id *membership.Saved) { id.Shards = 0 },
		"even replicas":        func(id *membership.Saved) { id.Replicas = 2 },
		"too many replicas":    func(id *membership.Saved) { id.Replicas = 9 },
		"too many shards":      func(id *membership.Saved) { id.Shards = kv.MaxShards + 1 },
		"unsorted hot keys":    func(id *membership.Saved) { id.HotKeys = [][]byte{{2}, {1}} },
		"a member twice":       func(id *membership.Saved) { id.Members[2].Node = 2 },
		"a member nowhere":     func(id *membership.Saved) { id.Members[2].Address = "" },
	} {
		t.Run(name, func(t *testing.T) {
			id := testIdentity()
			spoil(&id)
			require.Equal(t, kv.KindInvalid, kv.KindOf(c.Init(id)))
			_, ok := c.Get()
			require.False(t, ok)
		})
	}
	id := testIdentity()
	require.NoError(t, c.Init(id))
	require.NoError(t, c.Close())
}

func TestMemberAddressMayChange(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	require.NoError(t, c.Init(testIdentity()))
	want := testIdentity()
	want.Members[0] = membership.Member{Node: 1, Address: "a:9", Moves: 1, Seen: true}
	want.Past = membership.StampHistory{Count: 9, Stamps: []uint64{3, math.MaxUint64}}
	require.NoError(t, c.SaveMembership(&want))
	fewer := want
	fewer.Members = want.Members[:2]
	require.Error(t, c.SaveMembership(&fewer))
	c = reopen(t, c, dir)
	id, _ := c.Get()
	require.Equal(t, want, id)
	require.NoError(t, c.Close())
	want.Members[0].Address = "a:10"
	require.Equal(t, kv.KindUnavailable, kv.KindOf(c.SaveMembership(&want)), "closed")
	require.NoError(t, c.Close())
}

func TestIncarnationsAreMonotonic(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	inc, err := c.Incarnation(3)
	require.NoError(t, err)
	require.Zero(t, inc)
	require.NoError(t, c.CheckIncarnation(3, 0), "a new store of a new node")
	require.NoError(t, c.SetIncarnation(3, 7))
	require.NoError(t, c.SetIncarnation(3, 7))
	require.NoError(t, c.SetIncarnation(1023, 1))
	require.Equal(t, kv.KindInternal, kv.KindOf(c.SetIncarnation(3, 6)))

	c = reopen(t, c, dir)
	inc, err = c.Incarnation(3)
	require.NoError(t, err)
	require.EqualValues(t, 7, inc)
	require.NoError(t, c.CheckIncarnation(3, 7))
	require.NoError(t, c.CheckIncarnation(3, 8), "the catalog may be behind by a crash")
	for _, old := range []kv.Incarnation{0, 6} {
		err = c.CheckIncarnation(3, old)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
		require.ErrorContains(t, err, "older than its catalog")
		require.ErrorContains(t, err, "use the newer store")
	}
	require.NoError(t, c.Close())
	require.Error(t, c.SetIncarnation(3, 9))
	inc, _ = c.Incarnation(3)
	require.EqualValues(t, 7, inc, "a failed write has no effect")
}

func TestStartNumbersAreUnique(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	for want := uint32(1); want <= 3; want++ {
		n, err := c.CountStart()
		require.NoError(t, err)
		require.Equal(t, want, n)
		c = reopen(t, c, dir)
	}
	require.NoError(t, update(c.db, map[string][]byte{keyStarts: seal(keyStarts, []byte("4294967295"))}))
	c = reopen(t, c, dir)
	_, err := c.CountStart()
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "the number does not wrap")
	require.NoError(t, c.Close())
}

func TestCatalogInUseIsRejected(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	_, err := OpenWith(dir, quick)
	require.Equal(t, kv.KindUnavailable, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "stop the other process")
	require.NoError(t, c.Init(testIdentity()), "the first process is not affected")
	c = reopen(t, c, dir)
	require.NoError(t, c.Close())

	// A process that waits opens the catalog when the first one closes it.
	c = mustOpen(t, dir)
	got := make(chan error)
	go func() {
		c, err := OpenWith(dir, Options{LockTimeout: time.Minute})
		if err == nil {
			err = c.Close()
		}
		got <- err
	}()
	require.NoError(t, c.Close())
	require.NoError(t, <-got)
}

func TestConcurrentCreationMakesOneFile(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var open []*Catalog
	var wg sync.WaitGroup
	var lost atomic.Int64
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := OpenWith(dir, quick)
			if err != nil {
				lost.Add(1)
				return
			}
			id := testIdentity()
			id.Cluster = fmt.Sprint(i)
			mu.Lock()
			defer mu.Unlock()
			open = append(open, c)
			_ = c.Init(id)
		}()
	}
	wg.Wait()
	require.Len(t, open, 1)
	require.EqualValues(t, 7, lost.Load())
	for _, c := range open {
		id, ok := c.Get()
		require.True(t, ok)
		require.NoError(t, c.Close())
		again := mustOpen(t, dir)
		kept, ok := again.Get()
		require.True(t, ok)
		require.Equal(t, id, kept)
		require.NoError(t, again.Close())
	}
}

func TestCrashDuringCreationIsHarmless(t *testing.T) {
	whole := t.TempDir()
	require.NoError(t, mustOpen(t, whole).Close())
	b, err := os.ReadFile(filepath.Join(whole, FileName))
	require.NoError(t, err)
	for _, n := range []int{0, 1, 100, 4096, 8192, len(b) - 1, len(b)} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, FileName+newSuffix), b[:n], 0o600))
		c := mustOpen(t, dir)
		require.NoError(t, c.Init(testIdentity()))
		c = reopen(t, c, dir)
		_, ok := c.Get()
		require.True(t, ok)
		require.NoError(t, c.Close())
	}
}

func TestNewerFormatIsRejected(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	require.NoError(t, update(c.db, map[string][]byte{keyFormat: seal(keyFormat, []byte("4"))}))
	require.NoError(t, c.Close())
	_, err := OpenWith(dir, quick)
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	require.ErrorContains(t, err, "format is 4")
	require.ErrorContains(t, err, "newer release")
}

// storedFormat is the format that is in the file of a catalog.
func storedFormat(t *testing.T, dir string) (format int) {
	t.Helper()
	values, db, err := openFile(filepath.Join(dir, FileName), time.Second)
	require.NoError(t, err)
	require.NoError(t, unseal(values, keyFormat, &format))
	require.NoError(t, db.Close())
	return format
}

// TestFormatOfReplicas: a release without replicas reads a catalog of a cluster without them, and no other; one that
// relies on leases reads none of a cluster without leases.
func TestFormatOfReplicas(t *testing.T) {
	for _, x := range []struct {
		replicas int
		noLeases bool
		want     int
	}{{0, false, 1}, {1, false, 1}, {3, false, 2}, {7, false, 2}, {3, true, 3}} {
		dir := t.TempDir()
		c := mustOpen(t, dir)
		id := testIdentity()
		id.Replicas, id.NoLeases = x.replicas, x.noLeases
		require.NoError(t, c.Init(id))
		require.NoError(t, c.Close())
		require.Equal(t, x.want, storedFormat(t, dir), "%+v", x)
		c = mustOpen(t, dir)
		got, _ := c.Get()
		require.Equal(t, id, got)
		require.NoError(t, c.Close())
	}
}

// TestCatalogWithoutReplicas: a release that did not know them has written it.
func TestCatalogWithoutReplicas(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	old := `{"Cluster":"c0ffee","Node":1,"List":["a:1","b:1","c:1"],"Shards":9,"Members":[{"Node":1,"Address":"a:1"},` +
		`{"Node":2,"Address":"b:1"},{"Node":3,"Address":"c:1"}],"Past":{}}`
	require.NoError(t, update(c.db, map[string][]byte{keyIdentity: seal(keyIdentity, []byte(old))}))
	c = reopen(t, c, dir)
	id, ok := c.Get()
	require.True(t, ok)
	p := id.Placement()
	require.False(t, p.IsReplicated())
	place, known := id.Place(1)
	require.True(t, known)
	require.Equal(t, "n1/0", place)
	require.NoError(t, c.Close())
}

func TestNumberOfTheDiskMayChange(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	id := testIdentity()
	id.Replicas, id.Disk = 3, 7
	require.NoError(t, c.SaveMembership(&id))
	id.Disk, id.Members[0].Disk = math.MaxUint64, 1<<63+1
	require.NoError(t, c.SaveMembership(&id))
	c = reopen(t, c, dir)
	got, _ := c.Get()
	require.Equal(t, id, got)
	require.NoError(t, c.Close())
}

func TestUnusableDirectoryIsReported(t *testing.T) {
	_, err := OpenWith(filepath.Join(t.TempDir(), "missing"), quick)
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "create the directory first")

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, FileName), 0o755))
	_, err = OpenWith(dir, quick)
	var e *kv.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Hint)
}

func TestReadOnlyDirectoryIsReported(t *testing.T) {
	c := &Catalog{path: "dir/catalog.db"}
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		err := c.openError(&fs.PathError{Op: "open", Path: "x", Err: errno})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
		require.ErrorContains(t, err, "must be writable")
	}
	require.Equal(t, kv.KindResourceExhausted, kv.KindOf(c.openError(syscall.ENOSPC)))
	require.Equal(t, kv.KindInternal, kv.KindOf(c.openError(errors.New("odd"))))
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	require.NoError(t, mustOpen(t, dir).Close())
	require.NoError(t, os.Chmod(filepath.Join(dir, FileName), 0o400))
	_, err := OpenWith(dir, quick)
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
}

// The list of logs is stored, also in a catalog that is older than such lists.
func TestLogsAreKept(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir)
	require.Empty(t, c.Logs())
	for _, logs := range [][]uint64{{2}, {2, 7}, {7, 12}} {
		require.NoError(t, c.SetLogs(logs))
		logs[0] = 99 // the caller owns the slice
	}
	c = reopen(t, c, dir)
	require.Equal(t, []uint64{7, 12}, c.Logs())
	require.NoError(t, c.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketName)).Delete([]byte(keyLogs))
	}))
	c = reopen(t, c, dir)
	require.Empty(t, c.Logs())
	require.NoError(t, c.SetLogs([]uint64{3}))
	require.NoError(t, c.Close())
	require.Equal(t, kv.KindUnavailable, kv.KindOf(c.SetLogs([]uint64{4})))
}
