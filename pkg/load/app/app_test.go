package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

const clients = 4

// application is one of the six, small.
type application struct {
	name  string
	types []string
	make  func(e Env) (App, error)
	// plants are changes that, lost or doubled, must be noticed.
	plants []plant
}

// plant is a change: a word of the key and the method.
type plant struct{ word, method string }

var applications = []application{
	{"raw-mix", []string{"set"}, func(e Env) (App, error) {
		return NewRawMix(e, RawMix{Sets: 50, Skew: 1, Adds: 50,
			Members: 50_000})
	},
		[]plant{{"set", "add"}}},
	{"tickets", []string{"bounded-counter", "map"}, func(e Env) (App, error) {
		return NewTickets(e, Tickets{Venues: 3, Events: 12, Tickets: 80, Skew: 1})
	}, []plant{{"event", "subtract"}, {"venue", "add"}, {"order", "put"}}},
	{"bank", []string{"bounded-counter"}, func(e Env) (App, error) {
		return NewBank(e, Bank{Accounts: 10, Start: 300,
			Skew: 1})
	},
		[]plant{{"account", "subtract"}, {"account", "add"}}},
	{"likes as sets", []string{"set"}, func(e Env) (App, error) {
		return NewLikes(e, Likes{Posts: 30, Users: 20,
			Skew: 1})
	},
		[]plant{{"likers", "add"}, {"likers", "remove"}}},
	{"likes as counters", []string{"map"}, func(e Env) (App, error) {
		return NewLikes(e, Likes{Posts: 30, Users: 20, Skew: 1, As: LikesAsCounter})
	}, []plant{{"liked", "set-if-absent"}, {"liked", "delete"}, {"count", "add"}}},
	{"retwis with sorted sets", []string{"set", "map", "list", "sorted-set"}, smallRetwis(TimelineSortedSet),
		[]plant{{"timeline", "add"}, {"followers", "add"}, {"following", "add"}, {"top", "increment"},
			{"reposts", "add-count"}, {"posts", "append"}, {"post", "set"}, {"user", "set"}}},
	{"retwis with a top-k", []string{"set", "map", "list", "sorted-set", "top-k"}, smallRetwis(TimelineTopK),
		[]plant{{"timeline", "add"}}},
	{"retwis with lists", []string{"set", "map", "list", "sorted-set"}, smallRetwis(TimelineList),
		[]plant{{"timeline", "append"}}},
	{"rubis", []string{"set", "map", "list", "top-k", "summary"}, func(e Env) (App, error) {
		return NewRubis(e, Rubis{Items: 40, Regions: 5, Categories: 4, Users: 20, Bids: 8, Skew: 1,
			Mix: Mix{{"view", 20}, {"browse", 10}, {"bid", 50}, {"open", 5}, {"close", 5}, {"comment", 5}, {"new-user", 3},
				{"view-user", 2}}})
	}, []plant{{"best", "add"}, {"bids", "add"}, {"bids-of", "add"}, {"bid", "put"}, {"category", "add"},
		{"region", "remove"}, {"comments-on", "append"}, {"user", "increment"}, {"item", "set"}}},
}

func smallRetwis(timelines string) func(Env) (App, error) {
	return func(e Env) (App, error) {
		return NewRetwis(e, Retwis{Scale: 5, Followers: 3, MostFollowers: 12, Posts: 10, Timelines: timelines,
			Mix: Mix{{"timeline", 40}, {"repost", 20}, {"post", 20}, {"follow", 15}, {"new-user", 5}}})
	}
}

// ready makes sure that there are the data types that it needs.
func (a application) ready(t *testing.T) {
	for _, name := range a.types {
		require.NotNil(t, adt.ByName(name), "there is no type %s", name)
	}
}

// run runs a small application on db.
func (a application) run(t *testing.T, e Env, count uint64) (*workload.Result, error) {
	t.Helper()
	e.Prefix, e.Clients, e.Seed = "t/", clients, 11
	made, err := a.make(e)
	require.NoError(t, err)
	return Run(t.Context(), made, workload.Options{Clients: clients, Count: count, Seed: e.Seed}, nil)
}

