package workload

import "errors"

// Source draws the transactions of a run for those who run them in a way of
// their own: a simulation, or a computation of what they cost. What it draws
// is what Runner runs with the same options.
type Source struct{ plan *plan }

// NewSource makes a source of o, whose defaults are filled in. The tag begins
// every value that is written.
func NewSource(o Options, tag string) (*Source, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Locality > 0 && o.Homes == nil {
		return nil, errors.New("locality is asked for, and it is not known where keys live")
	}
	p, err := newPlan(o, tag)
	if err != nil {
		return nil, err
	}
	return &Source{p}, nil
}

// Options are those of the run, defaults filled in.
func (s *Source) Options() Options { return s.plan.Options }

// Client gives what draws the transactions of a client, one after the other.
// It is for one goroutine.
func (s *Source) Client(client int) func() Txn {
	g := s.plan.generator(client)
	return func() Txn { return g.next(0) }
}
