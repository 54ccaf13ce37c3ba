// Package pins is the states of the whole store that are kept, so that
// somebody can read them later: snapshots with a name, and the history that
// "as of" reads (docs/protocol.md, section 8).
//
// A pin is a vector clock: the index of every shard at one instant. All pins
// are therefore in one order, in which no entry ever falls. They are fixed by
// gateways, and kept by one Keeper, which is a part of the hot shard: it
// numbers them, gives them up when their time is over, and has a row in the
// hot shard's log for each.
//
// # What may be collected
//
// A shard keeps every version that is visible at a pin. It cannot know of a
// pin that is on its way to the keeper, so it collects by the keeper's word
// only: Known is what it has been told. Of the keeper's newest state, the
// floor, everything is kept that is visible at the floor or later; of what is
// older, what is visible at one of the pins.
//
//	shard's index   ----p1------p2-----------floor=p3------------> now
//	kept                p1      p2           everything from here on
//	garbage         xxxx  xxxxxx  xxxxxxxxxxx
//
// So the keeper must refuse to keep a state older than its floor. It never
// loses anything by that: somebody who asks for a pin gets the floor instead,
// whose instant is as good, since it is later than the one that was fixed, and
// earlier than the answer.
//
// A shard that has restarted knows nothing, and neither collects nor reads at
// a pin until it has heard the keeper again: the pin may have been given up,
// and its versions collected, before the restart. What was told to the life
// before does not count, since it may be as old as that.
//
// # Times
//
// States are fixed, and end, by the monotonic clock of the keeper's life (Now), and
// are shown by times of day. The clock for that does not jump (clock.go); what
// the rows of earlier lives say is only believed as far as it can be (times.go).
package pins
