package txn_test

import (
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// shardScript is a shard with a load.
type shardScript struct {
	*world.Single
	busy float64
}

// newShard makes a shard. If its lease is negative, readers do not register.
func newShard(c shard.Config) (*shardScript, error) {
	c.Home = router{}.Shard
	s := &shardScript{Single: world.NewSingle(c)}
	return s, s.restart(0)
}

// restart makes the state machine from the log. Its first messages are lost.
func (s *shardScript) restart(now int64) error {
	s.Now, s.Wall = now, now
	_, err := s.Restart(func(rec *shard.Recovered) {
		rec.State.Newest, rec.State.Ahead = -1, nil // the ids of scripts are not in the order of time
	})
	return err
}

func (s *shardScript) step(now int64, in []*msg.Envelope) ([]*msg.Envelope, error) {
	s.Now, s.Wall = now, now
	return s.StepWith(shard.Input{Messages: in, Busy: s.busy})
}
