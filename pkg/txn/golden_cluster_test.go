package txn_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/golden"
)

var errNotCluster = fmt.Errorf("not a verb of the environment")

// doCluster executes the verbs of the gateway's environment.
func (s *script) doCluster(words []string) error {
	switch words[0] {
	case "drop":
		var rest []*msg.Envelope
		for _, env := range s.inFlight {
			if len(words) > 1 && (env.Gateway != 0 || env.Shard.String() != words[1]) {
				rest = append(rest, env)
				continue
			}
			s.printf("  lost: %s", golden.Message(env))
		}
		s.inFlight = rest
	case "at":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		s.now = int64(d)
		s.g.Tick(s.now)
		s.flush()
		for _, sh := range s.shards {
			if err := s.stepShard(sh, nil); err != nil {
				return err
			}
		}
	case "wound", "push":
		ref, err := golden.Txn(words[1])
		if err != nil {
			return err
		}
		env := msg.ToGateway(1)
		if words[0] == "wound" {
			by, err := golden.Txn(words[3])
			if err != nil {
				return err
			}
			env.Body = &msg.Wound{Txn: ref, By: by}
		} else {
			env.Body = &msg.Push{Txn: ref, Shard: 1}
		}
		s.g.Deliver(s.now, env)
	case "drain", "back":
		var id, inc int
		if _, err := fmt.Sscanf(strings.Join(words[1:], " "), "s%d %d", &id, &inc); err != nil {
			return err
		}
		if words[0] == "drain" {
			s.g.Shards().SetDraining(kv.ShardID(id), kv.Incarnation(inc))
		} else {
			s.g.Shards().Learn(kv.ShardID(id), kv.Incarnation(inc))
		}
	case "down", "up":
		n, err := strconv.Atoi(words[1][1:])
		s.g.SetDown(s.now, kv.NodeID(n), words[0] == "down")
		return err
	case "heat":
		m, err := heatMap(words[1:])
		s.heats++
		m.Number = s.heats
		env := msg.ToGateway(1)
		env.Body = m
		s.g.Deliver(s.now, env)
		return err
	case "moved":
		env := msg.ToGateway(1)
		epoch, err := strconv.ParseUint(words[1], 10, 64)
		env.Body = &msg.HeatMap{Epoch: epoch}
		for _, w := range words[2:] {
			msg.As[msg.HeatMap](env).Moved = append(msg.As[msg.HeatMap](env).Moved, []byte(w))
		}
		s.g.Deliver(s.now, env)
		return err
	case "busy":
		id, err := golden.Shard(words[1])
		if err != nil {
			return err
		}
		share, err := strconv.ParseFloat(words[2], 64)
		s.shards[id].busy = share
		return err
	case "quiet":
		for _, sh := range s.shards {
			if n := sh.M.Status(0).FixedCSNs; n > 0 {
				return fmt.Errorf("s%d retains %d snapshots for readers", sh.Config.ID, n)
			}
		}
		return s.g.CheckQuiescent()
	case "restart":
		id, err := golden.Shard(words[1])
		if err != nil {
			return err
		}
		return s.shards[id].restart(s.now)
	default:
		return errNotCluster
	}
	return nil
}

// heatMap parses a heat map, such as w=3 x=0.5.
func heatMap(words []string) (*msg.HeatMap, error) {
	m := &msg.HeatMap{}
	for _, w := range words {
		key, heat, _ := strings.Cut(w, "=")
		h, err := strconv.ParseFloat(heat, 64)
		if err != nil {
			return nil, err
		}
		m.Keys = append(m.Keys, msg.KeyHeat{Key: []byte(key), Shard: router{}.Shard([]byte(key)), Heat: h})
	}
	return m, nil
}
