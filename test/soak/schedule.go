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

// The kinds of faults. Those before OneWay affect a process and its disk, the others links and connections.
// One fault of each of the two classes is active at a time.
const (
	// Kill ends a node with SIGKILL and restarts it.
	Kill Kind = iota
	// Freeze stops a process with SIGSTOP for longer than a lease.
	Freeze
	// Drain ends a node with SIGTERM and restarts it.
	Drain
	// SlowDisk delays each fsync of a node.
	SlowDisk
	// SlowNet delays each message of a node to other nodes.
	SlowNet
	// NearlyFull leaves less free space on the disk of a node than its reserve.
	NearlyFull
	// Full leaves no free space on the disk of a node.
	Full
	// Empty ends a node with SIGKILL, deletes what is on its disk, and restarts it. It needs replicas.
	Empty
	// OneWay drops what one node sends to another.
	OneWay
	// Flap drops and heals what nodes send to each other, one direction at a time.
	Flap
	// Idle opens connections that stay idle.
	Idle
	// NoFiles opens connections until a node has no file descriptors left.
	NoFiles
	// SlowReaders scan and read the results slowly.
	SlowReaders
	kinds
)

var kindNames = [kinds]string{"kill", "freeze", "drain", "slow disk", "slow net", "nearly full", "full",
	"empty", "one way", "flap", "idle", "no files", "slow readers"}

func (k Kind) String() string { return kindNames[k] }

// Restarts reports whether the fault ends the process of its node.
func (k Kind) Restarts() bool {
	return slices.Contains([]Kind{Kill, Drain, SlowDisk, SlowNet, Full, Empty}, k)
}

// onDisk reports whether the fault needs a small disk.
func (k Kind) onDisk() bool { return k == NearlyFull || k == Full }

// durations are the bounds of the duration of each kind of fault. A freeze is longer than a lease (2 s).
var durations = [kinds][2]time.Duration{
	Kill: {500 * ms, 4000 * ms}, Freeze: {3000 * ms, 5000 * ms}, Drain: {500 * ms, 3000 * ms},
	SlowDisk: {4000 * ms, 10000 * ms}, SlowNet: {4000 * ms, 10000 * ms},
	NearlyFull: {3000 * ms, 6000 * ms}, Full: {2000 * ms, 5000 * ms}, Empty: {500 * ms, 3000 * ms},
	OneWay: {2000 * ms, 6000 * ms}, Flap: {3000 * ms, 8000 * ms},
	Idle: {2000 * ms, 6000 * ms}, NoFiles: {2000 * ms, 5000 * ms}, SlowReaders: {3000 * ms, 8000 * ms},
}

const ms = time.Millisecond

// Fault is one fault of a round.
type Fault struct {
	Kind Kind
	// Node is the affected node. Of OneWay it is the sender, and To the receiver. Flap affects all nodes.
	Node, To int
	// From and Till are times since the beginning of the faults of the round.
	From, Till time.Duration
	// Seed seeds the random choices of the fault.
	Seed uint64
}

func (f Fault) String() string {
	text := fmt.Sprintf("%v node %d", f.Kind, f.Node)
	switch f.Kind {
	case OneWay:
		text += fmt.Sprintf(" to %d", f.To)
	case Flap:
		text = f.Kind.String()
	}
	return fmt.Sprintf("%s %.1f-%.1fs", text, f.From.Seconds(), f.Till.Seconds())
}

// Round is one round of a schedule.
type Round struct {
	// Number counts from 1.
	Number int
	// Protected is the node whose process is not ended in this round.
	Protected int
	// Faults are sorted by From.
	Faults []Fault
	// Seed seeds the random choices of the clients.
	Seed uint64
}

func (r Round) String() string {
	var all []string
	for _, f := range r.Faults {
		all = append(all, f.String())
	}
	return fmt.Sprintf("protects node %d; %s", r.Protected, strings.Join(all, ", "))
}

