package console

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// documentOf returns the Document of answers, without Seconds.
func documentOf(a *answers, now time.Time) *Document {
	d := &Document{Version: Version, Time: now.UnixMilli(), Node: a.status.NodeId, Cluster: a.status.ClusterId,
		Problems: append([]string{}, a.problems...), Moves: []Move{},
		Hot: Hot{Shard: a.status.HotShard}, Snapshots: snapshotsOf(a.snapshots), SnapshotsKnown: a.snapshots != nil}
	down := detail.Down(a.status)
	for i := range a.status.Members {
		n := nodeOf(&a.status.Members[i], a.nodes[i])
		at := slices.IndexFunc(down, func(d kv.Down) bool { return uint32(d.Node) == n.Node })
		if at >= 0 {
			n.Lost = down[at].ShardsText()
			d.Problems = append(d.Problems, "N"+down[at].String()[1:]+".")
		}
		if n.Rejects != "" {
			d.Problems = append(d.Problems, fmt.Sprintf(
				"Node n%d rejects %s: its disk has %s free, less than the reserve of %s (--disk-reserve-mb).",
				n.Node, n.Rejects, kv.FormatBytes(n.Free), kv.FormatBytes(n.Reserve)))
		}
		for _, s := range n.Shards {
			d.Waiting += s.Waiting
		}
		d.Nodes = append(d.Nodes, n)
	}
	d.Problems = append(d.Problems, replicaProblems(a)...)
	if a.hot != nil {
		d.Hot.Known, d.Hot.Mode, d.Hot.Busy = true, modes[a.hot.Mode], a.hot.Utilization
		for i := range a.hot.Moves[:min(maxMoves, len(a.hot.Moves))] {
			m := &a.hot.Moves[i]
			d.Moves = append(d.Moves, Move{Time: millis(m.TimeNs), Key: shown(m.Key), From: m.FromShard, To: m.ToShard,
				ToHot: m.ToHot, Reason: m.Reason})
		}
	}
	d.Keys, d.Conflicts = keysOf(a), conflictsOf(a)
	d.Waits, d.Receipts = waitsOf(a), receiptsOf(a)
	return d
}

var modes = map[pb.HotMode]string{pb.HotMode_HOT_MODE_AUTO: "auto", pb.HotMode_HOT_MODE_PINNED: "pinned",
	pb.HotMode_HOT_MODE_OFF: "off"}

var rules = map[pb.HotPolicy]string{pb.HotPolicy_HOT_PIN: "pinned", pb.HotPolicy_HOT_BAN: "banned"}

var rejects = map[pb.DiskRejects]string{
	pb.DiskRejects_DISK_REJECTS_WRITES: "writes", pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "all writes"}

func nodeOf(m *pb.Member, a *pb.ActivityResponse) Node {
	n := Node{Node: m.NodeId, Address: m.Address, Up: m.Up, Shards: []Shard{}}
	if a == nil {
		return n
	}
	n.Answered, n.Version, n.UptimeMs = true, a.Version, a.UptimeMs
	n.Disk, n.InFlight, n.Open = a.StoreBytes, a.InFlight, a.Interactive
	n.Free, n.Size, n.Reserve = a.Disk.FreeBytes, a.Disk.SizeBytes, a.Disk.ReserveBytes
	n.Rejects = rejects[a.Disk.Rejects]
	for i := range a.Shards {
		s := &a.Shards[i]
		if s.Failure != "" && s.NodeId != m.NodeId {
			continue // replicaProblems reports it
		}
		x := Shard{Shard: s.Shard, Hot: s.Hot, Keys: s.KeysInMemory, Waiting: s.LockWaiters, Prepared: s.Intents,
			Term: s.Term, Missing: s.Missing}
		for _, r := range s.Replicas {
			x.Replicas = append(x.Replicas, r.NodeId)
		}
		n.Shards = append(n.Shards, x)
	}
	return n
}

// sums are sums of what the nodes report, by the operations of both sides.
type sums map[[2]string]*Conflict

func (s sums) add(c *pb.KeyConflict) {
	pair := [2]string{c.Operations, c.HolderOperations}
	if s[pair] == nil {
		s[pair] = &Conflict{Operations: c.Operations, HolderOperations: c.HolderOperations}
	}
	s[pair].add(c)
}

func (t *Conflict) add(c *pb.KeyConflict) {
	t.Waits, t.Waited, t.Aborts = t.Waits+c.Waits, t.Waited+c.WaitedUs, t.Aborts+c.Aborts
	t.Advice = cmp.Or(t.Advice, c.Advice)
}

// sorted returns the sums, those with the longest waits first.
func (s sums) sorted() []*Conflict {
	return slices.SortedFunc(maps.Values(s), func(x, y *Conflict) int {
		return cmp.Or(cmp.Compare(y.Waited, x.Waited), cmp.Compare(y.Aborts, x.Aborts),
			strings.Compare(x.Operations, y.Operations), strings.Compare(x.HolderOperations, y.HolderOperations))
	})
}

// contended is the contention of a key by receipts.
type contended struct {
	key   []byte
	since int64
	all   Conflict
	pairs sums
}

