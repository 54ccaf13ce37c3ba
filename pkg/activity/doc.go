// Package activity is a node's memory of its recent activity, for operators: what ended second by second, the last
// contention receipts, and which operations waited for which, on which keys.
//
// It begins with a counter for each kind of transaction and bucket of latency,
// as the metrics have. Once a second the node calls Seal, and what the counters
// have gained since the last time is a Second. The last 300 of them are kept, so
// that a page that is opened has five minutes to show, and seconds of several
// nodes can be added up, latencies included.
//
// Transactions that waited, or lost an attempt, go into a table besides, by key
// and by what the two sides did with it. Its cells are minutes, six of them, so
// that the sums are of the last five to six minutes. The table has a bound:
// when it is full, the least of four keys at random makes room, and its sums go to
// a nameless key; so sums over all keys are exact, and a key for which much is
// waited stays.
//
// The last receipts are kept as well, of each second the 16 longest.
//
// # What it costs
//
// A transaction that did not wait adds two atomic numbers.
// One that waited takes a mutex, for a look into the table (BenchmarkEnded). All
// is in memory, some 1 MB at most, and gone with the process.
package activity
