package backup

import (
	"context"
	"errors"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	// pageKeys and pageBytes bound what is asked for at a time: a page ends with the
	// value that reaches pageBytes.
	pageKeys  = 512
	pageBytes = 4 << 20
	// together is how many values of data types, each of which may have
	// kv.MaxStateBytes, are read at a time, and in memory; and how many transactions
	// write. Somewhat arbitrary.
	together = 8
	// triesInARow is how often in a row reading on may fail, with nothing read in
	// between. Each has the client's own repetitions within.
	triesInARow = 5
)

// export reads all keys that a snapshot has after one, in order. A failure is
// yielded once, with an empty record, and is the last.
func export(ctx context.Context, db *client.DB, snapshot string, after []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		x := &exporting{at: db.AtSnapshot(snapshot), yield: yield}
		if after != nil {
			x.from = string(kv.Next(after))
		}
		for tries := 0; ; {
			before := x.from
			more, err := x.page(ctx)
			switch {
			case err == nil && more:
				tries = 0
				continue
			case err == nil:
				return
			case x.from != before:
				tries = 0 // a part of the page has been read
			}
			// A state stays what it is, so reading can go on after any failure.
			tries++
			if tries == triesInARow || ctx.Err() != nil || !kv.KindOf(err).Retryable() {
				yield(Record{}, err)
				return
			}
		}
	}
}

// exporting is an export under way.
type exporting struct {
	at    *client.Snapshot
	yield func(Record, error) bool
	// from is where the next page begins: behind what has been yielded.
	from string
}

// page yields the next keys, and reports whether there may be more that are wanted.
func (x *exporting) page(ctx context.Context) (more bool, _ error) {
	page, more, err := firstPage(x.at.Scan(ctx, client.Range{Start: x.from}, client.Limit(pageKeys)))
	if err != nil {
		return true, err
	}
	for len(page) > 0 {
		n := readTogether(page)
		records, err := dump(ctx, x.at, page[:n])
		if err != nil {
			return true, err
		}
		for _, r := range records {
			if !x.yield(r, nil) {
				return false, nil
			}
			x.from = string(kv.Next(r.Key))
		}
		page = page[n:]
	}
	return more, nil
}

// firstPage takes what fits into a page, and reports whether there may be more.
func firstPage(from iter.Seq2[client.Entry, error]) (page []client.Entry, more bool, _ error) {
	size := 0
	for p, err := range from {
		if err != nil {
			return nil, true, err
		}
		page = append(page, p)
		size += len(p.Key) + len(p.Value)
		if size >= pageBytes {
			return page, true, nil
		}
	}
	return page, len(page) == pageKeys, nil
}

// whole reports whether a scan tells all there is of a key.
func whole(t client.Type) bool { return t == client.TypeValue || t == client.TypeCounter }

// readTogether is how many of the first keys are read together: so many that there
// are few whose values are read by themselves.
func readTogether(page []client.Entry) int {
	apart := 0
	for i := range page {
		if whole(page[i].Type) {
			continue
		}
		apart++
		if apart > together {
			return i
		}
	}
	return len(page)
}

// dump makes records of keys, and reads what scans do not tell.
func dump(ctx context.Context, at *client.Snapshot, page []client.Entry) ([]Record, error) {
	out := make([]Record, len(page))
	g, ctx := errgroup.WithContext(ctx)
	for i := range page {
		e, r := &page[i], &out[i]
		*r = Record{Key: []byte(e.Key)}
		if !e.Expires.IsZero() {
			r.Expires = e.Expires.UnixMilli()
		}
		switch e.Type {
		case client.TypeCounter:
			r.Type, r.Value = uint32(adt.Counter), adt.EncodeCounter(e.Number)
		case client.TypeValue:
			r.Type, r.Value = uint32(adt.Value), e.Value
		default:
			g.Go(func() error { return dumpOne(ctx, at, e, r) })
		}
	}
	return out, g.Wait()
}

// dumpOne reads one value in its stored form.
func dumpOne(ctx context.Context, at *client.Snapshot, e *client.Entry, r *Record) error {
	op := client.DumpOp(e.Key)
	if err := at.Execute(ctx, op); err != nil {
		return err
	}
	d := op.Value()
	if d.Type() != e.Type {
		return errors.New("backup: a key of the snapshot changed during the backup")
	}
	stored := clientlink.DumpResult(d)
	r.Type, r.Value = uint32(stored.Type), stored.Value
	return nil
}

// operation returns the operation that writes a record.
func (r *Record) operation() (client.Op, error) {
	stored := &pb.Result{Found: true, Type: pb.DataType(r.Type), Value: r.Value, ExpiresAtMs: r.Expires}
	if entry.Type(r.Type) == adt.Counter {
		n, err := adt.DecodeCounter(r.Value)
		if err != nil {
			return nil, err
		}
		stored.Value, stored.Number = nil, n
	}
	return client.RestoreOp(string(r.Key), clientlink.Dump(stored).(client.Dump)), nil
}
