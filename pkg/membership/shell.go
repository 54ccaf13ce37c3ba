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
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Store stores the membership; the node's catalog implements it.
type Store interface {
	// LoadMembership returns the last saved state, nil if there is none.
	LoadMembership() (*Saved, error)
	// SaveMembership makes s durable before it returns.
	SaveMembership(s *Saved) error
}

// CallFunc calls the node at addr; Ask is the implementation.
type CallFunc func(ctx context.Context, addr string, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error)

// Options are the parameters of a shell. Config and Store are required.
type Options struct {
	Config
	Store Store
	// Call calls a node. Default: Ask.
	Call CallFunc
	// OnMoved is called when the address of a peer has changed after the cluster was formed. It must not call
	// the shell. Default: none.
	OnMoved func(kv.NodeID, string)
	// Log receives events. Default: none.
	Log *slog.Logger
	// EveryMin and EveryMax bound the time between two rounds of calls; it doubles with each round. Default 50
	// ms and 1 s.
	EveryMin, EveryMax time.Duration
	// Timeout bounds a call. Default 2 s.
	Timeout time.Duration
	// StampEvery is the period of stamps. An older copy of the store is detected if the node has sent a stamp
	// since the copy was made. Default ten minutes.
	StampEvery time.Duration
}

// newStamp returns a random number that is not 0.
func newStamp() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return max(1, binary.LittleEndian.Uint64(b[:]))
}

func (o *Options) setDefaults() {
	if o.Call == nil {
		o.Call = Call
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
	if o.NewStamp == nil {
		o.NewStamp = newStamp
	}
	if o.StampEvery <= 0 {
		o.StampEvery = 10 * time.Minute
	}
}

// Shell runs a Machine: it saves, calls and is called.
type Shell struct {
	opts   Options
	cancel context.CancelFunc
	// formed and failed are closed when that happens; ready when the node may serve; done when the calls have ended.
	formed, ready, failed, done chan struct{}
	// known is the last saved state, nil before the cluster is formed. It is not changed.
	known atomic.Pointer[Saved]

	mu      sync.Mutex
	machine *Machine
	// notes are the last log entries by subject, so that the same entry is not repeated in every round.
	notes map[string]string
	// saveErr: the state could not be saved, so nothing may be sent any more.
	saveErr error
}

// Start loads the state from the store and starts to call. The Peer service must serve Meet from then on.
func Start(o Options) (*Shell, error) {
	o.setDefaults()
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
		formed: make(chan struct{}), ready: make(chan struct{}), failed: make(chan struct{}),
		done: make(chan struct{})}
	if saved != nil {
		s.known.Store(saved)
		close(s.formed)
	}
	if err := s.apply("", eff); err != nil {
		cancel()
		return nil, err
	}
	go s.run(ctx)
	return s, nil
}

// Meet handles the call of another node; the Peer service calls it.
func (s *Shell) Meet(_ context.Context, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saveErr != nil {
		return nil, s.saveErr
	}
	resp, eff := s.machine.HandleCall(req)
	s.apply(req.Caller.Address, eff)
	if s.saveErr != nil {
		return nil, s.saveErr
	}
	return resp, nil
}

// MarkSeen records that a member has the cluster in its catalog, since it takes part in the cluster's traffic.
// It must therefore never start without.
func (s *Shell) MarkSeen(n kv.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saveErr == nil {
		s.apply(n.String(), s.machine.MarkSeen(n))
	}
}

// Wait returns when the cluster is formed, this node's identity is durable, and no member that responds in
// time knows a later state of the node's store (MayServe); or with the reason why that is impossible.
func (s *Shell) Wait(ctx context.Context) (Saved, error) {
	for _, c := range []chan struct{}{s.formed, s.ready} {
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
	case <-s.failed: // the other members have been informed
	case <-s.done:
	case <-ctx.Done():
	}
	return Saved{}, err
}

// Place returns the place of the present disk of a member, as far as it is saved (Saved.Place). It does not wait for
// the disk.
func (s *Shell) Place(n kv.NodeID) (place string, known bool) {
	if saved := s.known.Load(); saved != nil {
		return saved.Place(n)
	}
	return "", false
}

// Failed is closed when the node must end; Err is the reason.
func (s *Shell) Failed() <-chan struct{} { return s.failed }

// Err is why the node must end, nil if there is no reason.
func (s *Shell) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.Err()
}

