package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
)

func expireCommand() *cobra.Command {
	var f flags
	cmd := command("expire KEY TIME", "Set a key's time to live", `
Set the time to live of a key of any type: the key is deleted after TIME, 1ms to 87600h (ten years), as
in 30s or 1h30m. A second expire replaces the time, a put removes it, and a change of the value, as by incr
or sadd, keeps it. Print the version of the write.

If the key does not exist, the exit code is 1.`,
		`  linchpin expire session:17 30m`, 2, 2)
	f.addTo(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ttl, err := timeToLive(cmd, args[1])
		if err != nil {
			return err
		}
		return connected(&f, func(ctx context.Context, s *session, args []string) error {
			return s.setExpiry(ctx, args[0], func(key string) client.Op { return client.ExpireOp(key, ttl) })
		})(cmd, args)
	}
	return takeNumbersToo(cmd)
}

// timeToLive reads a time to live from the command line.
func timeToLive(cmd *cobra.Command, text string) (time.Duration, error) {
	ttl, err := time.ParseDuration(text)
	if err == nil && ttl <= 0 {
		return 0, &UsageError{Text: fmt.Sprintf("the time to live is %s, want 1ms to 87600h", text),
			Hint:    "to delete a key at once: linchpin del KEY",
			Command: cmd.CommandPath()}
	}
	if err == nil {
		return ttl, nil // the client checks its bounds
	}
	if _, bare := strconv.ParseFloat(text, 64); bare == nil {
		return 0, usagef(cmd, "%q has no unit; write %ss for seconds", text, text)
	}
	return 0, usagef(cmd, "%q is not a time, as in 30s or 1h30m", text)
}

func persistCommand() *cobra.Command {
	return connects(command("persist KEY", "Remove a key's time to live", `
Remove the time to live of a key, so that it does not expire. Print the version of the write, or that
the key had no time to live.

If the key does not exist, the exit code is 1.`,
		`  linchpin persist session:17`, 1, 1), true, func(ctx context.Context, s *session, args []string) error {
		return s.setExpiry(ctx, args[0], func(key string) client.Op { return client.PersistOp(key) })
	})
}

func (s *session) setExpiry(ctx context.Context, arg string, op func(string) client.Op) error {
	key, err := s.decode(arg)
	if err != nil {
		return err
	}
	out, err := s.execute(ctx, nil, op(key))
	switch {
	case err != nil:
		return err
	case out.ResultsLost:
		return s.resultsLost(out, "the version is")
	case !out.Results[0].Found:
		return s.absent(key)
	case !out.Results[0].Version.IsZero():
		return s.printWritten(out, "")
	case s.json:
		it := s.keyItem(key)
		it.Found = &out.Results[0].Found
		return s.object(it)
	}
	return s.printf("the key has no time to live\n")
}

// absent reports that a key does not exist.
func (s *printer) absent(key string) error {
	if !s.json {
		return missing(key)
	}
	it := s.keyItem(key)
	it.Found = new(bool)
	if err := s.object(it); err != nil {
		return err
	}
	return &quietError{ExitNotFound}
}

func ttlCommand() *cobra.Command {
	return reads(command("ttl KEY", "Print a key's time to live", `
Print the time to live of a key, as in 29m59.8s, or "never" if the key does not expire. 0s is a key that
has expired and is about to be deleted, or that is read in a state of the past.

If the key does not exist, the exit code is 1.`,
		`  linchpin ttl session:17`, 1, 1), func(s *session, keys []string, out *outcome) error {
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
}
