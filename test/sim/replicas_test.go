package sim

import "testing"

// TestReplicas runs random clusters whose shards have three replicas.
func TestReplicas(t *testing.T) { runSeeds(t, *timeFlag, DrawReplicas) }
