package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// shardRow is a shard as a node sees it; own: the shard is on that node, or it leads the shard.
type shardRow struct {
	sh  admin.Shard
	own bool
}

// shardRows has the best report of each shard: that of its own node, then of the latest term, then with replicas.
type shardRows map[int]shardRow

func (rows shardRows) add(sh admin.Shard, node int) {
	r, known := shardRow{sh, sh.Node == node}, rows[sh.Shard]
	if r.own == known.own && (sh.Term > known.sh.Term ||
		sh.Term == known.sh.Term && len(sh.Replicas) >= len(known.sh.Replicas)) || r.own && !known.own {
		rows[sh.Shard] = r
	}
}

func (rows shardRows) sorted() []shardRow {
	return slices.SortedFunc(maps.Values(rows), func(a, b shardRow) int { return cmp.Compare(a.sh.Shard, b.sh.Shard) })
}

// leastLag is the number of entries from which on a replica is shown as behind: under load each is a little.
const leastLag = 100

// shownReplicas lists the replicas of a shard in the order of their nodes, as "n1, n2, n3 silent 4s".
func shownReplicas(sh *admin.Shard) string {
	replicas := slices.Clone(sh.Replicas)
	slices.SortStableFunc(replicas, func(a, b admin.Replica) int { return cmp.Compare(a.Node, b.Node) })
	var all []string
	for i := range replicas {
		r := &replicas[i]
		s := fmt.Sprintf("n%d", r.Node)
		if r.Learner {
			s += " new"
		}
		if r.Damaged {
			s += " damaged"
		}
		if r.Lag >= leastLag {
			s += " -" + grouped(r.Lag)
		}
		if r.Silent > 0 {
			s += " silent " + shownAge(r.Silent)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// grouped shows a number with commas between thousands.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// replicaReport is what is wrong with the replicas of a cluster.
type replicaReport struct {
	Missing  []missingReplicas `json:"missing_replicas"`
	Failed   []failedReplica   `json:"failed_replicas"`
	NoLeader []int             `json:"shards_without_leader"`
	// lost is the share of the keyspace without a leader, in percent.
	lost float64
}

// missingReplicas are shards with too few replicas for one reason.
type missingReplicas struct {
	Shards  []int  `json:"shards"`
	Present int    `json:"present"`
	Wanted  int    `json:"wanted"`
	Reason  string `json:"reason"`
	// SilentMs is the longest time for which one of the replicas has not responded; 0 if all respond.
	SilentMs int64 `json:"silent_ms"`
}

// failedReplica is a replica that takes no part in its group any more.
type failedReplica struct {
	Node   int    `json:"node"`
	Shard  int    `json:"shard"`
	Reason string `json:"reason"`
}

// replicas returns what is wrong with the replicas, by the reports of the members; nil without replicas.
func replicas(ctx context.Context, a *admin.Admin, st *admin.Status, reports map[int]admin.Activity) (*replicaReport,
	error) {
	if st.Replicas == 0 {
		return nil, nil
	}
	own, err := a.Shards(ctx)
	if err != nil {
		return nil, err
	}
	out, rows := &replicaReport{Missing: []missingReplicas{}, Failed: []failedReplica{}, NoLeader: []int{}}, shardRows{}
	out.add(rows, st.Node, own)
	for _, m := range st.Members {
		out.add(rows, m.Node, reports[m.Node].Shards)
	}
	for _, r := range rows.sorted() {
		if !r.sh.Up {
			out.NoLeader = append(out.NoLeader, r.sh.Shard)
			if !r.sh.Hot { // the others have equal shares
				out.lost += 100 / float64(st.Shards-1)
			}
		}
		if r.sh.Missing > 0 {
			out.addMissing(&r.sh, st.Replicas)
		}
	}
	return out, nil
}

// add adds what a node reports.
func (r *replicaReport) add(rows shardRows, node int, shards []admin.Shard) {
	for i := range shards {
		sh := &shards[i]
		if sh.Failure != "" {
			r.Failed = append(r.Failed, failedReplica{node, sh.Shard, sh.Failure})
		}
		rows.add(*sh, node)
	}
}

func (r *replicaReport) addMissing(sh *admin.Shard, wanted int) {
	silent := time.Duration(0)
	for i := range sh.Replicas {
		silent = max(silent, sh.Replicas[i].Silent)
	}
	present := wanted - sh.Missing
	at := slices.IndexFunc(r.Missing, func(m missingReplicas) bool {
		return m.Reason == sh.MissingReason && m.Present == present
	})
	if at < 0 {
		at = len(r.Missing)
		r.Missing = append(r.Missing, missingReplicas{Present: present, Wanted: wanted, Reason: sh.MissingReason})
	}
	m := &r.Missing[at]
	m.Shards, m.SilentMs = append(m.Shards, sh.Shard), max(m.SilentMs, silent.Milliseconds())
}

// printReplicas shows what is wrong with the replicas.
func printReplicas(s *printer, r *replicaReport) error {
	if r == nil {
		return nil
	}
	var lines []string
	if len(r.NoLeader) > 0 {
		lines = append(lines, fmt.Sprintf("UNAVAILABLE: %s, %s of the keyspace, without a leader: a majority of the "+
			"replicas is down or cut off, or an election is in progress", shownShards(r.NoLeader), kv.Percent(r.lost)))
	}
	for i := range r.Missing {
		m := &r.Missing[i]
		line := fmt.Sprintf("MISSING REPLICAS: %s with %d of %d replicas: %s", shownShards(m.Shards), m.Present, m.Wanted,
			m.Reason)
		if m.SilentMs > 0 {
			line += fmt.Sprintf(" (silent for %s)", shownAge(time.Duration(m.SilentMs)*time.Millisecond))
		}
		lines = append(lines, line)
	}
	for _, f := range r.Failed {
		lines = append(lines, fmt.Sprintf("FAILED REPLICA: that of s%d on n%d: %s", f.Shard, f.Node, f.Reason))
	}
	if len(lines) == 0 {
		return nil
	}
	return s.printf("\n%s\n", strings.Join(lines, "\n"))
}

// shownShards names shards: "the shards s1, s4", of more than 8 the first 3 and the number.
func shownShards(shards []int) string {
	const most = 8
	names := make([]string, len(shards))
	for i, n := range shards {
		names[i] = fmt.Sprintf("s%d", n)
	}
	switch {
	case len(names) == 1:
		return "the shard " + names[0]
	case len(names) > most:
		return fmt.Sprintf("%d shards (%s, ...)", len(names), strings.Join(names[:3], ", "))
	}
	return "the shards " + strings.Join(names, ", ")
}