// Saved returns the current state; it is zero before Wait has returned.
func (s *Shell) Saved() Saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.Saved()
}

// Close stops calling.
func (s *Shell) Close() {
	s.cancel()
	<-s.done
}

// apply executes effects. The caller holds the lock, so that later messages follow what had to be durable.
func (s *Shell) apply(about string, eff Effects) error {
	if eff.Save != nil {
		if err := s.opts.Store.SaveMembership(eff.Save); err != nil {
			s.saveErr = fmt.Errorf("membership: cannot save: %w", err)
			return s.machine.fail(s.saveErr).Err
		}
		s.known.Store(eff.Save)
		s.closeReached(eff.Save)
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
		s.opts.Log.Log(context.Background(), noteLevel(eff.Note), "membership exchange failed", "address", about, "error",
			eff.Note)
	}
	return eff.Err
}

// noteLevel is the log level of a note. A member that does not respond may not have been started yet.
func noteLevel(note error) slog.Level {
	if kv.KindOf(note) == kv.KindUnavailable {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// maxNotes bounds the remembered log entries; callers determine their subjects.
const maxNotes = 4 * kv.MaxNodes

// closeReached closes formed and ready once each, when the state is saved in which the node is that.
func (s *Shell) closeReached(saved *Saved) {
	if !isClosed(s.formed) {
		close(s.formed)
		s.opts.Log.Info("cluster formed", "cluster", saved.Cluster, "self", saved.Node, "members", len(saved.Members))
		if saved.Disk != 0 {
			s.opts.Log.Warn("this node has lost its disk: it joins again with an empty one", "place",
				kv.PlaceOf(saved.Node, saved.Disk))
		}
	}
	if s.machine.MayServe() && !isClosed(s.ready) {
		close(s.ready)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run calls the members that the machine returns until all have responded or the node must end. It checks
// periodically, since an incoming call may be a reason to end.
func (s *Shell) run(ctx context.Context) {
	defer close(s.done)
	every := s.opts.EveryMin
	s.callAll(ctx, min(firstRoundTimeout, s.opts.Timeout))
	s.finishRound()
	marks := time.NewTicker(s.opts.StampEvery)
	defer marks.Stop()
	for {
		s.callAll(ctx, s.opts.Timeout)
		s.finishRound()
		if s.Err() != nil {
			// One more round, so that this node informs every member with different flags: once one of them ends, it
			// does not respond any more.
			s.callAll(ctx, s.opts.Timeout)
			close(s.failed)
			return
		}
		t := time.NewTimer(every)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-marks.C:
			s.stampStore()
		case <-t.C:
		}
		t.Stop()
		every = min(2*every, s.opts.EveryMax)
	}
}

// firstRoundTimeout bounds how long an existing member waits for responses before it serves. Reachable
// members respond much sooner; a member that is down must not delay the start.
const firstRoundTimeout = 500 * time.Millisecond

// finishRound ends a round. After the first one the node may serve, or with replicas after a later one.
func (s *Shell) finishRound() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saveErr == nil {
		s.apply("", s.machine.FinishFirstRound())
	}
}

// stampStore gives the store a new stamp. It is sent only when it is durable. If it cannot be saved, for
// example on a full disk, the next one may be.
func (s *Shell) stampStore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.machine.NextStamp()
	if s.saveErr != nil || next == nil {
		return
	}
	if err := s.opts.Store.SaveMembership(next); err != nil {
		s.opts.Log.Warn("new store stamp not saved", "error", err)
		return
	}
	s.machine.ApplyStamp(next)
}

// callAll calls all targets concurrently.
func (s *Shell) callAll(ctx context.Context, timeout time.Duration) {
	s.mu.Lock()
	if s.saveErr != nil {
		s.mu.Unlock()
		return
	}
	targets := s.machine.CallTargets()
	req := &peerpb.MeetRequest{Caller: s.machine.Introduction()}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var calls sync.WaitGroup
	for _, addr := range targets {
		calls.Go(func() { s.call(ctx, addr, req) })
	}
	calls.Wait()
}

func (s *Shell) call(ctx context.Context, addr string, req *peerpb.MeetRequest) {
	resp, err := s.opts.Call(ctx, addr, req)
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.apply(addr, Effects{Note: err})
		return
	}
	delete(s.notes, addr)
	s.apply(addr, s.machine.HandleResponse(addr, resp))
}
