package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func expireCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "expire KEY TIME",
		Short: "Have a key expire after a time",
		Long: `Have a key expire, whatever it holds: it is deleted when TIME is over, or soon
after. TIME is 1ms to 87600h (ten years), as in 30s or 1h30m. To set it again
replaces it, and so does "linchpin put" on the key; what changes the value, as incr
and sadd do, leaves it. Print the version that this makes.

If the key does not exist, nothing is printed and the exit code is 1.`,
		Example: `  linchpin expire session:17 30m`,
		Args:    arguments(2, 2),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		ttl, err := time.ParseDuration(args[1])
		if err != nil {
			return usagef(cmd, "%q is no time, as in 30s or 1h30m", args[1])
		}
		return s.setExpiry(ctx, args[0], func(key []byte) client.Op { return client.Expire(key, ttl) })
	})
	return cmd
}

func persistCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "persist KEY",
		Short: "Have a key not expire",
		Long: `Have a key stay until it is deleted, although it was to expire. Print the version
that this makes, or that it does not expire as it is.

If the key does not exist, nothing is printed and the exit code is 1.`,
		Example: `  linchpin persist session:17`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	cmd.RunE = connected(&f, func(ctx context.Context, s *session, args []string) error {
		return s.setExpiry(ctx, args[0], client.Persist)
	})
	return cmd
}

func (s *session) setExpiry(ctx context.Context, arg string, op func([]byte) client.Op) error {
	key, err := s.bytes(arg)
	if err != nil {
		return err
	}
	out, err := s.execute(ctx, op(key))
	switch {
	case err != nil:
		return err
	case out.ResultsLost:
		return s.resultsLost(out, "the version is")
	case !out.Results[0].Found:
		return s.absent(key)
	case !out.Results[0].Version.IsZero():
		return s.printWritten(out)
	case s.json:
		it := s.keyItem(key)
		it.Found = &out.Results[0].Found
		return s.object(it)
	}
	return s.printf("does not expire\n")
}

// absent tells that there is no key.
func (s *session) absent(key []byte) error {
	if !s.json {
		return &kv.Error{Kind: kv.KindNotFound, Text: "the key does not exist", Key: key, Op: -1}
	}
	it := s.keyItem(key)
	it.Found = new(bool)
	if err := s.object(it); err != nil {
		return err
	}
	return &quietError{ExitNotFound}
}

func ttlCommand() *cobra.Command {
	var f flags
	var p past
	cmd := &cobra.Command{
		Use:   "ttl KEY",
		Short: "Print how long a key has to live",
		Long: `Print how long a key has to live until it expires, as in 29m59.8s, or "never". 0s
is a key whose time is over, and which is about to be deleted, or is there in a
state of the past alone.

If the key does not exist, nothing is printed and the exit code is 1.`,
		Example: `  linchpin ttl session:17`,
		Args:    arguments(1, 1),
	}
	f.addTo(cmd, true)
	p.addTo(cmd)
	cmd.RunE = readsKeys(cmd, &f, &p, func(s *session, keys [][]byte, out *client.Outcome) error {
		r := &out.Results[0]
		switch {
		case !r.Found:
			return s.absent(keys[0])
		case s.json:
			it := s.keyItem(keys[0])
			it.Found, it.TTL = &r.Found, ttlMillis(r)
			return s.object(it)
		}
		return s.printf("%s\n", ttlText(r))
	})
	return cmd
}

// ttlText is how long a key has to live, in words.
func ttlText(r *client.Result) string {
	switch _, expires := r.Expires(); {
	case !r.Found:
		return "(absent)"
	case !expires:
		return "never"
	}
	return r.TTL.String()
}

// ttlMillis is the same as a number, nil if the key does not expire.
func ttlMillis(r *client.Result) *int64 {
	if _, expires := r.Expires(); !expires {
		return nil
	}
	ms := r.TTL.Milliseconds()
	return &ms
}
