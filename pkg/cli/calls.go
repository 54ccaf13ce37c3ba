package cli

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

const callNotes = `An argument that begins with a minus sign and a digit is a number. If what the method returns does
not exist, such as a field of a map, the exit code is 1.`

func callCommand() *cobra.Command {
	return callingCommand("call KEY TYPE.METHOD [ARGUMENT...]", "Call a method of a data type", `
Call a method of a data type, built in or of your own, on a key, and print what it returns: a value or a
pair on each line. "linchpin types" lists the types, and "linchpin types TYPE" the methods of one.

`+callNotes, `
  linchpin call fruit set.add apple banana
  linchpin call cart map.increment lamps -1
  linchpin call scores sorted-set.range-by-rank 0 -1`, 2, -1, false,
		func(cmd *cobra.Command, args []string, _ bool) (string, []string, error) {
			if typ, method, ok := strings.Cut(args[1], "."); !ok || typ == "" || method == "" {
				return "", nil, usagef(cmd, "%q is not TYPE.METHOD, as in set.add", args[1])
			}
			return args[1], args[2:], nil
		})
}

// callingCommand makes a command that calls the method that choose returns.
func callingCommand(use, short, long, example string, least, most int, canBeBlind bool,
	choose func(cmd *cobra.Command, args []string, blind bool) (method string, rest []string, err error)) *cobra.Command {
	var f flags
	var p past
	var blind bool
	cmd := command(use, short, long, example, least, most)
	f.addTo(cmd, true)
	p.addTo(cmd)
	if canBeBlind {
		cmd.Flags().BoolVar(&blind, "blind", false, "print nothing, and block fewer other operations")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		method, rest, err := choose(cmd, args, blind)
		if err != nil {
			return err
		}
		return connected(&f, func(ctx context.Context, s *session, _ []string) error {
			return s.call(ctx, &p, args[0], method, rest)
		})(cmd, args)
	}
	return takeNumbersToo(cmd)
}

