package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/backup"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// open starts a cluster and a client of it.
func open(t *testing.T, o embed.ClusterOptions) *client.DB {
	t.Helper()
	o.Dir, o.Listen = t.TempDir(), true
	c, err := embed.StartCluster(o)
	require.NoError(t, err)
	db, err := client.Open(soon(t), c.Addrs())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, c.Stop(context.Background()))
	})
	return db
}

func do(t *testing.T, db *client.DB, ops ...client.Op) {
	t.Helper()
	require.NoError(t, db.Execute(soon(t), ops...))
}

// call returns a call of a method by its name.
func call(key, typ, method string, args ...any) client.Op {
	return client.CallOp(key, typ, method, func([]client.Datum) (any, error) { return nil, nil }, args...)
}

// fill writes values of all data types, small and large, and a type of the test's
// own.
func fill(t *testing.T, db *client.DB) {
	t.Helper()
	servertest.Tags()
	key := func(s string, i int) string { return fmt.Sprintf("%s/%03d", s, i) }
	for i := range 40 {
		do(t, db, client.PutOp(key("text", i), fmt.Appendf(nil, "value %d\x00", i)),
			client.NewCounter(key("number", i)).AddOp(int64(i-20)))
		set := client.NewSet(key("set", i), client.String)
		var members []string
		for j := range i * i {
			members = append(members, fmt.Sprintf("member %d of %d", j*7919%1000, i))
		}
		if i > 0 {
			require.NoError(t, set.Add(soon(t), db, members...))
		}
	}
	var many []client.Op
	for i := range 1500 { // more than are read at a time
		many = append(many, client.PutOp(fmt.Sprintf("many/%04d", i), nil))
	}
	do(t, db, many...)
	require.NoError(t, db.Put(soon(t), "large", make([]byte, 900<<10)))
	do(t, db, call("map", "map", "set", "a", "1", "b", "2"), call("scores", "sorted-set", "add", 2.5, "x", -1.0, "y"),
		call("top", "top-k", "add", 3.0, "x"), call("summary", "summary", "add", 1.5),
		call("list", "list", "append", "first", "second"),
		call("mine", "tags", "add", "go", "db"))
	hour := time.Hour
	do(t, db, client.PutOp("expires", nil, client.TTL(hour)), client.ExpireOp("map", hour),
		client.ExpireOp("number/003", hour),
		client.ExpireOp("set/039", hour))
}

// state is all that a cluster holds, in its stored form.
func state(t *testing.T, db *client.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for e, err := range db.Scan(soon(t), client.Range{}) {
		require.NoError(t, err)
		op := client.DumpOp(e.Key)
		do(t, db, op)
		require.True(t, op.Found())
		r := clientlink.DumpResult(op.Value())
		out[e.Key] = fmt.Sprintf("%d %d %x %v", r.Type, r.Number, r.Value, e.Expires)
	}
	return out
}

// TestABackupOfEverythingIsRestoredIntoAClusterOfAnotherSize, also when both are
// interrupted again and again.
func TestABackupOfEverythingIsRestoredIntoAClusterOfAnotherSize(t *testing.T) {
	from := open(t, embed.ClusterOptions{Nodes: 3, Shards: 5})
	fill(t, from)
	want := state(t, from)
	path := filepath.Join(t.TempDir(), "file")
	var header backup.Header
	for tries := 1; ; tries++ {
		ctx, cancel := context.WithCancel(soon(t))
		var footer backup.Footer
		var err error
		header, footer, err = backup.Create(ctx, from, path, backup.CreateOptions{Program: "test", Continue: tries > 1,
			Progress: func(uint64, uint64) {
				if tries < 3 {
					cancel()
				}
			}})
		cancel()
		if tries < 3 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, len(want), footer.Keys)
		break
	}
	left, err := from.Snapshots(soon(t))
	require.NoError(t, err)
	require.Empty(t, left, "the backup's own snapshot is dropped")
	require.NoFileExists(t, path+backup.Partial)
	h, f, err := backup.Verify(path)
	require.NoError(t, err)
	require.Equal(t, header, h)
	require.Equal(t, "tags", f.Types[uint32(servertest.TagsID)])

	to := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	_, _, err = backup.Restore(soon(t), to, path, backup.RestoreOptions{DryRun: true})
	require.NoError(t, err)
	require.Empty(t, state(t, to))
	ctx, cancel := context.WithCancel(soon(t))
	_, _, err = backup.Restore(ctx, to, path, backup.RestoreOptions{Progress: func(string, uint64, uint64) { cancel() }})
	require.Error(t, err)
	_, _, err = backup.Restore(soon(t), to, path, backup.RestoreOptions{Continue: true})
	require.NoError(t, err)
	require.Equal(t, want, state(t, to))

	// What is restored lives on.
	do(t, to, client.NewCounter("number/001").AddOp(1), call("set/010", "set", "add", "new"))
	_, _, err = backup.Restore(soon(t), to, path, backup.RestoreOptions{})
	require.ErrorContains(t, err, "the cluster is not empty")
	_, _, err = backup.Restore(soon(t), to, path, backup.RestoreOptions{Continue: true})
	require.ErrorContains(t, err, `"number/001" differs from the backup`)
}

