package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// repeat is the command line that repeats the run: every flag that decides
// what is run, defaults included, because a later version may have others.
// Where the outcome is written is left to the caller.
func (f *runFlags) repeat() string {
	c := commandLine{"zetaload", "run"}
	f.repeatTarget(&c)
	f.repeatKeys(&c)
	f.repeatTransactions(&c)
	f.repeatLoad(&c)
	return strings.Join(c, " ")
}

// repeatTarget adds the flags of the connection.
func (f *runFlags) repeatTarget(c *commandLine) {
	c.text("addr", strings.Join(f.addrs, ","))
	for _, arg := range f.who.Args() {
		*c = append(*c, quote(arg))
	}
	c.wholeIf("connections", f.connections)
}

// repeatKeys adds which keys there are and how they are drawn.
func (f *runFlags) repeatKeys(c *commandLine) {
	o := &f.options
	if f.workload != workload.Zeta {
		c.text("workload", f.workload)
	}
	c.text("keys", strconv.FormatUint(o.Keys, 10))
	c.number("skew", o.Skew)
	c.onIf("shuffle", o.Shuffle)
	c.spanIf("move-hot-every", o.MoveHotEvery)
	c.numberIf("locality", o.Locality)
	c.text("prefix", o.Prefix)
	c.onIf("fresh-keys", o.FreshKeys)
}

// repeatTransactions adds what transactions do.
func (f *runFlags) repeatTransactions(c *commandLine) {
	o := &f.options
	c.text("ops", strconv.Itoa(o.Ops))
	if o.ReadKeys != (workload.KeyCount{}) {
		c.text("read-keys", o.ReadKeys.String())
	}
	c.onIf("distinct", o.Distinct)
	if !o.Distinct && f.workload != workload.Zeta {
		*c = append(*c, "--distinct=false") // the workload may have them distinct
	}
	c.number("read-only", o.Mix.ReadOnly)
	c.number("write-only", o.Mix.WriteOnly)
	c.number("rmw", o.Mix.ReadModifyWrite)
	c.number("incr", o.Mix.Increment)
	c.text("value-size", strconv.Itoa(o.ValueBytes))
	c.onIf("interactive", o.Interactive)
	c.numberIf("interactive-reads", o.InteractiveReads)
	c.spanIf("think-time", o.ThinkTime)
}

// repeatLoad adds how much, how fast and how long.
func (f *runFlags) repeatLoad(c *commandLine) {
	o := &f.options
	c.text("clients", strconv.Itoa(o.Clients))
	c.wholeIf("scanners", o.Scanners)
	c.numberIf("scan-pace", o.ScanPace)
	c.numberIf("rate", o.Rate)
	c.spanIf("warmup", o.Warmup)
	c.spanIf("duration", o.Duration)
	if o.Count > 0 {
		c.text("count", strconv.FormatUint(o.Count, 10))
	}
	c.text("timeout", o.Timeout.String())
	c.text("seed", strconv.FormatUint(o.Seed, 10))
}

// commandLine is the words of a command line, each as a shell reads it. The
// methods whose name ends in If add nothing for a zero, which is the default of
// their flags.
type commandLine []string

func (c *commandLine) text(flag, value string) { *c = append(*c, "--"+flag, quote(value)) }

func (c *commandLine) number(flag string, v float64) {
	c.text(flag, strconv.FormatFloat(v, 'g', -1, 64))
}

func (c *commandLine) numberIf(flag string, v float64) {
	if v != 0 {
		c.number(flag, v)
	}
}

func (c *commandLine) wholeIf(flag string, v int) {
	if v != 0 {
		c.text(flag, strconv.Itoa(v))
	}
}

func (c *commandLine) spanIf(flag string, d time.Duration) {
	if d != 0 {
		c.text(flag, d.String())
	}
}

func (c *commandLine) onIf(flag string, on bool) {
	if on {
		*c = append(*c, "--"+flag)
	}
}

// quote makes one word for a shell of s.
func quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
