// Package hotornot is the experiment of Lam and Helt, Hot or Not, Evaluation,
// on clusters in this process: how long transactions take as their keys become
// more skewed, when the hottest keys are on a hot shard and when they are not.
//
// A Mode says what a cluster does about hot keys. 2pc is what the paper starts
// from: locking reads, two-phase commit, no hot shard. In the other modes a
// number of the hottest keys is on the hot shard from the beginning, and no key
// is moved; or none is, and the cluster moves hot keys.
//
// Each point, a mode at a skew, is measured once a round, on a new cluster: one
// that has worked has keys moved and compactions left to do, and one that is
// idle weighs on the garbage collector. Within a round modes take turns, which
// begin with another one each time. A Point has medians over the rounds.
//
// In outline:
//
//	for each round, skew and mode:
//	    start three nodes that serve gRPC, with a delay between them
//	    load the hottest keys; the others are absent until they are written
//	    run the workload "hot-or-not" of package workload; stop the cluster
//	take the medians; write them as a table, CSV, JSON, a picture, a page
package hotornot