// TestABackupIsOfItsSnapshot, whatever is changed between its pages, and while it is
// interrupted.
func TestABackupIsOfItsSnapshot(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, db)
	want := state(t, db)
	path := filepath.Join(t.TempDir(), "file")
	ctx, cancel := context.WithCancel(soon(t))
	_, _, err := backup.Create(ctx, db, path, backup.CreateOptions{Progress: func(uint64, uint64) {
		// What has been copied, and what has not.
		for _, key := range []string{"summary", "many/0001", "text/001"} {
			do(t, db, client.DeleteOp(key))
		}
		do(t, db, client.PutOp("a new one", nil), client.PutOp("zz", nil), client.PutOp("text/002", []byte("changed")),
			client.NewCounter("number/001").AddOp(7), call("set/010", "set", "add", "new"),
			call("top", "top-k", "add", 4.0, "y"))
		cancel()
	}})
	require.Error(t, err)
	_, _, err = backup.Create(soon(t), db, path, backup.CreateOptions{})
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	require.ErrorContains(t, err, "is an unfinished backup as of 2", "it is not the present")
	_, _, err = backup.Create(soon(t), db, path, backup.CreateOptions{Continue: true})
	require.NoError(t, err)
	to := open(t, embed.ClusterOptions{Nodes: 1, Shards: 3})
	_, _, err = backup.Restore(soon(t), to, path, backup.RestoreOptions{})
	require.NoError(t, err)
	require.Equal(t, want, state(t, to))
}

// TestWhateverIsLeftIsGoneOnWith: a process may end anywhere, and a disk keep less or
// more than was written.
func TestWhateverIsLeftIsGoneOnWith(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, db)
	_, err := db.CreateSnapshot(soon(t), "kept")
	require.NoError(t, err)
	dir := t.TempDir()
	create := func(name string, interrupted bool) (backup.Footer, error) {
		ctx, cancel := context.WithCancel(soon(t))
		defer cancel()
		o := backup.CreateOptions{Snapshot: "kept"}
		if interrupted {
			o.Progress = func(uint64, uint64) { cancel() }
		}
		_, f, err := backup.Create(ctx, db, filepath.Join(dir, name), o)
		return f, err
	}
	want, err := create("at once", false)
	require.NoError(t, err)
	whole, err := os.ReadFile(filepath.Join(dir, "at once"))
	require.NoError(t, err)
	_, err = create("part", true)
	require.Error(t, err)
	part, err := os.ReadFile(filepath.Join(dir, "part"+backup.Partial))
	require.NoError(t, err)
	torn := append(slices.Clone(whole[:len(whole)-5]), make([]byte, 4096)...)
	flipped := slices.Clone(part)
	flipped[len(flipped)-20] ^= 1
	for name, left := range map[string][]byte{"as it was written": part, "nothing": {},
		"with zeros behind": append(slices.Clone(part), make([]byte, 4096)...), "cut off in a frame": part[:len(part)-7],
		"with a damaged frame": flipped, "all but its name": whole, "with half a footer": whole[:len(whole)-9],
		"with half a footer and zeros": torn} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+backup.Partial), left, 0o600))
		got, err := create(name, false)
		require.NoError(t, err, name)
		require.Equal(t, []uint64{want.Keys, want.Bytes}, []uint64{got.Keys, got.Bytes}, name)
		_, verified, err := backup.Verify(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, got, verified, name)
	}
}

// TestTwoBackupsDoNotWriteOneFile: the second one fails with that reason, and leaves the first one
// alone.
func TestTwoBackupsDoNotWriteOneFile(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, db)
	path := filepath.Join(t.TempDir(), "file")
	var second error
	_, footer, err := backup.Create(soon(t), db, path, backup.CreateOptions{Progress: func(uint64, uint64) {
		if second == nil {
			_, _, second = backup.Create(soon(t), db, path, backup.CreateOptions{})
		}
	}})
	require.NoError(t, err)
	require.Equal(t, kv.KindInvalid, kv.KindOf(second))
	require.ErrorContains(t, second, "another backup is writing "+path)
	_, verified, err := backup.Verify(path)
	require.NoError(t, err)
	require.Equal(t, footer, verified)
	require.EqualValues(t, len(state(t, db)), verified.Keys)
	require.NoFileExists(t, path+backup.Partial)
}

