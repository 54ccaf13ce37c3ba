package history

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// drawMixedExact draws a history of n transactions by running them one after another: gets, scans, puts, deletions and
// increments that commute. Some fail, and some end unknown, with or without effect.
func drawMixedExact(r *rand.Rand, n, keys int) []ExactTxn {
	state := map[string]MadeVersion{} // the newest version of each key
	txns := make([]ExactTxn, n)
	for i := range txns {
		now := int64(i * 10)
		t := at(now-r.Int64N(40), now+r.Int64N(40))
		visible := true
		switch p := r.IntN(10); {
		case p == 0:
			t.Outcome, visible = Failed, false
		case p < 3:
			t.Outcome, visible = Unknown, r.IntN(2) == 0
		}
		for range 1 + r.IntN(3) {
			exactStep(r, &t, state, keys)
		}
		for w := range t.Writes {
			made := &t.Writes[w]
			made.Version = ver(100*i + w + 1) // differs from the order, also for versions that were never visible
			if visible {
				made.Order = state[made.Key].Order + 1
				state[made.Key] = *made
			}
		}
		txns[i] = t
	}
	r.Shuffle(n, func(i, j int) { txns[i], txns[j] = txns[j], txns[i] })
	return txns
}

func exactStep(r *rand.Rand, t *ExactTxn, state map[string]MadeVersion, keys int) {
	k := fmt.Sprintf("k%d", r.IntN(keys))
	now := func(k string) SeenVersion {
		if w := state[k]; !w.Deleted {
			return SeenVersion{k, w.Version}
		}
		return SeenVersion{Key: k}
	}
	what := r.IntN(8)
	if what >= 4 && touches(*t, k) {
		return
	}
	switch what {
	case 0, 1, 2:
		t.Reads = append(t.Reads, now(k))
	case 3:
		s := SeenRange{Start: k, End: "k9"}
		for j := range keys {
			if seen := now(fmt.Sprintf("k%d", j)); seen.Key >= k && !seen.Version.IsZero() {
				s.Seen = append(s.Seen, seen)
			}
		}
		t.Scans = append(t.Scans, s)
	case 4:
		t.Writes = append(t.Writes, MadeVersion{Key: k, Deleted: true})
	case 5, 6:
		t.Writes = append(t.Writes, MadeVersion{Key: k, Commutes: true})
	default:
		t.Writes = append(t.Writes, MadeVersion{Key: k})
	}
}

