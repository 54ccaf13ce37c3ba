package main

import (
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// keyCount is a workload.KeyCount as a flag.
type keyCount struct{ *workload.KeyCount }

func (k keyCount) Set(s string) (err error) {
	*k.KeyCount, err = workload.ParseKeyCount(s)
	return err
}

func (k keyCount) String() string {
	if k.KeyCount == nil {
		return "" // cobra calls it on a zero value
	}
	return k.KeyCount.String()
}

func (keyCount) Type() string { return "N|MIN-MAX" }

// published sets the defaults of the workload.
func (f *runFlags) published(changed func(string) bool) error {
	p, err := workload.Published(f.workload, max(len(f.addrs), 1))
	if err != nil {
		return usage("--workload: %w", err)
	}
	o := &f.options
	o.Name = p.Name
	for flag, take := range map[string]func(){
		"keys":      func() { o.Keys = p.Keys },
		"skew":      func() { o.Skew = p.Skew },
		"ops":       func() { o.Ops = p.Ops },
		"read-keys": func() { o.ReadKeys = p.ReadKeys },
		"distinct":  func() { o.Distinct = p.Distinct },
		"clients":   func() { o.Clients = p.Clients },
	} {
		if !changed(flag) {
			take()
		}
	}
	return f.mix(p.Mix, changed)
}

// shares are the flags that make up the mix.
var shares = []string{"read-only", "write-only", "rmw", "incr"}

// mix sets the shares. If one is set it is a weight, and those that are not set are 0; but
// --read-only alone is a percentage if the workload defines the other transactions.
func (f *runFlags) mix(own workload.Mix, changed func(string) bool) error {
	m := &f.options.Mix
	given := 0
	for i, share := range []*float64{&m.ReadOnly, &m.WriteOnly, &m.ReadModifyWrite, &m.Increment} {
		if changed(shares[i]) {
			given++
		} else {
			*share = 0
		}
	}
	switch {
	case given == 0:
		*m = own
	case given == 1 && changed("read-only") && f.workload != workload.Zeta:
		if within := m.ReadOnly >= 0 && m.ReadOnly <= 100; !within { // nor is NaN
			return usage("--read-only is %v, want a percentage with --workload %s, 0 to 100, or set the other shares as well",
				m.ReadOnly, f.workload)
		}
		*m = own.WithReadOnly(m.ReadOnly)
	case *m == workload.Mix{}:
		return usage("all of --read-only, --write-only, --rmw and --incr are 0")
	}
	return nil
}
