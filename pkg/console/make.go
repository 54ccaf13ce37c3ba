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

// complete computes the other fields of a Document, except Seconds, from Status, Nodes and Hot,
// and shortens these to what the page shows.
func (d *Document) complete(now time.Time) {
	d.Version, d.Time = Version, now.UnixMilli()
	d.describeProblems()
	var receipts []Receipt
	all, keys := sums{}, map[string]sums{}
	for n := range d.responses() {
		d.Waits = append(d.Waits, n.Waits...)
		for i := range n.Receipts {
			receipts = append(receipts, Receipt{n.NodeId, &n.Receipts[i]})
		}
		for i := range n.Conflicts {
			c := &n.Conflicts[i]
			all.add(c)
			if len(c.Key) > 0 {
				if keys[string(c.Key)] == nil {
					keys[string(c.Key)] = sums{}
				}
				keys[string(c.Key)].add(c)
			}
		}
		n.Seconds, n.Receipts, n.Conflicts, n.Waits = nil, nil, nil, nil
	}
	d.Keys, d.Conflicts = rankedKeys(d.Hot, keys), first(maxPairs, all.sorted(), nil)
	d.Waits = first(maxWaits, d.Waits, func(x, y pb.CurrentWait) int {
		return cmp.Or(cmp.Compare(y.WaitedUs, x.WaitedUs), x.TxnId.Compare(y.TxnId))
	})
	d.Receipts = first(maxReceipts, receipts, func(x, y Receipt) int { return cmp.Compare(y.TimeNs, x.TimeNs) })
	if d.Hot != nil {
		d.Hot.Keys, d.Hot.Rules, d.Hot.Moves = nil, nil, first(maxMoves, d.Hot.Moves, nil)
	}
	d.formatKeys()
}

// first returns the first n of all, by an order if there is one; never nil.
func first[T any](n int, all []T, order func(x, y T) int) []T {
	if order != nil {
		slices.SortStableFunc(all, order)
	}
	return append([]T{}, all[:min(n, len(all))]...)
}

var rejects = map[pb.DiskRejects]string{
	pb.DiskRejects_DISK_REJECTS_WRITES: "writes", pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "all writes"}

// describeProblems adds the sentences about nodes, disks and replicas.
func (d *Document) describeProblems() {
	d.Lost = map[uint32]string{}
	down := detail.Down(d.Status)
	for i, m := range d.Status.Members {
		at := slices.IndexFunc(down, func(d kv.Down) bool { return uint32(d.Node) == m.NodeId })
		if at >= 0 {
			d.Lost[m.NodeId] = down[at].ShardsText()
			d.Problems = append(d.Problems, "N"+down[at].String()[1:]+".")
		}
		if n := d.Nodes[i]; n != nil && rejects[n.Disk.Rejects] != "" {
			d.Problems = append(d.Problems, fmt.Sprintf(
				"Node n%d rejects %s: its disk has %s free, less than the reserve of %s (--disk-reserve-mb).", m.NodeId,
				rejects[n.Disk.Rejects], kv.FormatBytes(n.Disk.FreeBytes), kv.FormatBytes(n.Disk.ReserveBytes)))
		}
	}
	d.Problems = append(d.Problems, replicaProblems(d)...)
}

// sums are sums of what the nodes report, by the operations of both sides.
type sums map[[2]string]*pb.KeyConflict

func (s sums) add(c *pb.KeyConflict) {
	pair := [2]string{c.Operations, c.HolderOperations}
	if s[pair] != nil {
		merge(s[pair], c)
		return
	}
	first := *c
	first.Key = nil
	s[pair] = &first
}

func merge(sum, c *pb.KeyConflict) {
	sum.Waits, sum.WaitedUs, sum.Aborts = sum.Waits+c.Waits, sum.WaitedUs+c.WaitedUs, sum.Aborts+c.Aborts
	sum.SinceNs, sum.LastNs = min(sum.SinceNs, c.SinceNs), max(sum.LastNs, c.LastNs)
	sum.Advice = cmp.Or(sum.Advice, c.Advice)
}

// sorted returns the sums, those with the longest waits first.
func (s sums) sorted() []*pb.KeyConflict {
	return slices.SortedFunc(maps.Values(s), func(x, y *pb.KeyConflict) int {
		return cmp.Or(cmp.Compare(y.WaitedUs, x.WaitedUs), cmp.Compare(y.Aborts, x.Aborts),
			strings.Compare(x.Operations, y.Operations), strings.Compare(x.HolderOperations, y.HolderOperations))
	})
}

// total returns the sum of all pairs, with the operations and the advice of the pair with the
// longest waits.
func (s sums) total() (total pb.KeyConflict) {
	for i, c := range s.sorted() {
		if i == 0 {
			total = *c
			continue
		}
		advice := total.Advice
		merge(&total, c)
		total.Advice = advice
	}
	return total
}

// rankedKeys returns the most contended keys: first those that the hot shard reports, by the
// waits of the last seconds, then those that only receipts report.
func rankedKeys(hot *pb.HotKeysResponse, conflicts map[string]sums) []Key {
	var all []Key
	if hot != nil {
		for _, h := range hot.Keys {
			c := conflicts[string(h.Key)]
			if h.WaitUsPerS == 0 && h.ConflictsPerS == 0 && h.MovedNs == 0 && !h.Moving && c == nil {
				continue // there is only a rule for it, or old waits
			}
			delete(conflicts, string(h.Key))
			k := Key{Key: h.Key, Known: true, Hot: h, Conflict: c.total()}
			k.Hot.Key = nil
			all = append(all, k)
		}
	}
	for key, c := range conflicts {
		all = append(all, Key{Key: []byte(key), Conflict: c.total()})
	}
	return first(maxKeys, all, func(x, y Key) int {
		return cmp.Or(cmp.Compare(y.Hot.WaitUsPerS, x.Hot.WaitUsPerS),
			cmp.Compare(y.Conflict.WaitedUs, x.Conflict.WaitedUs),
			cmp.Compare(y.Hot.ConflictsPerS, x.Hot.ConflictsPerS), bytes.Compare(x.Key, y.Key))
	})
}

// formatKeys replaces all keys by their printable forms.
func (d *Document) formatKeys() {
	for i := range d.Keys {
		format(&d.Keys[i].Key)
	}
	formatOf := func(c *pb.Conflict) {
		if c != nil {
			format(&c.Key)
		}
	}
	for i := range d.Waits {
		formatOf(d.Waits[i].Wait)
	}
	for _, r := range d.Receipts {
		if r.Receipt != nil {
			formatOf(r.Receipt.Wait)
			formatOf(r.Receipt.Abort)
		}
	}
	if d.Hot != nil {
		for i := range d.Hot.Moves {
			format(&d.Hot.Moves[i].Key)
		}
	}
}

// format replaces a key by its printable form, cut if it is long.
func format(key *[]byte) {
	s := kv.Format(*key)
	if len(s) > maxShown {
		n := maxShown
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	*key = []byte(s)
}
