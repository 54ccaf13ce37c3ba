// Package env is the environment of the parts of a gateway's state machine: the configuration, the time, and the
// messages to send. Each part owns its own state, and returns what has happened.
//
// # Guarantees
//
// Names of readers, of commits and of own transactions are unique in the cluster and over restarts. They
// contain no time.
//
// A request with a Retry timer is retried with exponential backoff until its owner stops calling Due:
//
//	Start ──▶ Repeat ──▶ 2 Repeat ──▶ 4 Repeat ... Liveness
//	                     one retry at LastRepeat, if that is earlier
//
// # Hazards
//
// All parts share one Env, and it is not for concurrent use. Out is drained by Flush of the state machine only.
package env