// TestARestoreNoticesThatOthersWrite: in the end the whole cluster is looked at.
func TestARestoreNoticesThatOthersWrite(t *testing.T) {
	from, to := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2}), open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, from)
	path := filepath.Join(t.TempDir(), "file")
	_, _, err := backup.Create(soon(t), from, path, backup.CreateOptions{})
	require.NoError(t, err)
	_, _, err = backup.Restore(soon(t), to, path, backup.RestoreOptions{Progress: func(doing string, _, _ uint64) {
		if doing == "writing" {
			do(t, to, client.PutOp("zz", nil))
		}
	}})
	require.ErrorContains(t, err, `the key "zz" is not in the backup`)
}

// TestABackupUnderLoadIsOfOneMoment: money moves between hot accounts all the time.
func TestABackupUnderLoadIsOfOneMoment(t *testing.T) {
	db := open(t, embed.ClusterOptions{HotKeys: [][]byte{[]byte("account/0"), []byte("account/1")}})
	const accounts, each = 30, 100
	account := func(i int) client.Counter { return client.NewCounter(fmt.Sprintf("account/%d", i)) }
	var begin []client.Op
	for i := range accounts {
		begin = append(begin, account(i).AddOp(each))
	}
	do(t, db, begin...)
	ctx, cancel := context.WithCancel(soon(t))
	var movers sync.WaitGroup
	for range 4 {
		movers.Go(func() {
			for ctx.Err() == nil {
				from, to := rand.IntN(accounts), rand.IntN(3)
				if from == to {
					continue
				}
				err := db.Execute(ctx, account(from).AddOp(-1), account(to).AddOp(1))
				if err != nil && ctx.Err() == nil {
					t.Errorf("moving: %v", err)
				}
			}
		})
	}
	for i := range 5 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		_, _, err := backup.Create(soon(t), db, path, backup.CreateOptions{})
		require.NoError(t, err)
		require.EqualValues(t, accounts*each, total(t, path))
	}
	cancel()
	movers.Wait()
}

// total adds the counters of a backup up.
func total(t *testing.T, path string) (sum int64) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := backup.NewReader(f)
	require.NoError(t, err)
	for x, err := r.Next(); err == nil; x, err = r.Next() {
		n, err := adt.DecodeCounter(x.Value)
		require.NoError(t, err)
		sum += n
	}
	return sum
}

