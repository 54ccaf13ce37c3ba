// Package piece cuts the operations of a transaction into pieces, one for each shard, and
// joins the results of the pieces. It is a set of pure functions.
//
// A range operation is in the piece of every shard. The results are in the order of the
// operations, whatever the shards were; those of a range are merged by key, and end at the
// first place where some shard stopped, since nothing is complete beyond that.
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

// At is the piece of a shard, which is made if there is none. It is valid until the next call.
func (p *Pieces) At(s kv.ShardID) *Piece {
	i, ok := slices.BinarySearchFunc(*p, s, func(x Piece, s kv.ShardID) int { return int(x.Shard) - int(s) })
	if !ok {
		*p = slices.Insert(*p, i, Piece{Shard: s})
	}
	return &(*p)[i]
}

// Shards lists the shards that have a piece.
func (p Pieces) Shards() []kv.ShardID {
	out := make([]kv.ShardID, len(p))
	for i := range p {
		out[i] = p[i].Shard
	}
	return out
}

// Cut gives every operation to the shards that it concerns. place says where a key is.
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

// Only is the shard that all operations are for, if they are for one.
func Only(ops []msg.Op, place func(key []byte) kv.ShardID) (only kv.ShardID, ok bool) {
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
