package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind uint8

// The kinds of faults. Those before OneWay are done to a process and its disk,
// the others to links and by connections: one of each sort is under way at the
// same time.
const (
	// Kill ends a node as kill -9 does; it is started again.
	Kill Kind = iota
	// Freeze stops a process (SIGSTOP) for longer than a lease.
	Freeze
	// Drain ends a node cleanly (SIGTERM); it is started again.
	Drain
	// SlowDisk has each fsync of a node take longer.
	SlowDisk
	// SlowNet has each message of a node to others take longer.
	SlowNet
	// NearlyFull leaves less room on a node's disk than its reserve.
	NearlyFull
	// Full leaves no room on a node's disk.
	Full
	// OneWay loses what one node sends to another.
	OneWay
	// Flap loses and heals what nodes send to each other, one way at a time.
	Flap
	// Idle opens connections on which nothing happens.
	Idle
	// NoFiles opens connections until a node has no file descriptors for more.
	NoFiles
	// SlowReaders scan, and hardly take what they get.
	SlowReaders
	kinds
)

var kindNames = [kinds]string{"kill", "freeze", "drain", "slow disk", "slow net", "nearly full", "full", "one way", "flap", "idle", "no files", "slow readers"}

func (k Kind) String() string { return kindNames[k] }

// Restarts reports whether the node's process does not survive it.
func (k Kind) Restarts() bool {
	return slices.Contains([]Kind{Kill, Drain, SlowDisk, SlowNet, Full}, k)
}

// onDisk reports whether it takes a small disk.
func (k Kind) onDisk() bool { return k == NearlyFull || k == Full }

// lasts are the bounds of how long a fault of each kind lasts. A process stands
// still for longer than a lease (2 s).
var lasts = [kinds][2]time.Duration{
	Kill: {500 * ms, 4000 * ms}, Freeze: {3000 * ms, 5000 * ms}, Drain: {500 * ms, 3000 * ms},
	SlowDisk: {4000 * ms, 10000 * ms}, SlowNet: {4000 * ms, 10000 * ms},
	NearlyFull: {3000 * ms, 6000 * ms}, Full: {2000 * ms, 5000 * ms},
	OneWay: {2000 * ms, 6000 * ms}, Flap: {3000 * ms, 8000 * ms},
	Idle: {2000 * ms, 6000 * ms}, NoFiles: {2000 * ms, 5000 * ms}, SlowReaders: {3000 * ms, 8000 * ms},
}

const ms = time.Millisecond

// Fault is one fault of a round.
type Fault struct {
	Kind Kind
	// Node is whom it is done to. Of OneWay, it is who sends, and To who does
	// not get it. Flap is done to all.
	Node, To int
	// From and Till are times since the faults of the round began.
	From, Till time.Duration
	// Seed determines what is drawn within the fault.
	Seed uint64
}

func (f Fault) String() string {
	who := fmt.Sprintf("%v node %d", f.Kind, f.Node)
	switch f.Kind {
	case OneWay:
		who += fmt.Sprintf(" to %d", f.To)
	case Flap:
		who = f.Kind.String()
	}
	return fmt.Sprintf("%s %.1f-%.1fs", who, f.From.Seconds(), f.Till.Seconds())
}

// Round is what is done in a round.
type Round struct {
	// Number is from 1.
	Number int
	// Spared is the node whose process is not ended in this round, nor in the
	// others of its turn.
	Spared int
	// Faults are in the order of their beginnings.
	Faults []Fault
	// Seed determines what clients draw.
	Seed uint64
}

func (r Round) String() string {
	var all []string
	for _, f := range r.Faults {
		all = append(all, f.String())
	}
	return fmt.Sprintf("spares node %d; %s", r.Spared, strings.Join(all, ", "))
}

// Means say how a schedule is drawn; the same means give the same schedule.
type Means struct {
	// Seed determines the rest.
	Seed uint64
	// Nodes is how many there are.
	Nodes int
	// Phase is how long there are faults in a round. At least 6 s.
	Phase time.Duration
	// Turn is how many rounds in a row spare the same node.
	Turn int
	// Small is the node with a small disk, -1 if there is none.
	Small int
}

// Schedule draws rounds.
type Schedule struct {
	Means
	r      *rand.Rand
	rounds int
	decks  [2][]Kind
}

// NewSchedule makes a schedule that begins with round 1.
func NewSchedule(m Means) *Schedule {
	return &Schedule{Means: m, r: rand.New(rand.NewPCG(m.Seed, 99))}
}

// Next draws the next round.
func (s *Schedule) Next() Round {
	s.rounds++
	r := Round{Number: s.rounds, Spared: (s.rounds - 1) / s.Turn % s.Nodes, Seed: s.r.Uint64()}
	for lane := range s.decks {
		for at := s.between(500*ms, 1500*ms); ; {
			f, ok := s.draw(lane, r.Spared, at)
			if !ok {
				break
			}
			r.Faults = append(r.Faults, f)
			at = f.Till + s.between(500*ms, 2500*ms)
		}
	}
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return int(a.From - b.From) })
	return r
}

// draw takes the next fault of a lane that can begin at a time and end in the
// round; ok is false if there is none.
func (s *Schedule) draw(lane, spared int, at time.Duration) (f Fault, ok bool) {
	left := s.Phase - at
	k, ok := s.take(lane, spared, left)
	if !ok { // what is left in the deck has to wait: a new one goes below it
		s.decks[lane] = append(s.decks[lane], s.deck(lane)...)
		k, ok = s.take(lane, spared, left)
		if !ok {
			s.decks[lane] = s.decks[lane][:len(s.decks[lane])-len(s.deck(lane))]
			return f, false
		}
	}
	f = Fault{Kind: k, Node: s.r.IntN(s.Nodes), From: at, Till: at + s.between(lasts[k][0], min(lasts[k][1], left)), Seed: s.r.Uint64()}
	switch {
	case k.onDisk():
		f.Node = s.Small
	case k.Restarts() && f.Node == spared:
		f.Node = (spared + 1 + s.r.IntN(s.Nodes-1)) % s.Nodes
	}
	f.To = (f.Node + 1 + s.r.IntN(s.Nodes-1)) % s.Nodes
	return f, true
}

// take takes the first kind of a lane's deck that is possible now.
func (s *Schedule) take(lane, spared int, left time.Duration) (Kind, bool) {
	for i, k := range s.decks[lane] {
		if lasts[k][0] <= left && (k != Full || spared != s.Small) {
			s.decks[lane] = slices.Delete(s.decks[lane], i, i+1)
			return k, true
		}
	}
	return 0, false
}

// deck has every kind of a lane once, in a random order: so none is left out
// for long.
func (s *Schedule) deck(lane int) (deck []Kind) {
	for k := range kinds {
		if (k >= OneWay) == (lane == 1) && (!k.onDisk() || s.Small >= 0) {
			deck = append(deck, k)
		}
	}
	s.r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

func (s *Schedule) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.r.Int64N(int64(most-least)/int64(ms)+1))*ms
}
