package membership

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Store keeps what a node is; the node's catalog is one.
type Store interface {
	// LoadMembership gives what was saved last, nil if nothing was.
	LoadMembership() (*Saved, error)
	// SaveMembership makes s durable before it returns.
	SaveMembership(s *Saved) error
}

// AskFunc calls the node at addr. Ask is the real one.
type AskFunc func(ctx context.Context, addr string, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error)

// Options are a shell's. Config and Store are needed.
type Options struct {
	Config
	Store Store
	// Ask calls a node. Default Ask.
	Ask AskFunc
	// OnMoved is told of peers whose address changed, after the cluster was
	// formed. It must not call the shell. Default none.
	OnMoved func(kv.NodeID, string)
	// Log gets a line for everything worth one. Default none.
	Log *slog.Logger
	// EveryMin and EveryMax bound the time between two rounds of calls; it
	// doubles with each round. Default 50 ms and 1 s.
	EveryMin, EveryMax time.Duration
	// Timeout bounds a call. Default 2 s.
	Timeout time.Duration
	// MarkEvery is how often the node's store gets a new mark. A copy that is put back
	// is found out if the node has told a mark since it was made. Default ten minutes.
	MarkEvery time.Duration
}

// newMark gives a random number that is not 0.
func newMark() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return max(1, binary.LittleEndian.Uint64(b[:]))
}

func (o *Options) fill() {
	if o.Ask == nil {
		o.Ask = Ask
	}
	if o.OnMoved == nil {
		o.OnMoved = func(kv.NodeID, string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.EveryMin <= 0 {
		o.EveryMin = 50 * time.Millisecond
	}
	if o.EveryMax < o.EveryMin {
		o.EveryMax = max(time.Second, o.EveryMin)
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.NewID == "" {
		var b [8]byte
		rand.Read(b[:])
		o.NewID = hex.EncodeToString(b[:])
	}
	if o.NewMark == nil {
		o.NewMark = newMark
	}
	if o.MarkEvery <= 0 {
		o.MarkEvery = 10 * time.Minute
	}
}

// Shell runs a Machine: it saves, calls and is called.
type Shell struct {
	opts   Options
	cancel context.CancelFunc
	// formed and failed are closed when it happens; looked when all members have been
	// called once; done when the calling has ended for good.
	formed, looked, failed, done chan struct{}

	mu      sync.Mutex
	machine *Machine
	// notes are the log lines that were written last, by whom they are about,
	// so that none is written every round.
	notes map[string]string
	// broken: something could not be saved, so nothing may be told any more.
	broken error
}

// Start loads what the store has and begins to call. Meet must be served from
// then on.
func Start(o Options) (*Shell, error) {
	o.fill()
	saved, err := o.Store.LoadMembership()
	if err != nil {
		return nil, err
	}
	m, eff, err := NewMachine(o.Config, saved)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Shell{opts: o, cancel: cancel, machine: m, notes: map[string]string{},
		formed: make(chan struct{}), looked: make(chan struct{}), failed: make(chan struct{}), done: make(chan struct{})}
	if saved != nil {
		close(s.formed)
	}
	if err := s.do("", eff); err != nil {
		cancel()
		return nil, err
	}
	go s.run(ctx)
	return s, nil
}

// Meet answers another node; it is what the Peer service is given.
func (s *Shell) Meet(_ context.Context, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return nil, s.broken
	}
	resp, eff := s.machine.Asked(req)
	s.do(req.Caller.Address, eff)
	if s.broken != nil {
		return nil, s.broken
	}
	return resp, nil
}

// Heard says that a member has shown that it has the cluster in its catalog,
// so that it must never come back without: it took part in the cluster's
// traffic.
func (s *Shell) Heard(n kv.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.do(n.String(), s.machine.Heard(n))
	}
}

// Wait returns when the cluster is formed, this node's place in it is durable, and no
// member that answers at once knows a later state of the node's store; or says why
// that cannot be.
func (s *Shell) Wait(ctx context.Context) (Saved, error) {
	for _, c := range []chan struct{}{s.formed, s.looked} {
		select {
		case <-c:
		case <-s.failed:
			return Saved{}, s.Err()
		case <-ctx.Done():
			return Saved{}, ctx.Err()
		}
	}
	err := s.Err()
	if err == nil {
		return s.Saved(), nil
	}
	select {
	case <-s.failed: // the others have been told
	case <-s.done:
	case <-ctx.Done():
	}
	return Saved{}, err
}

// Failed is closed when the node must end; Err says why.
func (s *Shell) Failed() <-chan struct{} { return s.failed }

// Err is why the node must end, nil if it need not.
func (s *Shell) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.Err()
}