// exactMutations corrupt a history, or try to: the reference model decides whether it is still legal. Each returns
// whether it changed something.
var exactMutations = []struct {
	name string
	do   func(*rand.Rand, []ExactTxn) bool
}{
	{"another version is read", func(r *rand.Rand, txns []ExactTxn) bool {
		t, other := &txns[r.IntN(len(txns))], &txns[r.IntN(len(txns))]
		if len(t.Reads) == 0 || len(other.Writes) == 0 {
			return false
		}
		w := other.Writes[r.IntN(len(other.Writes))]
		at := slices.IndexFunc(t.Reads, func(s SeenVersion) bool { return s.Key == w.Key })
		if at < 0 {
			return false
		}
		t.Reads[at].Version = w.Version
		return true
	}},
	{"a key is not found", func(r *rand.Rand, txns []ExactTxn) bool {
		t := &txns[r.IntN(len(txns))]
		if len(t.Reads) == 0 {
			return false
		}
		seen := &t.Reads[r.IntN(len(t.Reads))]
		was := seen.Version
		seen.Version = kv.Version{}
		return !was.IsZero()
	}},
	{"a scan misses a key", func(r *rand.Rand, txns []ExactTxn) bool {
		t := &txns[r.IntN(len(txns))]
		if len(t.Scans) == 0 || len(t.Scans[0].Seen) == 0 {
			return false
		}
		at := r.IntN(len(t.Scans[0].Seen))
		t.Scans[0].Seen = slices.Delete(t.Scans[0].Seen, at, at+1)
		return true
	}},
	{"a scan returns another version", func(r *rand.Rand, txns []ExactTxn) bool {
		t, other := &txns[r.IntN(len(txns))], &txns[r.IntN(len(txns))]
		if len(t.Scans) == 0 || len(other.Writes) == 0 || other.Writes[0].Key < t.Scans[0].Start {
			return false
		}
		w, s := other.Writes[0], &t.Scans[0]
		s.Seen = slices.DeleteFunc(s.Seen, func(v SeenVersion) bool { return v.Key == w.Key })
		s.Seen = append(s.Seen, SeenVersion{w.Key, w.Version})
		return true
	}},
	{"two versions are exchanged", func(r *rand.Rand, txns []ExactTxn) bool {
		a, b := &txns[r.IntN(len(txns))], &txns[r.IntN(len(txns))]
		if len(a.Writes) == 0 || len(b.Writes) == 0 {
			return false
		}
		x, y := &a.Writes[r.IntN(len(a.Writes))], &b.Writes[r.IntN(len(b.Writes))]
		if x == y || x.Key != y.Key || x.Order == 0 || y.Order == 0 {
			return false
		}
		x.Order, y.Order = y.Order, x.Order
		return true
	}},
	{"a write is lost", func(r *rand.Rand, txns []ExactTxn) bool {
		t := &txns[r.IntN(len(txns))]
		if len(t.Writes) == 0 {
			return false
		}
		w := &t.Writes[r.IntN(len(t.Writes))]
		was := w.Order
		w.Order = 0
		return was > 0
	}},
	{"a transaction runs later", func(r *rand.Rand, txns []ExactTxn) bool {
		t := &txns[r.IntN(len(txns))]
		t.Start += 25
		t.End = max(t.Start, t.End-25)
		return t.Outcome == Committed
	}},
	{"a transaction runs earlier", func(r *rand.Rand, txns []ExactTxn) bool {
		t := &txns[r.IntN(len(txns))]
		t.End -= 25
		t.Start = min(t.Start, t.End)
		return t.Outcome == Committed
	}},
	{"another outcome is reported", func(r *rand.Rand, txns []ExactTxn) bool {
		t := &txns[r.IntN(len(txns))]
		was := t.Outcome
		t.Outcome = Outcome(1 + r.IntN(3))
		return was != t.Outcome
	}},
}

// exactReference is the reference model of CheckExact: it tries every order of the transactions, with the set of
// visible versions of each key.
type exactReference struct {
	txns   []ExactTxn
	chains map[string][]MadeVersion // visible versions in order
	owner  map[SeenVersion]int
	left   []int
}

// seen names the version of a write.
func (w MadeVersion) seen() SeenVersion { return SeenVersion{w.Key, w.Version} }

func exactReferenceAccepts(txns []ExactTxn) bool {
	x := &exactReference{txns: txns, chains: map[string][]MadeVersion{}, owner: map[SeenVersion]int{}}
	for i, t := range txns {
		shows := slices.ContainsFunc(t.Writes, func(w MadeVersion) bool { return w.Order > 0 })
		if t.Outcome == Failed && shows {
			return false
		}
		live := t.Outcome == Committed || t.Outcome == Unknown && shows
		if live {
			x.left = append(x.left, i)
		}
		for _, w := range t.Writes {
			if live && w.Order == 0 {
				return false
			}
			x.chains[w.Key] = append(x.chains[w.Key], w)
			x.owner[w.seen()] = i
		}
	}
	for k, chain := range x.chains {
		chain = slices.DeleteFunc(chain, func(w MadeVersion) bool { return w.Order == 0 })
		slices.SortFunc(chain, func(a, b MadeVersion) int { return cmp.Compare(a.Order, b.Order) })
		x.chains[k] = chain
	}
	return x.placeRest(map[SeenVersion]bool{})
}

