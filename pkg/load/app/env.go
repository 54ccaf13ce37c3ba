package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// Env is what an application runs in.
type Env struct {
	DB DB
	// Prefix begins every key. It must be new: see workload.NewRunTag.
	Prefix string
	// Clients is how many use the application, at least 1.
	Clients int
	// Seed determines what is drawn.
	Seed uint64
	// OneByOne runs operations one after the other, each as a transaction of
	// its own; Interactive sends those of a transaction one after the other.
	OneByOne, Interactive bool
}

// picker draws which of n things is used; the popular ones are anywhere among them.
func (e *Env) picker(n int, skew float64) (*zipf.Picker, error) {
	return zipf.NewPicker(zipf.Options{Keys: uint64(n), Skew: skew, Shuffle: true, Seed: e.Seed})
}

// App is an application with its data.
type App interface {
	workload.App
	// Load makes the data that is there before the first client comes.
	Load(ctx context.Context) error
	// Verify compares the store with what clients received. No
	// client is at work any more.
	Verify(ctx context.Context) ([]workload.Invariant, error)
}

// world is what all applications have in common.
type world struct {
	Env
	// db is what clients use; Env.DB is the store as it is.
	db    DB
	about workload.About
}

func newWorld(e Env, name string) world {
	w := world{Env: e, db: e.DB, about: workload.About{Name: name, OneByOne: e.OneByOne, Loaded: "nothing"}}
	switch {
	case e.OneByOne:
		w.db = OneByOne{e.DB}
	case e.Interactive:
		w.db = Interactive{e.DB}
		w.set("interactive")
	}
	return w
}

// About describes the application.
func (w *world) About() workload.About { return w.about }

func (w *world) set(format string, args ...any) {
	w.about.Settings = append(w.about.Settings, fmt.Sprintf(format, args...))
}

// key makes a key of a word and numbers.
func (w *world) key(word string, numbers ...int) []byte {
	b := append([]byte(w.Prefix), word...)
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, '/'), int64(n), 10)
	}
	return b
}

// named makes a key of a word and a name.
func (w *world) named(word, name string) []byte {
	return append(append(append([]byte(w.Prefix), word...), '/'), name...)
}

// source is a client's own.
func (w *world) source(client int) *rand.Rand {
	return rand.New(rand.NewPCG(w.Seed, uint64(client)))
}

// What loading and verifying do at a time. Somewhat arbitrary.
const (
	batchCalls   = 200
	batchWorkers = 8
	batchTries   = 5
)

// load runs calls as transactions of many, which must commit, and notes what
// they made. The calls of one group stay together.
func (w *world) load(ctx context.Context, what string, groups [][]Call) error {
	begun := time.Now()
	var batches [][]Call
	for _, g := range groups {
		if n := len(batches); n > 0 && len(batches[n-1])+len(g) <= batchCalls {
			batches[n-1] = append(batches[n-1], g...)
			continue
		}
		batches = append(batches, append([]Call(nil), g...))
	}
	err := parallel(ctx, len(batches), func(ctx context.Context, i int) error {
		_, err := w.insist(ctx, batches[i])
		if refused(err) {
			// The keys are new: what is there already is of a try before,
			// whose outcome was not known.
			err = nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("loading %s: %w", what, err)
	}
	w.about.Loaded = fmt.Sprintf("%s, in %.1f s before the run", what, time.Since(begun).Seconds())
	return nil
}

// readAll asks for groups of calls, each in one transaction, and gives the
// answers to see, group by group in their order.
func (w *world) readAll(ctx context.Context, groups [][]Call, see func(group int, answers []Answer)) error {
	answers := make([][]Answer, len(groups))
	perBatch := max(1, batchCalls/max(1, len(first(groups))))
	batches := (len(groups) + perBatch - 1) / perBatch
	err := parallel(ctx, batches, func(ctx context.Context, b int) error {
		from, to := b*perBatch, min((b+1)*perBatch, len(groups))
		var calls []Call
		for _, g := range groups[from:to] {
			calls = append(calls, g...)
		}
		all, err := w.insist(ctx, calls)
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			answers[i], all = all[:len(groups[i])], all[len(groups[i]):]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading back: %w", err)
	}
	for i, a := range answers {
		see(i, a)
	}
	return nil
}

func first(groups [][]Call) []Call {
	if len(groups) == 0 {
		return nil
	}
	return groups[0]
}

// insist runs calls that may be run again until they commit with answers.
func (w *world) insist(ctx context.Context, calls []Call) (answers []Answer, err error) {
	for range batchTries {
		var e Executed
		e, err = w.DB.Execute(ctx, calls...)
		if err == nil && len(e.Answers) == len(calls) {
			return e.Answers, nil
		}
		if err == nil {
			err = errors.New("the results were lost")
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// parallel does n things, a few at a time, and gives the first error.
func parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(batchWorkers, n) {
		wg.Go(func() {
			for i := range work {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := range n {
		select {
		case work <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}
