package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func statusCommand() *cobra.Command {
	cmd := command("status", "Show a node and the members of its cluster", `
Show the node that responds, whether it serves, the free space on its disk, and the members of the cluster
as that node sees them. The shards of a member that is down are unavailable, with their share of the
keyspace; shards with replicas are led by another member after about a second. LEADS is the number of
shards that a member leads. Shards with fewer replicas than they should have are listed, with the reason.
A member whose disk is nearly full rejects writes. From 1 MiB on, the deleted data in the node's store is
shown, which "linchpin reclaim" frees. Monitors and admins also see the IP addresses that the node refuses
or slows down after too many failed connections.`,
		`  linchpin status --addr 10.0.0.1:7070,10.0.0.2:7070`, 0, 0)
	cmd.Aliases = []string{"info"}
	return connects(cmd, false, func(ctx context.Context, s *session, _ []string) error {
		st, err := s.admin().Status(ctx)
		if err != nil {
			return err
		}
		reports := s.reports(ctx, &st)
		wrong, err := replicas(ctx, s.admin(), &st, reports)
		if err != nil {
			return err
		}
		disks := disksOf(&st, reports)
		if s.json {
			a := statusObject(&st, disks)
			if wrong != nil {
				a.replicaReport, a.UnavailablePercent = wrong, wrong.lost
			}
			return s.object(a)
		}
		return errors.Join(s.printStatus(&st, disks), printReplicas(s.printer, wrong))
	})
}

// statusAnswer is a node's status as JSON.
type statusAnswer struct {
	Node     int        `json:"node"`
	Cluster  string     `json:"cluster"`
	Version  string     `json:"version"`
	Ready    bool       `json:"ready"`
	UptimeMs int64      `json:"uptime_ms"`
	Shards   int        `json:"shards"`
	HotShard int        `json:"hot_shard"`
	Disk     diskAnswer `json:"disk"`
	// ReclaimableBytes estimates how many bytes of the store of the node that responds are deleted or
	// overwritten data.
	ReclaimableBytes int64          `json:"reclaimable_bytes"`
	Members          []memberAnswer `json:"members"`
	// UnavailablePercent is the share of the keyspace on members that are down, or without a leader.
	UnavailablePercent float64 `json:"unavailable_keyspace_percent"`
	// RefusedAddresses are the addresses with too many failed connections.
	RefusedAddresses []refusedAddressAnswer `json:"refused_addresses,omitempty"`
	// Replicas is the number of replicas that each shard should have, absent if each has one; then the report is absent
	// too.
	Replicas int `json:"replicas,omitempty"`
	// LeaderLeasesOff: leaders have no leases. ClockRates are by how many parts of a million the clocks of members are
	// faster than that of this node, where that is more than 2 %.
	LeaderLeasesOff bool          `json:"leader_leases_off,omitempty"`
	ClockRates      map[int]int64 `json:"clock_rates_ppm,omitempty"`
	*replicaReport
}

type refusedAddressAnswer struct {
	Address     string `json:"address"`
	Failures    int    `json:"failures"`
	RemainingMs int64  `json:"remaining_ms"`
	// Slowed: the address is served after a delay, and not refused.
	Slowed bool `json:"slowed"`
}

type memberAnswer struct {
	Node    int    `json:"node"`
	Address string `json:"address"`
	Up      bool   `json:"up"`
	// Draining: its shards accept no new transactions.
	Draining bool   `json:"draining,omitempty"`
	Rejects  string `json:"rejects,omitempty"`
	// Shards are those on it, and Keyspace is their share of the keyspace.
	Shards   []int   `json:"shards"`
	Keyspace float64 `json:"keyspace_percent"`
	// Replicas is the number of replicas on it, absent without replicas.
	Replicas int `json:"replicas,omitempty"`
}

func statusObject(st *admin.Status, disks map[int]admin.Disk) *statusAnswer {
	a := &statusAnswer{Node: st.Node, Cluster: st.Cluster, Version: st.Version, Ready: st.Ready,
		UptimeMs: st.Uptime.Milliseconds(), Shards: st.Shards, HotShard: st.HotShard, Disk: diskObject(&st.Disk),
		ReclaimableBytes: st.ReclaimableBytes, Members: []memberAnswer{}, Replicas: st.Replicas,
		LeaderLeasesOff: st.LeaderLeasesOff, ClockRates: st.ClockRates}
	for i := range st.Members {
		m := &st.Members[i]
		a.Members = append(a.Members, memberAnswer{m.Node, m.Address, m.Up || m.Self, m.Draining,
			rejectsWords[disks[m.Node].Rejects], m.Shards, m.Keyspace, m.Replicas})
	}
	for _, d := range down(st) {
		a.UnavailablePercent += d.Keyspace
	}
	for _, r := range st.RefusedAddresses {
		a.RefusedAddresses = append(a.RefusedAddresses,
			refusedAddressAnswer{r.Address, r.Failures, r.Remaining.Milliseconds(), r.Slowed})
	}
	return a
}

