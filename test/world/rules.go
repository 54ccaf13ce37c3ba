package world

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// sentRows are the chunks of a Raft snapshot: all rows of the shard (R6.8), but not the one that Alter adds: otherwise
// a majority could be wrong.
func sentRows(id kv.ShardID, chunks [][]byte, broken mutant.Set) ([][]byte, error) {
	lacks := map[entry.Table]bool{
		entry.TableLog:      true,
		entry.TablePrepared: broken.Has(mutant.SnapshotWithoutIntents),
		entry.TableFence:    broken.Has(mutant.SnapshotWithoutFences),
		entry.TableOutcome:  broken.Has(mutant.SnapshotWithoutOutcomes),
	}
	var c engine.ChunkEncoder
	d := engine.NewChunkDecoder(id)
	for _, chunk := range chunks {
		err := d.Decode(chunk, func(r *engine.ShardRow) error {
			if r.Table == entry.TablePrepared && broken.Has(mutant.SnapshotWithoutReadLocks) {
				withoutReadLocks(r)
			}
			if !lacks[r.Table] {
				c.Add(r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return [][]byte{c.Chunk(), c.Chunk()}, nil
}

// withoutReadLocks removes the locks of a prepared update on keys that it does not write.
func withoutReadLocks(r *engine.ShardRow) {
	var p entry.Prepared
	if err := p.Unmarshal(r.Value); err != nil {
		panic(err) // the shard wrote it
	}
	written := map[string]bool{}
	for i := range p.Effects {
		written[string(p.Effects[i].Key)] = true
	}
	held := p.Locks
	p.Locks = nil
	for i := range held {
		if !held[i].IsRange && written[string(held[i].Start)] {
			p.Locks = append(p.Locks, held[i])
		}
	}
	r.Value, _ = p.Marshal() // generated code does not fail
}