// TestABackupIsWrittenToAStream: it is the same as a file, and leaves no snapshot behind, also if
// it fails.
func TestABackupIsWrittenToAStream(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, db)
	var out bytes.Buffer
	_, footer, err := backup.CreateTo(soon(t), db, &out, backup.CreateOptions{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	_, verified, err := backup.Verify(path)
	require.NoError(t, err)
	require.Equal(t, footer, verified)
	require.EqualValues(t, len(state(t, db)), verified.Keys)
	ctx, cancel := context.WithCancel(soon(t))
	_, _, err = backup.CreateTo(ctx, db, io.Discard, backup.CreateOptions{Progress: func(uint64, uint64) { cancel() }})
	cancel()
	require.Error(t, err)
	left, err := db.Snapshots(soon(t))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestOnlySnapshotsOfBackupsAreDropped: whatever a file names as its own.
func TestOnlySnapshotsOfBackupsAreDropped(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, db)
	kept, err := db.CreateSnapshot(soon(t), "monday")
	require.NoError(t, err)
	st, err := admin.New(db).Status(soon(t))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "file")
	var partial bytes.Buffer
	_, err = backup.NewWriter(&partial, backup.Header{Format: backup.Format, Cluster: st.Cluster, Snapshot: kept.Info().ID,
		Own: "monday"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+backup.Partial, partial.Bytes(), 0o600))
	_, _, err = backup.Create(soon(t), db, path, backup.CreateOptions{Continue: true})
	require.NoError(t, err)
	left, err := db.Snapshots(soon(t))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// TestNamesDoNotControlTerminals: what does not print is quoted.
func TestNamesDoNotControlTerminals(t *testing.T) {
	require.Equal(t, "monday.backup", backup.Shown("monday.backup"))
	require.Equal(t, `"a\x1b[2Jb"`, backup.Shown("a\x1b[2Jb"))
	require.Equal(t, `"two\nlines"`, backup.Shown("two\nlines"))
}

func TestWhatCannotBeBackedUpOrRestored(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	fill(t, db)
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	create := func(o backup.CreateOptions) error {
		_, _, err := backup.Create(soon(t), db, path, o)
		return err
	}
	require.Equal(t, kv.KindNotFound, kv.KindOf(create(backup.CreateOptions{Snapshot: "unknown"})))
	require.NoFileExists(t, path+backup.Partial)
	require.NoError(t, os.WriteFile(path+backup.Partial, []byte("something else"), 0o600))
	require.ErrorContains(t, create(backup.CreateOptions{}), "cannot be continued")
	require.NoError(t, os.Remove(path+backup.Partial))
	foreign, err := os.Create(path + backup.Partial)
	require.NoError(t, err)
	_, err = backup.NewWriter(foreign, backup.Header{Format: backup.Format, Cluster: "elsewhere", Snapshot: "unknown"})
	require.NoError(t, err)
	require.NoError(t, foreign.Close())
	require.ErrorContains(t, create(backup.CreateOptions{}), "belongs to another cluster, elsewhere")
	require.NoError(t, os.Remove(path+backup.Partial))

	// What has lost its snapshot cannot be gone on with.
	ctx, cancel := context.WithCancel(soon(t))
	h, _, err := backup.Create(ctx, db, path, backup.CreateOptions{Progress: func(uint64, uint64) { cancel() }})
	cancel()
	require.Error(t, err)
	require.FileExists(t, path+backup.Partial)
	_, err = db.CreateSnapshot(soon(t), "mine")
	require.NoError(t, err)
	require.ErrorContains(t, create(backup.CreateOptions{Snapshot: "mine"}), "was made of the snapshot "+h.Own)
	require.ErrorContains(t, create(backup.CreateOptions{AsOf: h.Time, Continue: true}), "is an unfinished backup as of")
	require.NoError(t, db.DropSnapshot(soon(t), h.Own))
	require.ErrorContains(t, create(backup.CreateOptions{}), "it has expired or was dropped")
	require.NoError(t, os.Remove(path+backup.Partial))
	require.NoError(t, create(backup.CreateOptions{Snapshot: "mine"}))
	require.ErrorContains(t, create(backup.CreateOptions{}), "already exists")
	kept, err := db.Snapshots(soon(t))
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(kept, func(s client.SnapshotInfo) bool { return s.Name == "mine" }),
		"it is not the backup's to drop")

	empty := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := filepath.Join(dir, "damaged")
	for _, at := range []int{len(whole) / 2, len(whole) - 10} { // also behind all keys
		b := slices.Clone(whole)
		b[at] ^= 1
		require.NoError(t, os.WriteFile(damaged, b, 0o600))
		_, _, err = backup.Restore(soon(t), empty, damaged, backup.RestoreOptions{})
		var d *backup.Damaged
		require.True(t, errors.As(err, &d), "%v", err)
		require.Empty(t, state(t, empty), "nothing was written")
	}
	_, _, err = backup.Restore(soon(t), empty, filepath.Join(dir, "nothing"), backup.RestoreOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	unknown := filepath.Join(dir, "unknown")
	f, err := os.Create(unknown)
	require.NoError(t, err)
	w, err := backup.NewWriter(f, backup.Header{Format: backup.Format})
	require.NoError(t, err)
	require.NoError(t, w.Add(backup.Record{Key: []byte("k"), Type: 200, Value: []byte("x")}))
	_, err = w.Close(func(uint32) string { return "far" })
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, _, err = backup.Restore(soon(t), empty, unknown, backup.RestoreOptions{})
	require.ErrorContains(t, err, "data type 200, far")
	require.Empty(t, slices.Collect(maps.Keys(state(t, empty))), "nothing was written")
}

// TestRestoreTakesNothingThatCannotBeRead: a stored form is checked where it comes
// in.
func TestRestoreTakesNothingThatCannotBeRead(t *testing.T) {
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2})
	restore := func(typ pb.DataType, value []byte) client.Op {
		return client.RestoreOp("k", clientlink.Dump(&pb.Result{Found: true, Type: typ, Value: value}).(client.Dump))
	}
	for text, op := range map[string]client.Op{
		"data type 77 is not known":          restore(77, []byte("x")),
		"form of a set cannot be read":       restore(pb.DataType_SET, []byte("x")),
		"form of a map cannot be read":       restore(pb.DataType_MAP, nil),
		"the stored value has 1048577 bytes": restore(pb.DataType_VALUE, make([]byte, kv.MaxValueBytes+1)),
	} {
		err := db.Execute(soon(t), op)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
		require.ErrorContains(t, err, text)
	}
	for _, op := range []client.Op{client.DumpOp("k"), restore(pb.DataType_VALUE, nil)} {
		err := db.Update(soon(t), func(ctx context.Context, tx *client.Tx) error { return tx.Execute(ctx, op) })
		require.ErrorContains(t, err, "a dump or a restore is not for an interactive transaction")
	}
}