func (s *printer) printStatus(st *admin.Status, disks map[int]admin.Disk) error {
	ready := "serving"
	if !st.Ready {
		ready = "waiting for the other members"
	}
	up := shownAge(st.Uptime)
	each := ""
	if st.Replicas > 0 {
		each = fmt.Sprintf(", %d replicas each", st.Replicas)
	}
	if st.LeaderLeasesOff {
		each += ", leader leases off"
	}
	if err := s.printf("node n%d of cluster %s, %s, up for %s, version %s, %d shards (hot: s%d)%s\n\n",
		st.Node, st.Cluster, ready, up, st.Version, st.Shards, st.HotShard, each); err != nil {
		return err
	}
	if err := s.printDisk(st); err != nil {
		return err
	}
	return errors.Join(printMembers(s, st, disks), printClockRates(s, st), s.printRefusedAddresses(st),
		s.printDown(st))
}

func printMembers(s *printer, st *admin.Status, disks map[int]admin.Disk) error {
	head := []string{"MEMBER", "ADDRESS", "STATE"}
	if st.Replicas > 0 {
		head = append(head, "LEADS", "REPLICAS")
	}
	t := s.table(head...)
	for i := range st.Members {
		m := &st.Members[i]
		row := []string{fmt.Sprintf("n%d", m.Node), m.Address, memberState(m, disks[m.Node])}
		if st.Replicas > 0 {
			row = append(row, fmt.Sprint(len(m.Shards)), fmt.Sprint(m.Replicas))
		}
		t.row(row...)
	}
	return t.flush()
}

// printClockRates reports the clocks that run at another rate than the node's own.
func printClockRates(s *printer, st *admin.Status) (err error) {
	for _, n := range slices.Sorted(maps.Keys(st.ClockRates)) {
		faster := float64(st.ClockRates[n]) / 1e4
		how := "faster"
		if faster < 0 {
			faster, how = -faster, "slower"
		}
		err = errors.Join(err, s.printf("\nthe clock of n%d runs %.1f %% %s than that of n%d: repair the clock that is "+
			"wrong\n",
			n, faster, how, st.Node))
	}
	return err
}

func memberState(m *admin.Member, d admin.Disk) string {
	state := "down"
	switch {
	case m.Self:
		state = "up (this node)"
	case m.Up:
		state = "up"
	}
	if m.Draining && (m.Up || m.Self) {
		state += ", draining"
	}
	if what := rejectsWords[d.Rejects]; what != "" {
		state += ", rejects " + what
	}
	return state
}

// printRefusedAddresses lists the addresses with too many failed connections.
func (s *printer) printRefusedAddresses(st *admin.Status) error {
	if len(st.RefusedAddresses) == 0 {
		return nil
	}
	err := s.printf("\n")
	if err != nil {
		return err
	}
	t := s.table("ADDRESS", "FAILURES", "STATE")
	for _, r := range st.RefusedAddresses {
		state := "refused"
		if r.Slowed {
			state = "slowed"
		}
		remaining := r.Remaining.Round(100 * time.Millisecond)
		if remaining > 0 {
			state += " for " + remaining.String()
		} else {
			state += " after the next failure"
		}
		t.row(r.Address, fmt.Sprint(r.Failures), state)
	}
	return t.flush()
}

// down are the members that are down and have shards.
func down(st *admin.Status) (nodes []kv.Down) {
	for _, m := range st.Members {
		if m.Up || m.Self || len(m.Shards) == 0 {
			continue
		}
		d := kv.Down{Node: kv.NodeID(m.Node), Address: m.Address, Keyspace: m.Keyspace,
			Hot: slices.Contains(m.Shards, st.HotShard)}
		for _, shard := range m.Shards {
			d.Shards = append(d.Shards, kv.ShardID(shard))
		}
		nodes = append(nodes, d)
	}
	return nodes
}

// printDown shows what is unavailable because members are down.
func (s *printer) printDown(st *admin.Status) error {
	if st.Replicas > 0 {
		return nil // printReplicas shows it
	}
	nodes := down(st)
	share := 0.0
	for i := range nodes {
		before := ""
		if i == 0 {
			before = "\n"
		}
		share += nodes[i].Keyspace
		err := s.printf("%sunavailable: %s; %s\n", before, nodes[i].ShardsText(), nodes[i].NodeText())
		if err != nil {
			return err
		}
	}
	if len(nodes) > 1 {
		return s.printf("altogether %s of the keyspace\n", kv.Percent(share))
	}
	return nil
}