// placeRest places the remaining transactions after the visible versions.
func (x *exactReference) placeRest(there map[SeenVersion]bool) bool {
	if len(x.left) == 0 {
		return true
	}
	for at, i := range x.left {
		t := &x.txns[i]
		late := slices.ContainsFunc(x.left, func(j int) bool {
			return x.txns[j].Outcome == Committed &&
				x.txns[j].End < t.Start
		})
		if late || !x.fits(i, there) {
			continue
		}
		for _, w := range t.Writes {
			there[w.seen()] = true
		}
		x.left = slices.Delete(slices.Clone(x.left), at, at+1)
		if x.placeRest(there) {
			return true
		}
		x.left = slices.Insert(x.left, at, i)
		for _, w := range t.Writes {
			delete(there, w.seen())
		}
	}
	return false
}

func (x *exactReference) fits(i int, there map[SeenVersion]bool) bool {
	t := &x.txns[i]
	for _, r := range t.Reads {
		if !x.matches(i, there, r) {
			return false
		}
	}
	for _, s := range t.Scans {
		seen := map[string]bool{}
		for _, r := range s.Seen {
			seen[r.Key] = true
			if !x.matches(i, there, r) {
				return false
			}
		}
		for k := range x.chains {
			if k >= s.Start && k < s.End && !seen[k] && !x.matches(i, there, SeenVersion{Key: k}) {
				return false
			}
		}
	}
	for _, w := range t.Writes {
		chain := x.chains[w.Key]
		rank := slices.IndexFunc(chain, func(c MadeVersion) bool { return c.Version == w.Version })
		from, to := rank, rank // may be visible or not
		for w.Commutes && from > 0 && chain[from-1].Commutes {
			from--
		}
		for w.Commutes && to+1 < len(chain) && chain[to+1].Commutes {
			to++
		}
		for j, c := range chain {
			if (j < from && !there[c.seen()]) || (j > to && there[c.seen()]) {
				return false
			}
		}
	}
	return true
}

// matches reports whether transaction i reads this now.
func (x *exactReference) matches(i int, there map[SeenVersion]bool, r SeenVersion) bool {
	chain := x.chains[r.Key]
	upTo := func(n int) bool { // exactly the first n are visible, except for its own
		for j, c := range chain {
			if x.owner[c.seen()] != i && there[c.seen()] != (j < n) {
				return false
			}
		}
		return true
	}
	if !r.Version.IsZero() {
		if owner, made := x.owner[r]; made && owner == i {
			return true
		}
		n := slices.IndexFunc(chain, func(c MadeVersion) bool { return c.Version == r.Version })
		return n >= 0 && upTo(n+1)
	}
	if slices.ContainsFunc(x.txns[i].Writes, func(w MadeVersion) bool { return w.Key == r.Key && w.Deleted }) || upTo(0) {
		return true
	}
	for j, c := range chain {
		if c.Deleted && upTo(j+1) {
			return true
		}
	}
	return false
}

// TestExactCheckDetectsMutations corrupts legal histories in one way at a time. A history must be rejected if and only
// if no order of the transactions explains it.
func TestExactCheckDetectsMutations(t *testing.T) {
	for seed, m := range exactMutations {
		t.Run(m.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, uint64(seed)))
			refused := 0
			for run := range 1500 {
				txns := drawMixedExact(r, 2+r.IntN(5), 1+r.IntN(3))
				if run%8 == 0 {
					v := CheckExact(ExactHistory{Txns: txns})
					require.True(t, v.Exact && exactReferenceAccepts(txns), "run %d: a legal history is rejected: %+v\n%v", run,
						txns, v)
				}
				if !m.do(r, txns) {
					continue
				}
				want := exactReferenceAccepts(txns)
				v := CheckExact(ExactHistory{Txns: txns})
				require.Equal(t, want, v.OK(), "run %d: %+v\n%v", run, txns, v)
				require.Equal(t, want, v.Exact, "run %d", run)
				if !want {
					refused++
				}
			}
			t.Logf("%d were to be refused", refused)
			require.Greater(t, refused, 20, "too few histories were bad")
		})
	}
}
