// Package env is the environment of the parts of a gateway's state machine: the configuration, the time, and the
// messages to send. Each part owns its own state, and returns what has happened.
//
// # Guarantees
//
// Names of readers, of commits and of own transactions are unique in the cluster and over restarts. They
// contain no time.
//
// A request with a Retry timer is retried with exponential backoff until its owner stops calling IsDue:
//
//	Start ──▶ Repeat ──▶ 2 Repeat ──▶ 4 Repeat ... Liveness
//	                     one retry at LastRetryTime, if that is earlier
//
// # Hazards
//
// All parts share one Env, and it is not for concurrent use. Out is drained by Flush of the state machine only.
//
// # Example
//
// A request is sent at 0 ms, and its client's deadline is at 500 ms. Its owner sets a timer with StartRetry and asks
// IsDue in each Tick: the request is sent again at 50, 150 and 350 ms, and once more shortly before it is given up,
// so that the shard reports what it waits for.
//
// All packages under txn rely on this one, and it on none of them.
package env
