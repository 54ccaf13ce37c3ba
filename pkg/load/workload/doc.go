// Package workload generates transactions on hot keys, runs them on a store and
// measures them. The command zetaload and the demo use it. It knows the store only
// as the interface Store.
//
// # A run
//
//	runner, err := workload.New(store, workload.Options{Skew: 1.2, Clients: 64, Duration: 30 * time.Second})
//	result, err := runner.Run(ctx)
//	err = result.WriteText(os.Stdout)
//
// In outline:
//
//	start Scanners goroutines; each scans all keys repeatedly        (scan.go)
//	start Clients goroutines; each, until the run is over:
//	    get the start of the next transaction from the schedule        (schedule.go)
//	    draw it: its kind from Mix, its keys from package zipf         (generate.go)
//	        and, with Locality, from those on the client's node        (homes.go)
//	    record its start
//	    send it to the store, with a deadline
//	    record its results and its outcome
//	    add its latency and outcome to the meter                       (measure.go)
//	once a second: show a snapshot of the meter
//	at the end: wait for transactions in flight, sum up                (result.go)
//
// # Closed and open loop
//
// In a closed loop each client starts a transaction when its last one ends. A
// store that stalls receives fewer transactions, and a stall of a second is one
// slow transaction for each client. With Rate the loop is open: transaction i is
// due at i/Rate seconds, and its latency counts from then. If all clients are
// busy it starts late, and the delay counts, so that a stall counts for each
// transaction that it delays. The number of clients only bounds the transactions
// in flight. Transactions that are due and not started before the end are the
// backlog: if it grows, latencies depend on the length of the run.
//
// # What is counted
//
// A transaction belongs to the warm-up or to the measured part by its intended
// start. Latencies are those of committed transactions. Throughput counts commits
// acknowledged within the measured part, whenever they started. Scans are counted
// separately: those that start in the measured part, complete or cut short by its
// end.
//
// The run waits for transactions in flight at its end. They count by kind and
// outcome, not for the throughput.
//
// # Workloads of others
//
// Published returns the options of the workloads of papers, by name.
//
// # Applications
//
// With Options.App clients run an application instead of the mix: it draws and
// runs transactions of its own kinds, and the report has its settings and
// invariants. Schedule, meter and report are the same. Package app has applications.
//
// # Repeatable
//
// From one seed, client i draws one sequence of transactions. In a closed loop with
// a Count alone each client has a fixed share, so that two runs send the same
// transactions. In an open loop, with a Duration or with a Warmup, their number
// depends on the speed of the store; with MoveHotEvery or Locality, so do the keys.
// Values contain a tag that is new in each run, so that each value is unique.
package workload
