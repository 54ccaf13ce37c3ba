package workload

import (
	"context"
	"fmt"
	"strings"
)

// App is an application that clients use, instead of transactions that
// are drawn from a mix: it draws and runs its own (package app has some).
type App interface {
	// About describes what is run, for reports.
	About() About
	// Kinds are the kinds of its transactions. A Kind is an index into them.
	Kinds() []AppKind
	// Do draws and runs the client's next transaction, until ctx ends at the
	// latest. Each client, from 0, is one goroutine; different ones come at the
	// same time.
	Do(ctx context.Context, client int) Done
}

// AppKind is a kind of an application's transactions.
type AppKind struct {
	Name string
	// Reads: they change nothing.
	Reads bool
}

// Done is a transaction of an application that has ended.
type Done struct {
	Kind  Kind
	Reply Reply
	// Err is nil if the store did what was asked, be it to refuse.
	Err error
}

// About is what a report says of an application.
type About struct {
	// Name is that of the workload; Mix says which kinds come how often.
	Name string `json:"name"`
	Mix  string `json:"mix"`
	// Settings are what it was run with, each in a few words.
	Settings []string `json:"settings"`
	// OneByOne: operations were run one after the other, each as a
	// transaction of its own.
	OneByOne bool `json:"one_by_one"`
	// Loaded says what was there before the run, and how long that took.
	Loaded string `json:"loaded"`
}

func (a *About) String() string {
	how := "transactional"
	if a.OneByOne {
		how = "not transactional, one operation a transaction"
	}
	return fmt.Sprintf("%s: %s; %s", a.Name, strings.Join(a.Settings, ", "), how)
}

// Verdict is the result of the check of an invariant.
type Verdict string

// The verdicts.
const (
	Holds       Verdict = "holds"
	Broken      Verdict = "broken"
	NotPromised Verdict = "not promised"
)

// Invariant is something that an application promises, and whether it was kept.
type Invariant struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Text says what was compared, or some of what is wrong.
	Text string `json:"text"`
}

// Broken lists the invariants that do not hold.
func (r *Result) Broken() (names []string) {
	for _, i := range r.Invariants {
		if i.Verdict == Broken {
			names = append(names, i.Name)
		}
	}
	return names
}

// ownKinds are those of transactions that are drawn from a mix.
func ownKinds() []AppKind {
	var all []AppKind
	for _, k := range Kinds() {
		all = append(all, AppKind{k.String(), k.Reads()})
	}
	return all
}

// kindsOfRun are those that are counted.
func (o Options) kindsOfRun() []AppKind {
	if o.App != nil {
		return o.App.Kinds()
	}
	return ownKinds()
}
