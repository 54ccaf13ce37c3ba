// Package piece cuts the operations of a transaction into pieces, one per shard, and joins the results of the pieces.
// It consists of pure functions.
//
// A range operation is in the piece of every shard. Results are in the order of the operations. Those of a range are
// merged by key, and end at the first point at which a shard stopped, since the rows beyond are incomplete:
//
//	operations        put a, scan [a,d), get c
//	piece, shard 0    put a, scan [a,d)
//	piece, shard 1    scan [a,d), get c
//
// Example, for "scan [a,d)" without a limit. Shard 0 has the rows a1 and b2 and stops at its own limit after b2;
// shard 1 has a5 and c7:
//
//	shard 0   a1 b2   resume after b2
//	shard 1   a5 c7   complete
//	joined    a1 a5 b2, resume after b2: whether shard 0 has rows before c7 is not known
//
// Packages session and flow rely on it; the last agent's record keeps results by piece, and JoinRecorded joins them.
//
// # Hazards
//
// A pointer returned by At is invalid after the next call, which may move the pieces. Results of pieces may share
// memory with the messages that they came in.
package piece

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Piece is the part of a transaction that one shard executes.
type Piece struct {
	Shard kv.ShardID
	msg.Piece
}

// Pieces are the pieces of a transaction, in the order of their shards.
type Pieces []Piece

// At returns the piece of a shard, and creates it if necessary. The pointer is valid until the next call.
//
// There are few pieces, so they are kept sorted in a slice.
func (p *Pieces) At(s kv.ShardID) *Piece {
	i, ok := slices.BinarySearchFunc(*p, s, func(x Piece, s kv.ShardID) int { return int(x.Shard) - int(s) })
	if !ok {
		*p = slices.Insert(*p, i, Piece{Shard: s})
	}
	return &(*p)[i]
}

// Shards lists the shards with a piece.
func (p Pieces) Shards() []kv.ShardID {
	out := make([]kv.ShardID, len(p))
	for i := range p {
		out[i] = p[i].Shard
	}
	return out
}

// Cut adds each operation to the pieces of the shards that it concerns. place returns the shard of a key.
//
// A range is in all pieces, even if a shard has no key of it: the shard locks its part against inserts.
func (p *Pieces) Cut(ops []msg.Op, shards int, place func(key []byte) kv.ShardID) {
	for i := range ops {
		op := &ops[i]
		if !op.IsRange() {
			pc := p.At(place(op.Key))
			pc.Ops = append(pc.Ops, *op)
			continue
		}
		for s := range shards {
			pc := p.At(kv.ShardID(s))
			pc.Ops = append(pc.Ops, *op)
		}
	}
}

// OnlyShard returns the shard of all operations, if there is only one.
//
// Most transactions have one shard, and are not cut: their piece shares the operations.
func OnlyShard(ops []msg.Op, place func(key []byte) kv.ShardID) (only kv.ShardID, ok bool) {
	for i := range ops {
		if ops[i].IsRange() {
			return 0, false
		}
		s := place(ops[i].Key)
		if i > 0 && s != only {
			return 0, false
		}
		only = s
	}
	return only, len(ops) > 0
}
