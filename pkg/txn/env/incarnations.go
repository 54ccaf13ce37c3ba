package env

import "github.com/linchpindb/linchpin/pkg/kv"

// Incarnations is the newest state of each shard that a node knows. All machines of its gateway share it (R14.9), so it
// is safe for their concurrent use.
//
//	each machine has its own    machine 1 has learned that shard s has another leader, machine 2 has not
//	machine 1                   borrows a snapshot with s from machine 2, and is refused, again and again
type Incarnations interface {
	// Known returns the state of a shard, zero if it is unknown.
	Known(of kv.ShardID) kv.KnownState
	// Learn combines a state with what is known of the shard (KnownState.Newest).
	Learn(of kv.ShardID, k kv.KnownState)
}

// OwnIncarnations are those of a single machine. They are not for concurrent use.
type OwnIncarnations []kv.KnownState

// Known implements Incarnations.
func (o OwnIncarnations) Known(of kv.ShardID) kv.KnownState { return o[of] }

// Learn implements Incarnations.
func (o OwnIncarnations) Learn(of kv.ShardID, k kv.KnownState) { o[of] = o[of].Newest(k) }
