package shell

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

const (
	// maxCompletions bounds the completions, and the keys that a scan for them reads; completeTimeout
	// bounds the scan.
	maxCompletions  = 50
	completeTimeout = 500 * time.Millisecond
	// maxSeen bounds the keys that are kept.
	maxSeen = 500
)

// seenKeys are the keys of this session's commands, the latest last.
type seenKeys struct{ keys []string }

// note keeps the key of a command.
func (k *seenKeys) note(words []string) {
	if len(words) < 2 || !hasKey(words[0]) || strings.HasPrefix(words[1], "-") {
		return
	}
	k.keys = slices.DeleteFunc(k.keys, func(s string) bool { return s == words[1] })
	if len(k.keys) == maxSeen {
		k.keys = k.keys[1:]
	}
	k.keys = append(k.keys, words[1])
}

// hasKey reports whether the second word of a command is a key.
func hasKey(command string) bool {
	return slices.Contains([]string{"get", "put", "del", "require", "incr", "add", "scan", "delrange", "expire", "persist",
		"ttl", "call", "type"}, command) ||
		slices.Contains(cli.ShortcutNames(), command)
}

// complete returns completions of the word at the end of head: commands, keys, methods. before is the line
// before that word.
func (s *Shell) complete(head string) (before string, offers []string) {
	start := strings.LastIndexAny(head, " ;") + 1
	before, word := head[:start], head[start:]
	part := strings.TrimLeft(before[strings.LastIndex(before, ";")+1:], " ")
	words := strings.Fields(part)
	switch {
	case len(words) == 0:
		offers = s.firstWords()
	case words[0] == "help" && len(words) == 1:
		offers = s.firstWords()
	case words[0] == "begin" && len(words) == 1:
		offers = []string{"read-only"}
	case words[0] == `\output`:
		offers = []string{"table", "json"}
	case words[0] == `\timing` || words[0] == `\hex`:
		offers = []string{"on", "off"}
	case strings.HasPrefix(word, "-"):
		offers = s.flags(words)
	case words[0] == "call" && len(words) == 2:
		offers = s.methods()
	case hasKey(words[0]) && len(words) == 1:
		return before, s.keys(word)
	case words[0] == "types" && len(words) == 1:
		offers = s.types()
	case len(words) == 1:
		offers = s.subcommands(words[0])
	}
	offers = slices.DeleteFunc(slices.Clone(offers), func(o string) bool { return !strings.HasPrefix(o, word) })
	return before, offers[:min(len(offers), maxCompletions)]
}

// firstWords are the possible first words of a line.
func (s *Shell) firstWords() []string {
	out := []string{`\hex`, `\output`, `\q`, `\timing`}
	for name := range commands {
		out = append(out, name)
	}
	out = append(out, txnlang.Verbs()...)
	for _, c := range s.root(nil, nil).Commands() {
		if c.IsAvailableCommand() {
			out = append(out, c.Name())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *Shell) subcommands(name string) (out []string) {
	if cmd, _, err := s.root(nil, nil).Find([]string{name}); err == nil && cmd.HasParent() {
		for _, c := range cmd.Commands() {
			out = append(out, c.Name())
		}
	}
	return out
}

// flags are those of a command.
func (s *Shell) flags(words []string) (out []string) {
	cmd, _, err := s.root(nil, nil).Find(words)
	if err != nil || !cmd.HasParent() {
		return nil
	}
	for _, name := range flagNames(cmd) {
		out = append(out, "--"+name)
	}
	return out
}

// soon returns the result of a query, or zero if it fails or takes longer than completeTimeout.
func soon[T any](s *Shell, what func(context.Context) (T, error)) (out T) {
	ctx, cancel := context.WithTimeout(context.Background(), completeTimeout)
	defer cancel()
	out, err := what(ctx)
	if err != nil {
		return *new(T)
	}
	return out
}

// types are the names of the data types, and methods all TYPE.METHOD.
func (s *Shell) types() (out []string) {
	for _, t := range s.declared() {
		out = append(out, t.Name)
	}
	return out
}

func (s *Shell) declared() []admin.Type {
	return soon(s, func(ctx context.Context) ([]admin.Type, error) { return admin.New(s.db).Types(ctx, "") })
}

func (s *Shell) methods() (out []string) {
	for _, t := range s.declared() {
		for _, m := range t.Methods {
			out = append(out, t.Name+"."+m.Name)
		}
	}
	slices.Sort(out)
	return out
}

// keys are those with a prefix: of this session, and the first ones of the store, without those that need
// quotes.
func (s *Shell) keys(word string) (out []string) {
	prefix := word
	if strings.HasPrefix(word, `"`) {
		return nil // quoted keys are not completed
	}
	for _, k := range slices.Backward(s.seen.keys) {
		if strings.HasPrefix(k, prefix) && bare(k) {
			out = append(out, k)
		}
	}
	found := soon(s, func(ctx context.Context) (keys []string, err error) {
		for e, err := range s.db.Scan(ctx, client.Prefix(prefix), client.Limit(maxCompletions)) {
			if err != nil {
				return keys, err
			}
			keys = append(keys, e.Key)
		}
		return keys, nil
	})
	for _, k := range found {
		if bare(k) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out[:min(len(out), maxCompletions)]
}

// bare reports whether a key is a word without quotes.
func bare(key string) bool {
	parts, err := txnlang.Words(key)
	return err == nil && len(parts) == 1 && len(parts[0].Words) == 1 && parts[0].Words[0] == key && !strings.HasPrefix(key,
		`"`)
}
