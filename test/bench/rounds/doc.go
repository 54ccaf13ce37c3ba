// Package rounds compares things on a machine that is not quiet: every round
// runs all of them, one after the other and in turning order, and what counts
// is the median over the rounds, of each and of the ratios within a round.
package rounds