// Saved gives what is known of the cluster now; it is zero before Wait
// returned.
func (s *Shell) Saved() Saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.Saved()
}

// Close ends the calling.
func (s *Shell) Close() {
	s.cancel()
	<-s.done
}

// do carries effects out. The lock is held, so that what is told next, here or
// to a caller, comes after what had to be durable.
func (s *Shell) do(about string, eff Effects) error {
	if eff.Save != nil {
		if err := s.opts.Store.SaveMembership(eff.Save); err != nil {
			s.broken = fmt.Errorf("membership: cannot save: %w", err)
			return s.machine.fail(s.broken).Err
		}
		s.announce(eff.Save)
	}
	if eff.Try != nil {
		if err := s.opts.Store.SaveMembership(eff.Try); err != nil {
			s.opts.Log.Warn("store stamp of a member not saved", "error", err)
		}
	}
	for _, m := range eff.Moved {
		s.opts.Log.Info("member address changed", "peer", m.Node, "address", m.Address)
		s.opts.OnMoved(m.Node, m.Address)
	}
	if eff.Note != nil && s.notes[about] != eff.Note.Error() {
		if len(s.notes) > maxNotes {
			clear(s.notes)
		}
		s.notes[about] = eff.Note.Error()
		s.opts.Log.Log(context.Background(), levelOf(eff.Note), "membership exchange failed", "address", about, "error", eff.Note)
	}
	return eff.Err
}

// levelOf is the level of a note. A member that does not respond may not have been started yet.
func levelOf(note error) slog.Level {
	if kv.KindOf(note) == kv.KindUnavailable {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// maxNotes bounds what is remembered of log lines; callers choose about whom
// they are. Somewhat arbitrary.
const maxNotes = 4 * kv.MaxNodes

// announce closes formed, once.
func (s *Shell) announce(saved *Saved) {
	select {
	case <-s.formed:
	default:
		close(s.formed)
		s.opts.Log.Info("cluster formed", "cluster", saved.Cluster, "self", saved.Node, "members", len(saved.Members))
	}
}

// run calls whom the machine wants to be called, until all have answered, or
// the node must end. It looks again from time to time, for the machine may
// have been told of a reason to end.
func (s *Shell) run(ctx context.Context) {
	defer close(s.done)
	every := s.opts.EveryMin
	s.round(ctx, min(lookFor, s.opts.Timeout))
	s.look()
	marks := time.NewTicker(s.opts.MarkEvery)
	defer marks.Stop()
	for {
		s.round(ctx, s.opts.Timeout)
		if s.Err() != nil {
			// One more round, so that everyone this node disagrees with
			// hears it from us: whoever ends first takes the answers with it.
			s.round(ctx, s.opts.Timeout)
			close(s.failed)
			return
		}
		t := time.NewTimer(every)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-marks.C:
			s.mark()
		case <-t.C:
		}
		t.Stop()
		every = min(2*every, s.opts.EveryMax)
	}
}

// lookFor bounds how long a node that was a member before waits for the others'
// answers before it serves: whoever can be reached answers much sooner, and whoever
// cannot is not waited for. Somewhat arbitrary.
const lookFor = 500 * time.Millisecond

// look says that the look is over.
func (s *Shell) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.do("", s.machine.Looked())
	}
	close(s.looked)
}

// mark gives the store a new mark. It is told only when it is durable: if it cannot be,
// as on a full disk, the next one may.
func (s *Shell) mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.machine.Mark()
	if s.broken != nil || next == nil {
		return
	}
	if err := s.opts.Store.SaveMembership(next); err != nil {
		s.opts.Log.Warn("new store stamp not saved", "error", err)
		return
	}
	s.machine.Marked(next)
}

// round calls everyone once, at the same time.
func (s *Shell) round(ctx context.Context, timeout time.Duration) {
	s.mu.Lock()
	if s.broken != nil {
		s.mu.Unlock()
		return
	}
	whom := s.machine.Ask()
	req := &peerpb.MeetRequest{Caller: s.machine.Introduction()}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var calls sync.WaitGroup
	for _, addr := range whom {
		calls.Go(func() { s.call(ctx, addr, req) })
	}
	calls.Wait()
}

func (s *Shell) call(ctx context.Context, addr string, req *peerpb.MeetRequest) {
	resp, err := s.opts.Ask(ctx, addr, req)
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.do(addr, Effects{Note: err})
		return
	}
	delete(s.notes, addr)
	s.do(addr, s.machine.Answered(addr, resp))
}
