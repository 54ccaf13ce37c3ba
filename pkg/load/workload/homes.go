package workload

import "github.com/linchpindb/linchpin/pkg/kv"

// Homes says where clients are at home and where keys live, for a run with
// locality. It stays as it is for the run.
type Homes interface {
	// Client gives the store by way of the node that a client is at home on,
	// and that node. Clients are numbered from 0.
	Client(client int) (Store, kv.NodeID)
	// Key gives the node that a key lives on.
	Key(key []byte) kv.NodeID
}

// maxNear bounds how many keys are looked at for one on the client's node.
// With 128 nodes, a drawn key is there one time in 128, so that this many are
// in vain with a probability of e^-32; they are in vain, too, where the node
// has fewer keys than a transaction wants, or none. The key is then taken
// from anywhere, and the report says how many were at home.
const maxNear = 4096

// home is where one client is.
type home struct {
	homes Homes
	node  kv.NodeID
}

// has reports whether key lives on the client's node.
func (h *home) has(key []byte) bool { return h.homes.Key(key) == h.node }
