package world

import (
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Single is one shard without a cluster, for scripts and tests of a machine: its log is durable at once, its reads
// return at once, and its user sets the time.
type Single struct {
	Config shard.Config
	M      *shard.Machine
	Store  *memstore.Store
	// Now, Wall and Disk are inputs of all steps.
	Now, Wall int64
	Disk      shard.Disk
	// LeaseEnd, Transferring and ReadersWithheld are those of a leader, inputs of all steps as well.
	LeaseEnd                      int64
	Transferring, ReadersWithheld bool
	// Held makes reads wait in Reads for Answer.
	Held  bool
	Reads []entry.Read
	// OnOutput is called for each output before it is performed, unless nil.
	OnOutput func(*shard.Output)
}

// NewSingle makes a shard with an empty log. Restart starts it.
func NewSingle(c shard.Config) *Single { return &Single{Config: c, Store: memstore.NewAutoSync()} }

// Restart makes the machine from the log, after change, unless nil, has changed what was recovered. It returns the
// messages of the start.
func (s *Single) Restart(change func(*shard.Recovered)) ([]*msg.Envelope, error) {
	var rec shard.Recovered
	if err := s.Store.Recover(s.Config.ID, rec.Add); err != nil {
		return nil, err
	}
	if change != nil {
		change(&rec)
	}
	m, out := shard.New(s.Config, rec, s.Now, s.Wall)
	s.M, s.Reads = m, nil
	return s.perform(shard.Input{}, &out)
}

// Shutdown shuts the shard down cleanly.
func (s *Single) Shutdown() error {
	_, err := s.perform(shard.Input{}, &shard.Output{Entries: s.M.Shutdown()})
	return err
}

// Step executes a step with these messages, and what follows from its reads. It returns the messages that are sent.
func (s *Single) Step(envs ...*msg.Envelope) ([]*msg.Envelope, error) {
	return s.StepWith(shard.Input{Messages: envs})
}

// StepWith is Step with other inputs as well.
func (s *Single) StepWith(in shard.Input) ([]*msg.Envelope, error) {
	in.Now, in.Wall, in.Disk = s.Now, s.Wall, s.Disk
	in.LeaseEnd, in.Transferring, in.ReadersWithheld = s.LeaseEnd, s.Transferring, s.ReadersWithheld
	out := s.M.Step(in)
	return s.perform(in, &out)
}

// Read reads from the log.
func (s *Single) Read(r entry.Read) entry.ReadResult { return s.Store.Read(s.Config.ID, r) }

// perform executes the output of a step with these inputs.
func (s *Single) perform(in shard.Input, out *shard.Output) ([]*msg.Envelope, error) {
	if s.OnOutput != nil {
		s.OnOutput(out)
	}
	sent := append(append([]*msg.Envelope(nil), out.Urgent...), out.Send...)
	_, err := s.Store.Append([]entry.Group{{Shard: s.Config.ID, Entries: out.Entries}})
	if err == nil {
		err = s.M.Check()
	}
	s.Reads = append(s.Reads, out.Reads...)
	if err != nil || s.Held || len(s.Reads) == 0 {
		return sent, err
	}
	more, err := s.answer(in, nil)
	return append(sent, more...), err
}

// Answer executes a step with the results of all reads that wait; they fail with an error, unless it is nil.
func (s *Single) Answer(fail error) ([]*msg.Envelope, error) { return s.answer(shard.Input{}, fail) }

func (s *Single) answer(in shard.Input, fail error) ([]*msg.Envelope, error) {
	in.Messages, in.Reads = nil, nil
	for _, r := range s.Reads {
		res := s.Read(r)
		if fail != nil {
			res = entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: fail}
		}
		in.Reads = append(in.Reads, res)
	}
	s.Reads = nil
	return s.StepWith(in)
}
