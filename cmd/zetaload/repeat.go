package main

import (
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/workload"
)

// repeat is the command line that repeats the run: every flag that decides
// what is run, defaults included, because a later version may have others.
// Where the outcome is written is left to the caller.
func (f *runFlags) repeat() string {
	o := f.options
	words := []string{"zetaload", "run"}
	add := func(flag, value string) { words = append(words, "--"+flag, quote(value)) }
	number := func(flag string, v float64) { add(flag, strconv.FormatFloat(v, 'g', -1, 64)) }
	whole := func(flag string, v uint64) { add(flag, strconv.FormatUint(v, 10)) }
	on := func(flag string, v bool) {
		if v {
			words = append(words, "--"+flag)
		}
	}
	add("addr", strings.Join(f.addrs, ","))
	for _, arg := range f.who.Args() {
		words = append(words, quote(arg))
	}
	if f.connections != 0 {
		whole("connections", uint64(f.connections))
	}
	if f.workload != workload.Zeta {
		add("workload", f.workload)
	}
	whole("keys", o.Keys)
	number("skew", o.Skew)
	on("shuffle", o.Shuffle)
	if o.MoveHotEvery > 0 {
		add("move-hot-every", o.MoveHotEvery.String())
	}
	if o.Locality > 0 {
		number("locality", o.Locality)
	}
	add("prefix", o.Prefix)
	on("fresh-keys", o.FreshKeys)
	whole("ops", uint64(o.Ops))
	if o.ReadKeys != (workload.KeyCount{}) {
		add("read-keys", o.ReadKeys.String())
	}
	on("distinct", o.Distinct)
	if !o.Distinct && f.workload != workload.Zeta {
		words = append(words, "--distinct=false")
	}
	number("read-only", o.Mix.ReadOnly)
	number("write-only", o.Mix.WriteOnly)
	number("rmw", o.Mix.ReadModifyWrite)
	number("incr", o.Mix.Increment)
	whole("value-size", uint64(o.ValueBytes))
	on("interactive", o.Interactive)
	if o.InteractiveReads > 0 {
		number("interactive-reads", o.InteractiveReads)
	}
	if o.ThinkTime > 0 {
		add("think-time", o.ThinkTime.String())
	}
	whole("clients", uint64(o.Clients))
	if o.Scanners > 0 {
		whole("scanners", uint64(o.Scanners))
	}
	if o.ScanPace > 0 {
		number("scan-pace", o.ScanPace)
	}
	if o.Rate > 0 {
		number("rate", o.Rate)
	}
	if o.Warmup > 0 {
		add("warmup", o.Warmup.String())
	}
	if o.Duration > 0 {
		add("duration", o.Duration.String())
	}
	if o.Count > 0 {
		whole("count", o.Count)
	}
	add("timeout", o.Timeout.String())
	whole("seed", o.Seed)
	return strings.Join(words, " ")
}

// quote makes one word for a shell of s.
func quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
