// Bench holds linchpin against its targets for speed (docs/performance.md).
//
//	go run ./test/bench puts       one-shot puts against bare echoes
//	go run ./test/bench sync       what durability costs
//	go run ./test/bench hot        one hot key, hot-last against parallel
//	go run ./test/bench update     read, think and write, with early locks and without
//	go run ./test/bench sss        readers without locks against locking ones
//	go run ./test/bench isolation  cold traffic beside one saturated key
//	go run ./test/bench replicas   three replicas against one, and against etcd's three members
//	go run ./test/bench failover   three replicas: leaders killed, drains, an emptied disk
//	go run ./test/bench footprint  idle cost, memory, size, time to start
//
// What is compared runs in turn in one run, for several rounds; what is
// printed are medians, and ratios within rounds. Servers are processes of
// their own: this program starts itself again as a node or as an echo server.
// The cluster of sss that has twenty nodes is simulated (package simulated).
// A node is made by the code that `linchpin start` runs.
package main
