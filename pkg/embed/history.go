package embed

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// pinConfig says how states are kept, but for where.
func pinConfig(history, every time.Duration) shard.PinConfig {
	switch {
	case every < 0:
		return shard.PinConfig{}
	case history == 0:
		history = kv.DefaultHistory
	case history < 0:
		history = 0
	}
	if every == 0 {
		every = kv.DefaultPinEvery
	}
	return shard.PinConfig{Every: every, History: history}
}

// heatConfig says how heat is told of, but for where, and what is made of it.
func heatConfig(mode hotshard.Mode) shard.HeatConfig {
	return shard.HeatConfig{Every: kv.DefaultHeatEvery, Mode: mode}
}
