package sim

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// absentKeys lists the keys that a transaction's gets and scans found absent, with a zero version. Keys that the
// transaction itself had written before are left out.
func absentKeys(t *txnRecord, keys []string) []history.SeenVersion {
	var out []history.SeenVersion
	var own []kv.Span // written so far
	miss := func(key string) {
		if !slices.ContainsFunc(own, func(s kv.Span) bool { return s.Contains([]byte(key)) }) {
			out = append(out, history.SeenVersion{Key: key})
		}
	}
	for _, c := range t.calls {
		for i := range c.ops {
			op := &c.ops[i]
			if op.Writes() && c.failure == nil {
				own = append(own, op.Span())
			}
			if c.raw || c.failure != nil || i >= len(c.results) {
				continue
			}
			switch r := &c.results[i]; {
			case op.Kind == msg.OpGet && !r.Found:
				miss(string(op.Key))
			case op.Kind == msg.OpScan:
				for _, key := range absentInScan(op, r, keys) {
					miss(key)
				}
			}
		}
	}
	return out
}

// absentInScan lists the keys in the range that a scan read and that it did not return.
func absentInScan(op *msg.Op, r *msg.Result, keys []string) (out []string) {
	seen := map[string]bool{}
	for _, p := range r.Pairs {
		seen[string(p.Key)] = true
	}
	read := op.ReadUntil(r.Resume)
	for _, key := range keys {
		if !seen[key] && !read.IsEmpty() && read.Contains([]byte(key)) {
			out = append(out, key)
		}
	}
	return out
}