func TestApplicationsKeepTheirPromises(t *testing.T) {
	for _, a := range applications {
		t.Run(a.name, func(t *testing.T) {
			a.ready(t)
			for _, interactive := range []bool{false, true} {
				r, err := a.run(t, Env{DB: newMemory(), Interactive: interactive}, 1200)
				require.NoError(t, err, "%+v", r.Invariants)
				require.Equal(t, uint64(1200), r.All.Committed, "%v", r.Errors)
				require.NotEmpty(t, r.Invariants)
				for _, i := range r.Invariants {
					require.Equal(t, workload.Holds, i.Verdict)
					require.False(t, strings.HasPrefix(i.Text, "0 "), "nothing was compared: %s: %s", i.Name, i.Text)
				}
				for _, k := range r.Kinds {
					require.NotZero(t, k.Committed, "%s never happened", k.Kind)
				}
				require.NotEmpty(t, r.Workload.App.Loaded)
			}
		})
	}
}

// often are words of keys whose changes are mostly made again by others, or
// undone, so that a single one may rightly go unnoticed: one in three is lost.
var often = map[string]bool{"liked": true, "likers": true, "reposts": true}

// planted is a memory in which one change is made n times instead of once: the
// seventh that fits, and all that are the same as it.
func planted(p plant, n int) *memory {
	m, seen, chosen := newMemory(), 0, ""
	m.change = func(c Call) int {
		word, _, _ := strings.Cut(strings.TrimPrefix(string(c.Key), "t/"), "/")
		if word != p.word || c.Method != p.method {
			return 1
		}
		this := fmt.Sprintf("%q %v", c.Key, c.Args)
		seen++
		if seen == 7 {
			chosen = this
		}
		if this == chosen && (n == 0 || seen == 7) || often[p.word] && seen%3 == 0 {
			return n
		}
		return 1
	}
	return m
}

// idempotent are methods that twice is the same as once.
var idempotent = map[string]bool{"put": true, "set": true, "remove": true, "delete": true, "set-if-absent": true,
	"add-count": true}

func TestAPlantedViolationIsNoticed(t *testing.T) {
	for _, a := range applications {
		for _, p := range a.plants {
			for _, n := range []int{0, 2} {
				if n == 2 && (idempotent[p.method] || p.method == "add" && a.addsOnce(p.word)) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s of %s %d times", a.name, p.method, p.word, n), func(t *testing.T) {
					a.ready(t)
					db := planted(p, n)
					r, err := a.run(t, Env{DB: db}, 500)
					require.ErrorIs(t, err, ErrBroken)
					require.NotEmpty(t, r.Broken())
				})
			}
		}
	}
}

// addsOnce: what the word stands for is a set, to which adding twice is the
// same as once.
func (a application) addsOnce(word string) bool {
	return word != "venue" && word != "account" && word != "count" && word != "bids"
}

func TestWithoutTransactionsNothingThatTakesThemIsPromised(t *testing.T) {
	for _, a := range applications {
		t.Run(a.name, func(t *testing.T) {
			a.ready(t)
			r, err := a.run(t, Env{DB: newMemory(), OneByOne: true}, 500)
			require.NoError(t, err)
			require.True(t, r.Workload.App.OneByOne)
			var b strings.Builder
			require.NoError(t, r.WriteText(&b))
			require.Contains(t, b.String(), "not transactional")
			for _, i := range r.Invariants {
				require.Contains(t, []workload.Verdict{workload.Holds, workload.NotPromised}, i.Verdict)
			}
		})
	}
}

// What was carried out without a known outcome is neither lost nor too much.
func TestUnknownOutcomesAreAccountedFor(t *testing.T) {
	for _, a := range applications {
		t.Run(a.name, func(t *testing.T) {
			a.ready(t)
			db := newMemory()
			w, err := a.make(Env{DB: db, Prefix: "t/", Clients: clients, Seed: 3})
			require.NoError(t, err)
			failing := db.failEvery(9)
			r, err := Run(t.Context(), w, workload.Options{Clients: clients, Count: 800}, func(part string) {
				switch {
				case strings.HasPrefix(part, "loaded"):
					db.fail = failing
				case part == "verifying":
					db.fail = nil
				}
			})
			require.NoError(t, err, "%+v", r.Invariants)
			require.NotZero(t, r.All.Unknown+r.All.Failed)
		})
	}
}

