package kv

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// NoLeader stands, in place of a node that is down, for shards with several replicas that have no leader.
const NoLeader NodeID = math.MaxUint16

// Down is a node that is down, with the shards that are unavailable until it is back; or the shards with several
// replicas that have no leader.
type Down struct {
	// Node is 0 for the latter.
	Node NodeID
	// Address is its last known address; it may be empty.
	Address string
	// Shards are these shards, in order. Hot is whether the last one is the hot shard.
	Shards []ShardID
	Hot    bool
	// Keyspace is the share of the keyspace with its home on these shards, in percent. The hot
	// shard is the home of no keys.
	Keyspace float64
}

// String names the node, its shards and their share of the keyspace:
// "node n2 (127.0.0.1:7072) is down, and with it the shards s1 and s4, 40 % of the
// keyspace". Without a leader: "no leader can be reached of the shards s1 and s4, 40 % of the
// keyspace: most of the replicas are down or cut off".
func (d *Down) String() string {
	if d.Node == 0 {
		return "no leader can be reached of " + d.ShardsText() + ": most of the replicas are down or cut off"
	}
	return d.NodeText() + ", and with it " + d.ShardsText()
}

// NodeText names the node: "node n2 (127.0.0.1:7072) is down".
func (d *Down) NodeText() string {
	s := "node " + d.Node.String()
	if d.Address != "" {
		s += " (" + d.Address + ")"
	}
	return s + " is down"
}

// maxNamed is how many shards are named in words.
const maxNamed = 8

// ShardsText names the shards and their share of the keyspace: "the shards s1 and s4, 40 % of
// the keyspace". Of more than 8 shards it names the first three and the last.
func (d *Down) ShardsText() string {
	names := make([]string, len(d.Shards))
	for i, s := range d.Shards {
		names[i] = s.String()
	}
	last := len(names) - 1
	if last < 0 {
		return "its shards"
	}
	if d.Hot {
		names[last] += " (hot)"
	}
	share := ", " + Percent(d.Keyspace) + " of the keyspace"
	switch {
	case last == 0:
		return "the shard " + names[0] + share
	case last >= maxNamed:
		return fmt.Sprintf("%d shards (%s, ..., %s)", last+1, strings.Join(names[:3], ", "), names[last]) + share
	}
	return "the shards " + strings.Join(names[:last], ", ") + " and " + names[last] + share
}

// Error is the error of a request that needs one of the shards. Nothing was applied.
func (d *Down) Error() *Error {
	hint := "nothing was applied, and what lives on other nodes is served; start the node, or wait for it"
	if d.Node == 0 {
		hint = `nothing was applied; start the nodes that "linchpin status" shows as down, or wait for them`
	}
	return &Error{Kind: KindUnavailable, Op: -1, Text: d.String(), Down: d,
		Hint: hint + " (--wait-for-shards, client.WithWaitForShards)"}
}

// Percent formats a share of 0 to 100 with at most one decimal: "33.3 %".
func Percent(p float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
}
