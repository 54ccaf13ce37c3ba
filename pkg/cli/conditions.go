package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// conditions are the flags of a condition, of which a command takes one.
type conditions struct {
	ifAbsent, ifExists bool
	ifValue, ifVersion string
}

// addTo declares the flags; a deletion has no --if-absent.
func (c *conditions) addTo(cmd *cobra.Command, absent bool) {
	fs := cmd.Flags()
	if absent {
		fs.BoolVar(&c.ifAbsent, "if-absent", false, "only if the key does not exist")
	}
	fs.BoolVar(&c.ifExists, "if-exists", false, "only if the key exists")
	fs.StringVar(&c.ifValue, "if-value", "", "only if the key has this `value`")
	fs.StringVar(&c.ifVersion, "if-version", "",
		"only if the key has this `version`, as in 0.3.1742; 0.0.0 stands for a key that does not exist")
}

// given is the flag of the condition, "" if there is none.
func (c *conditions) given(cmd *cobra.Command) (flag string, err error) {
	count := 0
	for _, name := range []string{"if-absent", "if-exists", "if-value", "if-version"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			flag = name
			count++
		}
	}
	switch {
	case count > 1:
		return "", usagef(cmd, "%s takes one condition, there are %d", cmd.Name(), count)
	case flag == "if-absent" && !c.ifAbsent, flag == "if-exists" && !c.ifExists:
		return "", usagef(cmd, "--%s is false; leave it out, or use the opposite condition", flag)
	}
	return flag, nil
}

// condition returns the condition of a flag of given, nil for none. A deletion does not have that the key
// is absent.
func (c *conditions) condition(s *session, flag string) (client.Condition, error) {
	switch flag {
	case "if-absent":
		return client.IfAbsent(), nil
	case "if-exists":
		return client.IfExists(), nil
	case "if-value":
		value, err := s.decode(c.ifValue)
		return client.IfValue([]byte(value)), err
	case "if-version":
		v, err := client.ParseVersion(c.ifVersion)
		switch {
		case err != nil:
			return nil, usagef(s.cmd, "--if-version is %q, want MOVES.SHARD.WRITE as in 0.3.1742", c.ifVersion)
		case !v.IsZero():
			return client.IfVersion(v), nil
		case s.cmd.Flags().Lookup("if-absent") == nil:
			return nil, usagef(s.cmd,
				"--if-version %v stands for a key that does not exist; there is nothing to delete then", v)
		}
		return client.IfAbsent(), nil
	}
	return nil, nil
}

// lostTTL says that a write has removed the time to live that a key had; "" if it had none.
func lostTTL(before *pb.Result) string {
	if !before.Found || before.ExpiresAtMs == 0 {
		return ""
	}
	return fmt.Sprintf("; its time to live (%s) is removed", ttlText(before))
}