// failEvery loses every n-th answer.
func (m *memory) failEvery(n int) func() error {
	count := 0
	return func() error {
		count++
		if count%n == 0 {
			return kv.Errorf(kv.KindOutcomeUnknown, "the answer was lost")
		}
		return nil
	}
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	e := Env{DB: newMemory(), Clients: 4}
	for name, makeIt := range map[string]func() (App, error){
		"raw-mix":        func() (App, error) { return NewRawMix(e, RawMix{Adds: 101}) },
		"raw-mix's skew": func() (App, error) { return NewRawMix(e, RawMix{Skew: -1}) },
		"tickets":        func() (App, error) { return NewTickets(e, Tickets{Events: -1}) },
		"bank":           func() (App, error) { return NewBank(e, Bank{Accounts: 1}) },
		"likes":          func() (App, error) { return NewLikes(e, Likes{Users: 3}) },
		"likes as what":  func() (App, error) { return NewLikes(e, Likes{As: "list"}) },
		"retwis":         func() (App, error) { return NewRetwis(e, Retwis{Scale: 30}) },
		"retwis' shift":  func() (App, error) { return NewRetwis(e, Retwis{Scale: -1}) },
		"retwis' law":    func() (App, error) { return NewRetwis(e, Retwis{Scale: 6, Followers: 3, Geometric: 2}) },
		"retwis' bound": func() (App, error) {
			return NewRetwis(e,
				Retwis{Scale: 6, Followers: 3, MostFollowers: 10_000})
		},
		"rubis":            func() (App, error) { return NewRubis(e, Rubis{Items: -1}) },
		"rubis' rush":      func() (App, error) { return NewRubis(e, Rubis{Rush: -1}) },
		"rubis' regions":   func() (App, error) { return NewRubis(e, Rubis{Regions: -1}) },
		"no such timeline": func() (App, error) { return NewRetwis(e, Retwis{Timelines: "register"}) },
	} {
		_, err := makeIt()
		require.Error(t, err, name)
		require.Contains(t, err.Error(), "want", name)
	}
}

func TestMixesAreReadAndDrawn(t *testing.T) {
	m, err := TicketMix.With("view=1,buy=3")
	require.NoError(t, err)
	require.Equal(t, Mix{{"buy", 3}, {"view", 1}}, m)
	require.Equal(t, "75% buy, 25% view", m.String())
	for _, bad := range []string{"", "buy", "buy=-1", "buy=0", "sell=1", "buy=NaN", "buy=+Inf"} {
		_, err := TicketMix.With(bad)
		require.Error(t, err, bad)
	}
	r := (&world{}).source(1)
	counts := [2]int{}
	for range 40_000 {
		counts[m.pick(r)]++
	}
	require.InDelta(t, 30_000, counts[0], 500)
	for _, mix := range []Mix{RetwisReadHeavy, RetwisPostHeavy, RubisReadHeavy, RubisBidHeavy} {
		sum := 0.0
		for _, s := range mix {
			sum += s.Weight
		}
		require.InDelta(t, 100, sum, 1e-9)
	}
}

func TestALoadThatFailsIsReportedAndNothingRuns(t *testing.T) {
	db := newMemory()
	db.fail = func() error { return errors.New("no") }
	a, err := NewBank(Env{DB: db, Prefix: "t/", Clients: 1}, Bank{})
	require.NoError(t, err)
	_, err = Run(t.Context(), a, workload.Options{Clients: 1, Count: 1}, nil)
	require.ErrorContains(t, err, "loading 100 accounts")
}

func TestAmountsAreAllDifferent(t *testing.T) {
	seen := map[int64]bool{}
	for n := range int64(10_000) {
		a := amount(n)
		require.False(t, seen[a])
		seen[a] = true
		require.InDelta(t, 100+n, a, 64)
	}
}