func contendedOf(a *answers) map[string]*contended {
	out := map[string]*contended{}
	for n := range a.present() {
		for i := range n.Conflicts {
			c := &n.Conflicts[i]
			if len(c.Key) == 0 {
				continue
			}
			k := out[string(c.Key)]
			if k == nil {
				k = &contended{key: c.Key, since: c.SinceNs, pairs: sums{}}
				out[string(c.Key)] = k
			}
			k.since = min(k.since, c.SinceNs)
			k.pairs.add(c)
			k.all.add(c)
		}
	}
	return out
}

// keysOf returns the most contended keys: first those that the hot shard reports, by the
// waits of the last seconds, then those that only receipts report.
func keysOf(a *answers) []Key {
	type ranked struct {
		Key
		raw []byte
	}
	receipts := contendedOf(a)
	var all []ranked
	fill := func(k *Key, c *contended) {
		if c == nil {
			return
		}
		worst := c.pairs.sorted()[0]
		k.Since, k.Waits, k.Waited, k.Aborts = millis(c.since), c.all.Waits, c.all.Waited, c.all.Aborts
		k.Operations, k.HolderOperations, k.Advice = worst.Operations, worst.HolderOperations, worst.Advice
	}
	if a.hot != nil {
		for i := range a.hot.Keys {
			h := &a.hot.Keys[i]
			if h.WaitUsPerS == 0 && h.ConflictsPerS == 0 && h.MovedNs == 0 && !h.Moving && receipts[string(h.Key)] == nil {
				continue // there is only a rule for it, or old waits
			}
			k := Key{Key: shown(h.Key), Shard: h.Shard, Known: true, Waiting: h.WaitUsPerS,
				Lock: h.LockWaitUsPerS, Held: h.HeldUsPerS, Read: h.ReadWaitUsPerS, Retry: h.RetryUsPerS,
				Conflicts: h.ConflictsPerS, Queue: h.Waiters, Moving: h.Moving, Moved: millis(h.MovedNs),
				Rule: rules[h.Policy], Placement: h.Reason}
			fill(&k, receipts[string(h.Key)])
			delete(receipts, string(h.Key))
			all = append(all, ranked{k, h.Key})
		}
	}
	for _, c := range receipts {
		k := Key{Key: shown(c.key)}
		fill(&k, c)
		all = append(all, ranked{k, c.key})
	}
	slices.SortFunc(all, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(y.Waited, x.Waited),
			cmp.Compare(y.Conflicts, x.Conflicts), bytes.Compare(x.raw, y.raw))
	})
	out := []Key{}
	for i := range all[:min(maxKeys, len(all))] {
		out = append(out, all[i].Key)
	}
	return out
}

// conflictsOf returns the sums of each pair of operations over all keys.
func conflictsOf(a *answers) []*Conflict {
	all := sums{}
	for n := range a.present() {
		for i := range n.Conflicts {
			all.add(&n.Conflicts[i])
		}
	}
	return append([]*Conflict{}, all.sorted()[:min(maxPairs, len(all))]...)
}

func waitsOf(a *answers) []Wait {
	out := []Wait{}
	for n := range a.present() {
		for i := range n.Waits {
			w := &n.Waits[i]
			x := Wait{Txn: w.TxnId.String(), Shard: w.Shard, Waited: w.WaitedUs, Operations: w.Operations,
				HolderOperations: w.HolderOperations,
				User:             w.User, HolderUser: w.HolderUser}
			if c := w.Wait; c != nil {
				x.Key, x.Others, x.Cause = shown(c.Key), c.Others, strings.ToLower(strings.TrimPrefix(c.Cause.String(), "CAUSE_"))
				if !c.Holder.IsZero() {
					x.Holder = c.Holder.String()
				}
			}
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(x, y Wait) int {
		return cmp.Or(cmp.Compare(y.Waited, x.Waited),
			strings.Compare(x.Txn, y.Txn))
	})
	return out[:min(maxWaits, len(out))]
}

func receiptsOf(a *answers) []Receipt {
	out := []Receipt{}
	for n := range a.present() {
		for i := range n.Receipts {
			r := &n.Receipts[i]
			x := Receipt{Time: millis(r.TimeNs), Node: n.NodeId, Txn: r.TxnId.String(), Kind: r.Kind,
				Outcome: r.Outcome, Duration: r.DurationUs}
			if p := r.Receipt; p != nil {
				x.Waited, x.Aborted, x.Sentence = p.WaitedUs, p.Aborted, p.Sentence
				switch {
				case p.Wait != nil:
					x.Key = shown(p.Wait.Key)
				case p.Abort != nil:
					x.Key = shown(p.Abort.Key)
				}
			}
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(x, y Receipt) int { return cmp.Compare(y.Time, x.Time) })
	return out[:min(maxReceipts, len(out))]
}

func snapshotsOf(l *pb.ListSnapshotsResponse) []Snapshot {
	out := []Snapshot{}
	if l == nil {
		return out
	}
	for i := range l.Snapshots {
		s := &l.Snapshots[i]
		out = append(out, Snapshot{Name: s.Name, ID: s.Id, Time: millis(s.TimeNs), Expires: millis(s.ExpiresNs)})
	}
	slices.Reverse(out) // newest first
	return out[:min(maxSnapshots, len(out))]
}

// shown returns a printable form of a key, cut if it is long.
func shown(key []byte) string {
	s := kv.Format(key)
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func millis(nanos int64) int64 { return nanos / 1e6 }
