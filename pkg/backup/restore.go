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

// RestoreOptions say how a backup is restored.
type RestoreOptions struct {
	// Continue has the cluster hold a part of the backup already, and nothing
	// else: it was interrupted.
	Continue bool
	// DryRun finds out whether it could be restored, and writes nothing.
	DryRun bool
	// Progress, if set, is called now and then: what is being done, and how many of
	// the file's keys that has been done for.
	Progress func(doing string, keys, of uint64)
}

// Verify reads a backup from its start to its end. An error is *Damaged if it is
// not what was written.
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

// Restore writes a backup into a cluster that has no keys, which nobody uses in the
// meantime, and then makes sure that it has what the file has. Nothing is written
// if the file is damaged, has data types that the cluster does not know, or the
// cluster has keys. It can be interrupted and continued (RestoreOptions).
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

// restoring is a backup that is being restored.
type restoring struct {
	db   *client.DB
	path string
	o    RestoreOptions
	of   uint64
}

// begin makes sure that the cluster has no keys but those that it may have, and
// reports whether there is something to be written.
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

// records reads the file. A failure is yielded once and is the last.
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

// write writes all keys, several transactions at a time: each is written once, so
// their order does not matter. What is there already, of a restore that was
// interrupted, is the same.
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
	return cmp.Or(failed, all.Err()) // who breaks off may do so between two transactions
}

// compare holds the cluster's keys against those of the file. If it may be
// incomplete, not all of these need be there.
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

// clocksApart is up to how far the clocks of nodes are taken to be apart, when it is
// asked whether a key may have expired. Somewhat arbitrary.
const clocksApart = time.Minute

// compareWith is told what there is. What was to expire by some time, in milliseconds
// since 1970, need not be there any more.
func (x *restoring) compareWith(have iter.Seq2[Record, error], incomplete bool, expired int64) error {
	next, stop := iter.Pull2(have)
	defer stop()
	got, err, ok := next()
	for want, bad := range x.records("comparing") {
		err = errors.Join(bad, err)
		if err != nil {
			return err
		}
		order := 1 // of what there is after what is wanted
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
	return refuse("restore into an empty cluster without other clients", "the cluster differs from the backup: "+format, args...)
}

// same reports whether two records hold the same value, for as long. The stored forms of one
// value can be of different versions.
func same(a, b *Record) bool {
	if a.Type != b.Type || a.Expires != b.Expires {
		return false
	}
	return bytes.Equal(a.Value, b.Value) || adt.SameStored(entry.Type(a.Type), a.Value, b.Value)
}