// ScheduleOptions determine a schedule: equal options yield equal schedules.
type ScheduleOptions struct {
	// Seed seeds the random choices.
	Seed uint64
	// Nodes is the number of nodes.
	Nodes int
	// Phase is the duration of the faults in a round, at least 6 s.
	Phase time.Duration
	// ProtectedRounds is the number of successive rounds that protect the same node.
	ProtectedRounds int
	// Small is the node with a small disk, -1 if there is none.
	Small int
	// Replicated: shards have several replicas. Then a round may empty one disk, which is not the small one.
	Replicated bool
}

// Schedule generates rounds.
type Schedule struct {
	ScheduleOptions
	r      *rand.Rand
	rounds int
	decks  [2][]Kind
	// emptied: the round has emptied a disk. Two of three would be more than the cluster survives (R10.4).
	emptied bool
}

// NewSchedule returns a schedule that begins with round 1.
func NewSchedule(m ScheduleOptions) *Schedule {
	return &Schedule{ScheduleOptions: m, r: rand.New(rand.NewPCG(m.Seed, 99))}
}

// Next generates the next round.
func (s *Schedule) Next() Round {
	s.rounds, s.emptied = s.rounds+1, false
	r := Round{Number: s.rounds, Protected: (s.rounds - 1) / s.ProtectedRounds % s.Nodes, Seed: s.r.Uint64()}
	for lane := range s.decks {
		for at := s.between(500*ms, 1500*ms); ; {
			f, ok := s.draw(lane, r.Protected, at)
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

// draw generates the next fault of a lane that begins at a time and ends within the round. ok is false if
// there is none.
func (s *Schedule) draw(lane, protected int, at time.Duration) (f Fault, ok bool) {
	remaining := s.Phase - at
	k, ok := s.pop(lane, protected, remaining)
	if !ok { // the rest of the deck is not possible now: append a new deck behind it
		s.decks[lane] = append(s.decks[lane], s.deck(lane)...)
		k, ok = s.pop(lane, protected, remaining)
		if !ok {
			s.decks[lane] = s.decks[lane][:len(s.decks[lane])-len(s.deck(lane))]
			return f, false
		}
	}
	f = Fault{Kind: k, Node: s.r.IntN(s.Nodes), From: at,
		Till: at + s.between(durations[k][0], min(durations[k][1], remaining)), Seed: s.r.Uint64()}
	switch {
	case k.onDisk():
		f.Node = s.Small
	case k == Empty:
		s.emptied = true
		for f.Node == protected || f.Node == s.Small {
			f.Node = (f.Node + 1) % s.Nodes
		}
	case k.Restarts() && f.Node == protected:
		f.Node = (protected + 1 + s.r.IntN(s.Nodes-1)) % s.Nodes
	}
	f.To = (f.Node + 1 + s.r.IntN(s.Nodes-1)) % s.Nodes
	return f, true
}

// pop removes and returns the first kind in the deck of a lane that is possible now.
func (s *Schedule) pop(lane, protected int, remaining time.Duration) (Kind, bool) {
	for i, k := range s.decks[lane] {
		if durations[k][0] <= remaining && (k != Full || protected != s.Small) && (k != Empty || !s.emptied) {
			s.decks[lane] = slices.Delete(s.decks[lane], i, i+1)
			return k, true
		}
	}
	return 0, false
}

// deck returns every kind of a lane once, in random order, so that none is missing for long.
func (s *Schedule) deck(lane int) (deck []Kind) {
	for k := range kinds {
		if (k >= OneWay) == (lane == 1) && (!k.onDisk() || s.Small >= 0) && (k != Empty || s.Replicated) {
			deck = append(deck, k)
		}
	}
	s.r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

func (s *Schedule) between(shortest, longest time.Duration) time.Duration {
	return shortest + time.Duration(s.r.Int64N(int64(longest-shortest)/int64(ms)+1))*ms
}