// takeNumbersToo lets the arguments of a command be negative numbers, although these look like flags.
func takeNumbersToo(cmd *cobra.Command) *cobra.Command {
	check, run := cmd.Args, cmd.RunE
	cmd.Args, cmd.DisableFlagParsing = nil, true
	cmd.RunE = func(cmd *cobra.Command, raw []string) error {
		args, err := parseNumbersToo(cmd, raw)
		if errors.Is(err, errHelp) {
			return cmd.Help()
		} else if err != nil {
			return flagError(cmd, err)
		}
		if err := check(cmd, args); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// errHelp: --help was given.
var errHelp = errors.New("help")

var negative = regexp.MustCompile(`^-\.?[0-9]`)

// parseNumbersToo parses flags between arguments that may be negative numbers, and returns the arguments.
func parseNumbersToo(cmd *cobra.Command, raw []string) ([]string, error) {
	const hidden = "\x00"
	in := slices.Clone(raw)
	for i, a := range in {
		if a == "--" {
			break
		}
		if negative.MatchString(a) && (i == 0 || !takesValue(cmd, in[i-1])) {
			in[i] = hidden + a
		}
	}
	if err := cmd.Flags().Parse(in); err != nil {
		return nil, err
	}
	if help, err := cmd.Flags().GetBool("help"); err == nil && help {
		return nil, errHelp
	}
	args := cmd.Flags().Args()
	for i := range args {
		args[i] = strings.TrimPrefix(args[i], hidden)
	}
	return args, nil
}

// takesValue reports whether an argument is a flag whose value is the next one.
func takesValue(cmd *cobra.Command, arg string) bool {
	name, long := strings.CutPrefix(arg, "--")
	f := cmd.Flags().Lookup(name)
	if !long {
		f = nil
		if len(arg) == 2 && arg[0] == '-' {
			f = cmd.Flags().ShorthandLookup(arg[1:])
		}
	}
	return f != nil && f.NoOptDefVal == ""
}

// call calls a method and prints what it returns.
func (s *session) call(ctx context.Context, p *past, keyArg, full string, args []string) error {
	key, err := s.decode(keyArg)
	if err != nil {
		return err
	}
	typ, method, _ := strings.Cut(full, ".")
	given, err := s.callArguments(ctx, typ, method, args)
	if err != nil {
		return err
	}
	out, err := s.execute(ctx, p, txnlang.Call(key, typ, method, given...))
	if err != nil {
		if typ == "counter" {
			err = s.withTypeHint(ctx, err, key)
		}
		return err
	}
	if out.ResultsLost {
		return s.resultsLost(out, "the result is")
	}
	s.printReceipt(&out.Receipt)
	return s.printCalled(key, full, out)
}

// callArguments converts words to the kinds of the method's parameters, which the program knows of
// built-in types, and a node of others.
func (s *session) callArguments(ctx context.Context, typ, method string, args []string) ([]any, error) {
	kindOf, err := s.kindsOf(ctx, typ, method)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(args))
	for i, arg := range args {
		kind, name := kindOf(i)
		if kind == msg.DatumBytes {
			out[i], err = s.decode(arg)
			if err != nil {
				return nil, err
			}
			continue
		}
		d, ok := adt.ParseDatum(arg, kind)
		if !ok {
			return nil, usagef(s.cmd, "%s of %s.%s is %q, want %s", name, typ, method, arg, adt.KindName(kind))
		}
		switch kind {
		case msg.DatumInt:
			out[i] = d.Int
		case msg.DatumFloat:
			out[i] = d.Float
		default:
			out[i] = d.Int != 0
		}
	}
	return out, nil
}

// kindsOf returns the kind and the name of the parameter of each argument. Excess arguments are
// bytes; the node rejects them.
func (s *session) kindsOf(ctx context.Context, typ, method string) (func(int) (msg.DatumKind, string), error) {
	m, err := adt.FindNamed(typ, method)
	if err != nil {
		m, err = s.queryMethod(ctx, typ, method)
		if err != nil {
			return nil, err
		}
	}
	return func(i int) (msg.DatumKind, string) {
		if p := m.Param(i); p != nil {
			return p.Kind, p.Name
		}
		return msg.DatumBytes, ""
	}, nil
}

// paramKinds are the kinds of parameters by their names in the API.
var paramKinds = map[string]msg.DatumKind{
	"bytes": msg.DatumBytes, "int": msg.DatumInt, "float": msg.DatumFloat, "bool": msg.DatumBool,
}

func (s *session) queryMethod(ctx context.Context, typ, method string) (*adt.TypeMethod, error) {
	types, err := s.admin().Types(ctx, typ)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range types {
		for _, m := range t.Methods {
			if m.Name == method {
				out := &adt.TypeMethod{Name: m.Name}
				for _, p := range m.Params {
					out.Params = append(out.Params,
						adt.Param{Name: p.Name, Kind: paramKinds[p.Kind], Optional: p.Optional, Many: p.Many})
				}
				return out, nil
			}
			names = append(names, m.Name)
		}
	}
	return nil, usagef(s.cmd, "the type %s has no method %q; it has %s", typ, method, strings.Join(names, ", "))
}

// inPairs are the methods that return pairs.
var inPairs = []string{"map.all", "map.range", "sorted-set.range-by-rank", "sorted-set.range-by-rev-rank",
	"sorted-set.range-by-score", "top-k.top", "top-k.max"}

// labels name what some methods return.
var labels = map[string][]string{
	"summary.stats":          {"count", "sum", "mean", "min", "max", "variance"},
	"bounded-counter.bounds": {"floor", "ceiling"},
}

func (s *printer) printCalled(key, full string, out *outcome) error {
	r := &out.Results[0]
	absent := len(r.Data) == 1 && datum(&r.Data[0]) == nil
	if s.json {
		it := callAnswer{item: s.keyItem(key), Method: full, Answer: s.jsonData(r.Data)}
		it.Type = string(typeOf(r.Type, r.TypeName))
		it.receiptAnswer = s.receiptObject(&out.Receipt)
		if err := s.object(it); err != nil || !absent {
			return err
		}
		return &quietError{ExitNotFound}
	}
	if absent {
		return &kv.Error{Kind: kv.KindNotFound, Op: -1, Key: []byte(key), Text: "the value of the key has no such element"}
	}
	switch names := labels[full]; {
	case len(names) > 0 && len(names) == len(r.Data):
		t := s.table()
		for i := range r.Data {
			t.row(names[i], s.datum(&r.Data[i]))
		}
		return t.flush()
	case slices.Contains(inPairs, full):
		t := s.table()
		for i := 0; i+1 < len(r.Data); i += 2 {
			t.row(s.datum(&r.Data[i]), s.datum(&r.Data[i+1]))
		}
		return t.flush()
	}
	for i := range r.Data {
		if err := s.printf("%s\n", s.datum(&r.Data[i])); err != nil {
			return err
		}
	}
	return nil
}

// callAnswer is a call as JSON.
type callAnswer struct {
	item
	Method string `json:"method"`
	Answer []any  `json:"answer"`
}
