package servertest

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Told is a Store that notes how it is told to read. What is to be read as of a
// time it reads in the present: the store has no history.
type Told struct {
	*Store
	// Note is called with how each transaction, and each scan, is to read.
	Note func(txn.TxnOptions)
}

// Submit runs a one-shot transaction.
func (s *Told) Submit(r gateway.Request, done func(gateway.Response)) {
	s.Note(r.How)
	r.How.At.AsOf = 0
	s.Store.Submit(r, done)
}

// Begin begins an interactive transaction.
func (s *Told) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	s.Note(o.How)
	o.How.At.AsOf = 0
	return s.Store.Begin(ctx, o)
}

// Scan reads a range in pages.
func (s *Told) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	s.Note(o.How)
	o.How.At.AsOf = 0
	return s.Store.Scan(ctx, o, page)
}
