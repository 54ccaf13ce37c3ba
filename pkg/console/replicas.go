package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// replicaProblems are sentences about shards without a leader, missing replicas and failed ones; none without replicas.
func replicaProblems(d *Document) (out []string) {
	if d.Status.Replicas == 0 {
		return nil
	}
	led, missing := map[uint32]bool{}, map[string][]uint32{}
	for n := range d.responses() {
		for i := range n.Shards {
			s := &n.Shards[i]
			if s.Failure != "" {
				out = append(out, fmt.Sprintf("The replica of s%d on n%d has failed: %s.", s.Shard, n.NodeId, s.Failure))
			}
			if s.NodeId != n.NodeId || !s.Up || led[s.Shard] {
				continue
			}
			led[s.Shard] = true
			if s.Missing > 0 {
				what := fmt.Sprintf("%d of %d replicas: %s", d.Status.Replicas-min(s.Missing, d.Status.Replicas),
					d.Status.Replicas, s.MissingReason)
				missing[what] = append(missing[what], s.Shard)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, fmt.Sprintf("Missing replicas: %s %s.", with(missing[what]), what))
	}
	if leaderless := leaderless(d, led); len(leaderless) > 0 {
		out = append(out, fmt.Sprintf("Unavailable: %s no leader.", with(leaderless)))
	}
	return out
}

// leaderless returns the shards that no node leads, if all nodes that are up have answered.
func leaderless(d *Document, led map[uint32]bool) (shards []uint32) {
	for i := range d.Status.Members {
		if d.Status.Members[i].Up && d.Nodes[i] == nil {
			return nil
		}
	}
	for s := range d.Status.Shards {
		if !led[s] {
			shards = append(shards, s)
		}
	}
	return shards
}

// with names shards as the subject of a sentence: "s1 has", "s1, s2 have", of many their number.
func with(shards []uint32) string {
	slices.Sort(shards)
	if len(shards) == 1 {
		return fmt.Sprintf("s%d has", shards[0])
	}
	if len(shards) > 8 {
		return fmt.Sprintf("%d shards have", len(shards))
	}
	var names []string
	for _, s := range shards {
		names = append(names, fmt.Sprintf("s%d", s))
	}
	return strings.Join(names, ", ") + " have"
}
