package embed

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// resolveEvery is how often the hosts of members are resolved again.
const resolveEvery = 10 * time.Second

// trustMembers has the gate trust the addresses of the members: of those in --join, and of
// those that the cluster knows now. It returns when the IP addresses among them are
// trusted; hosts that are names follow, and are resolved again as long as the node runs.
// The caller calls end.
func (i *Instance) trustMembers(list []string) (end func()) {
	known := map[string][]netip.Addr{}
	trust := func(ctx context.Context) {
		saved := i.meeting.Saved()
		members := append([]string{}, list...)
		for _, address := range saved.Addresses() {
			members = append(members, address)
		}
		i.gate.TrustMembers(resolve(ctx, members, known))
	}
	ctx, cancel := context.WithCancel(context.Background())
	resolved, stop := context.WithCancel(ctx)
	stop() // names take time
	trust(resolved)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			trust(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(resolveEvery):
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// resolve returns the IP addresses of members. known has those of hosts that are names, of
// the last time; a host that cannot be resolved now keeps them.
func resolve(ctx context.Context, members []string, known map[string][]netip.Addr) (all []netip.Addr) {
	for _, address := range members {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		ip, err := netip.ParseAddr(host)
		if err == nil {
			all = append(all, ip)
			continue
		}
		lookup, cancel := context.WithTimeout(ctx, resolveEvery)
		ips, err := net.DefaultResolver.LookupNetIP(lookup, "ip", host)
		cancel()
		if err == nil {
			known[host] = ips
		}
		all = append(all, known[host]...)
	}
	return all
}
