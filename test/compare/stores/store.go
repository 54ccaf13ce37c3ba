// Package stores has the stores that are compared, each of them as a server in
// child processes with a client as its users have it, and the ways in which
// each of them counts.
//
// What one increment costs in round trips and waiting is the store's own: every
// way is asked for one increment at a time by each client, and nothing here
// batches the increments of several.
package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/linchpindb/linchpin/test/compare/child"
	"github.com/linchpindb/linchpin/test/compare/debian"
)

// ErrUnknown is wrapped by the error of an increment that may have been done.
var ErrUnknown = errors.New("the outcome is unknown")

// Way is a way to count at a server, with a counter of its own.
type Way struct {
	Name string
	// What an increment is, in words.
	What string
	// Increment adds one to the counter for client number i, from 0, durably, and
	// returns once that is acknowledged. An error wraps ErrUnknown, or the counter
	// is as it was.
	Increment func(ctx context.Context, i int) error
	// Value reads the counter.
	Value func(context.Context) (int64, error)
	// AtLeast is how many times as many increments linchpin is to do; 0 for
	// nothing asked.
	AtLeast float64
}

// Server is a store that runs.
type Server struct {
	// Name and Version are what the server calls itself.
	Name, Version string
	// Durable says how it makes an increment outlive a crash, by its own account
	// where it gives one.
	Durable string
	// Client says with what, and over how many connections, it is called.
	Client string
	Ways   []Way

	processes []*child.Process
	// disconnect ends the client's connections.
	disconnect []func() error
}

// CPU is the processor time that the server's processes have used; 0 where that
// is not known.
func (s *Server) CPU() (sum time.Duration) {
	for _, p := range s.processes {
		sum += p.CPU()
	}
	return sum
}

// Stop ends the client and then the server.
func (s *Server) Stop() error {
	var errs []error
	for _, end := range s.disconnect {
		errs = append(errs, end())
	}
	for _, p := range s.processes {
		errs = append(errs, p.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// Place is what a server is given to start.
type Place struct {
	// Dir is an empty directory of its own.
	Dir string
	// Clients is how many will call it at once.
	Clients int
	// Programs are the paths of the programs that its kind needs.
	Programs map[string]string
}

// Kind is a kind of store.
type Kind struct {
	// Key is how it is called on the command line, Name in sentences.
	Key, Name string
	// Needs are the programs that it runs.
	Needs []debian.Program
	// start starts a server into s, which has what was begun even if it fails.
	start func(ctx context.Context, p Place, s *Server) error
}

// Linchpin is the name of the program that linchpin's own kinds need. It is
// built, not installed.
const Linchpin = "linchpin"

// All are the kinds, in the order in which they are reported.
func All() []Kind {
	return []Kind{linchpinKind(), linchpinNodesKind(), postgresKind(), etcdKind(), redisKind()}
}

// tries is how often a server is started whose port was taken meanwhile.
const tries = 3

// Start starts a server of the kind; who calls it must call Stop. p.Dir is made.
func (k Kind) Start(ctx context.Context, p Place) (*Server, error) {
	var errs []error
	for try := range tries {
		at := p
		at.Dir = filepath.Join(p.Dir, fmt.Sprint(try))
		// Servers may run as another user, who needs access.
		if err := os.MkdirAll(at.Dir, 0o711); err != nil {
			return nil, err
		}
		s := &Server{Name: k.Name}
		err := k.start(ctx, at, s)
		if err == nil {
			return s, nil
		}
		again := errors.Is(err, child.ErrEnded)
		if !again { // the end by itself has been reported
			err = errors.Join(err, s.Stop())
		} else {
			_ = s.Stop()
		}
		errs = append(errs, err)
		if !again || ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("starting %s: %w", k.Name, errors.Join(errs...))
}

// launch starts a process of the server.
func (s *Server) launch(spec child.Spec) (*child.Process, error) {
	p, err := child.Start(spec)
	if err == nil {
		s.processes = append(s.processes, p)
	}
	return p, err
}

// unknown says of an error that the increment may have been done.
func unknown(err error) error { return fmt.Errorf("%w: %w", ErrUnknown, err) }
