package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/entry"
)

const (
	// batchKeys and batchBytes bound what one transaction writes.
	batchKeys  = 256
	batchBytes = 1 << 20
)

// RestoreOptions are the options of a restore.
type RestoreOptions struct {
	// Continue continues an interrupted restore: the cluster may have a part of the backup, and nothing
	// else.
	Continue bool
	// DryRun checks whether the backup can be restored, and writes nothing.
	DryRun bool
	// Progress, if set, is called every 256 keys with the phase, "writing" or "comparing", and the number of
	// keys of the file that it has processed.
	Progress func(doing string, keys, of uint64)
}

// Verify reads a backup from its start to its end. The error is a *Damaged if the file is not what was
// written.
func Verify(path string) (Header, Footer, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, Footer{}, err
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		return Header{}, Footer{}, err
	}
	for err == nil {
		_, err = r.Next()
	}
	if err == io.EOF {
		err = nil
	}
	return r.Header, r.Footer, err
}

// Restore writes a backup into a cluster without keys, and then compares the cluster with the file. Other
// clients must not write meanwhile. It writes nothing if the file is damaged or has data types that the
// cluster does not have, or if the cluster has keys. It can be interrupted and continued (RestoreOptions).
func Restore(ctx context.Context, db *client.DB, path string, o RestoreOptions) (Header, Footer, error) {
	if o.Progress == nil {
		o.Progress = func(string, uint64, uint64) {}
	}
	h, f, err := Verify(path)
	if err != nil {
		return h, f, err
	}
	x := &restoring{db: db, path: path, o: o, of: f.Keys}
	types, err := typeNames(ctx, db)
	if err != nil {
		return h, f, err
	}
	for t, name := range f.Types {
		if types[t] != name {
			return h, f, refuse("restore into a cluster whose nodes have that type (docs/own-types.md)",
				"the backup has values of the data type %d, %s, which this cluster calls %q", t, name, types[t])
		}
	}
	todo, err := x.begin(ctx)
	if err != nil || o.DryRun {
		return h, f, err
	}
	if todo {
		if err := x.write(ctx); err != nil {
			return h, f, err
		}
	}
	return h, f, x.compare(ctx, false)
}

// restoring is a restore in progress.
type restoring struct {
	db   *client.DB
	path string
	o    RestoreOptions
	of   uint64
}

// begin verifies that the cluster has no keys, or with Continue only keys of the backup, and reports
// whether there is something to write.
func (x *restoring) begin(ctx context.Context) (bool, error) {
	if x.o.Continue {
		return true, x.compare(ctx, true)
	}
	for e, err := range x.db.Scan(ctx, client.Range{}, client.Limit(1)) {
		if err != nil {
			return false, err
		}
		return false, refuse("restore into an empty cluster; to continue an interrupted restore, use --continue",
			"the cluster is not empty: it has the key %q", e.Key)
	}
	return x.of > 0, nil
}

// records yields the records of the file. An error is yielded once, as the last pair.
func (x *restoring) records(doing string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := os.Open(x.path)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer f.Close()
		r, err := NewReader(f)
		for err == nil {
			var rec Record
			rec, err = r.Next()
			if err == nil && !yield(rec, nil) {
				return
			}
			if r.keys%batchKeys == 0 {
				x.o.Progress(doing, r.keys, x.of)
			}
		}
		if err != io.EOF {
			yield(Record{}, err)
		}
		x.o.Progress(doing, x.of, x.of)
	}
}

// write writes all keys, in several concurrent transactions: each key is written once, so their order does
// not matter. Keys that an interrupted restore has written get the same values.
func (x *restoring) write(all context.Context) error {
	g, ctx := errgroup.WithContext(all)
	g.SetLimit(together)
	var ops []client.Op
	size := 0
	send := func() {
		batch := ops
		ops, size = nil, 0
		g.Go(func() error {
			err := x.db.Execute(ctx, batch...)
			if errors.Is(err, client.ErrResultsLost) {
				return nil // committed, and the results are not used
			}
			return err
		})
	}
	var failed error
	for r, err := range x.records("writing") {
		var op client.Op
		if err == nil && ctx.Err() == nil {
			kept := Record{Key: bytes.Clone(r.Key), Type: r.Type, Value: bytes.Clone(r.Value), Expires: r.Expires}
			op, err = kept.operation()
		}
		failed = err
		if failed != nil || ctx.Err() != nil {
			break
		}
		size += len(r.Key) + len(r.Value)
		if len(ops) > 0 && (len(ops) == batchKeys || size > batchBytes) {
			send()
			size = len(r.Key) + len(r.Value)
		}
		ops = append(ops, op)
	}
	if len(ops) > 0 && failed == nil && ctx.Err() == nil {
		send()
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return cmp.Or(failed, all.Err()) // the context may end between two transactions
}

// compare compares the keys of the cluster with those of the file. If the cluster may be incomplete, keys
// may be missing.
func (x *restoring) compare(ctx context.Context, incomplete bool) error {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	name := "restore-" + hex.EncodeToString(b[:])
	s, err := x.db.CreateSnapshot(ctx, name)
	if err != nil {
		return err
	}
	info := s.Info()
	err = x.compareWith(export(ctx, x.db, info.ID, nil), incomplete, info.Time.Add(clocksApart).UnixMilli())
	dropped := x.db.DropSnapshot(context.WithoutCancel(ctx), name)
	return errors.Join(err, dropped)
}

// clocksApart is the clock skew between nodes that is tolerated when a key may have expired. Somewhat
// arbitrary.
const clocksApart = time.Minute

// compareWith compares the records of the cluster with the file. Keys that expire up to a time, in
// milliseconds since 1970, may be missing.
func (x *restoring) compareWith(have iter.Seq2[Record, error], incomplete bool, expired int64) error {
	next, stop := iter.Pull2(have)
	defer stop()
	got, err, ok := next()
	for want, bad := range x.records("comparing") {
		err = errors.Join(bad, err)
		if err != nil {
			return err
		}
		order := 1 // of the cluster's next key and that of the file
		if ok {
			order = bytes.Compare(got.Key, want.Key)
		}
		switch {
		case order < 0:
			return unexpected(got.Key)
		case order > 0 && (incomplete || want.Expires != 0 && want.Expires <= expired):
			continue
		case order > 0:
			return different("the key %q is missing", want.Key)
		case !same(&got, &want):
			return different("the key %q differs from the backup", want.Key)
		}
		got, err, ok = next()
	}
	switch {
	case err != nil:
		return err
	case ok:
		return unexpected(got.Key)
	}
	return nil
}

func unexpected(key []byte) error {
	return different("the key %q is not in the backup", key)
}

func different(format string, args ...any) error {
	return refuse("restore into an empty cluster without other clients", "the cluster differs from the backup: "+format,
		args...)
}

// same reports whether two records hold the same value, for as long. The stored forms of one
// value can be of different versions.
func same(a, b *Record) bool {
	if a.Type != b.Type || a.Expires != b.Expires {
		return false
	}
	return bytes.Equal(a.Value, b.Value) || adt.SameStored(entry.Type(a.Type), a.Value, b.Value)
}
