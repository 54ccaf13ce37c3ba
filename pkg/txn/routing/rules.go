package routing

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// follow makes the transaction, and later ones, use the shard to which a key was redirected. Otherwise the next request
// for the key is redirected as well.
func (p *Routes) follow(r *Redirects, key []byte, to kv.ShardID) {
	if p.env.Mutants.Has(mutant.RedirectIgnored) {
		return
	}
	if r.present == nil {
		r.present = map[string]kv.ShardID{}
	}
	r.present[string(key)] = to
	p.store(key, to, to == p.env.Router.Shard(key))
}
