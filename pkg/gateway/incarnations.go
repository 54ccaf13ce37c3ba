package gateway

import (
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// incarnations implements txn.Config.Incarnations for the state machines of a gateway. A value that is set is never
// changed.
type incarnations []atomic.Pointer[kv.KnownState]

func (x incarnations) Known(of kv.ShardID) kv.KnownState {
	k := x[of].Load()
	if k == nil {
		return kv.KnownState{}
	}
	return *k
}

func (x incarnations) Learn(of kv.ShardID, k kv.KnownState) {
	for {
		was := x[of].Load()
		if was != nil && was.Newest(k) == *was || x[of].CompareAndSwap(was, &k) {
			return
		}
	}
}
