// Package workload makes skewed load, runs it against a store and measures
// what came of it. It is what the command zetaload and the demo are made of,
// and knows the store only as the interface Store.
//
// # A run
//
//	runner, err := workload.New(store, workload.Options{Skew: 1.2, Clients: 64, Duration: 30 * time.Second})
//	result, err := runner.Run(ctx)
//	err = result.WriteText(os.Stdout)
//
// In outline:
//
//	start Scanners goroutines; each scans everything, over and over  (scan.go)
//	start Clients goroutines; each, until the run is over:
//	    ask the schedule when the next transaction is meant to start   (schedule.go)
//	    draw it: its kind from Mix, its keys from package zipf         (generate.go)
//	        and, with Locality, from those on the client's node        (homes.go)
//	    let the recorder note that it starts
//	    give it to the store, with a deadline
//	    let the recorder note what was seen and how it ended
//	    add its latency and outcome to the meter                       (measure.go)
//	once a second: show a snapshot of the meter
//	at the end: stop drawing, wait for what is in flight, sum up       (result.go)
//
// # Closed and open loop
//
// In a closed loop each client starts a transaction when its last one has
// ended, so a store that stalls is asked less, and a stall of a second shows
// up as one slow transaction a client. With Rate set the loop is open:
// transaction i is meant to start at i/Rate seconds, whatever became of those
// before it, and its latency is counted from then. If all clients are busy it
// starts late and the wait counts. A stall is thus seen by everyone who would
// have been hit by it, which is what a rate is for; the number of clients only
// bounds how many are in flight. What was due and never started before the
// end is reported as the backlog: with a backlog that grows, the latencies say
// how long the run was, and no more.
//
// # What is counted
//
// A transaction belongs to the warm-up or to the measured part by its intended
// start. Latencies are those of committed transactions. Throughput counts the
// commits that were answered inside the measured part, whenever they began.
// Scans are apart from all this: those that began in the measured part count,
// and what is under way at its end is cut short.
//
// Transactions in flight at the end are waited for and counted by their kind
// and outcome, but do not add to the throughput.
//
// # Workloads of others
//
// Published gives the options of the workloads that the papers measure, by
// name, as a start for changes.
//
// # Applications
//
// With Options.App clients use an application in the place of the mix: it
// draws and runs transactions of its own kinds, and reports tell its settings
// and whether its invariants hold. Schedule, meter and report are the same.
// Package app has some.
//
// # Repeatable
//
// From one seed, client i draws one sequence of transactions. With a Count
// alone and a closed loop the clients have fixed shares of it, so two runs ask
// exactly the same. In an open loop, with a Duration or with a Warmup, how far
// each client gets depends on the store, and with MoveHotEvery or Locality so
// do the keys. The values written hold a tag that is new in each run,
// so that a repeated run never writes a value that is already there.
package workload
