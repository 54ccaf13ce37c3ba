package txnlang

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Statement is an operation of a script.
type Statement struct {
	// Verb is the operation's first word.
	Verb string
	Op   client.Op
	// Line is its line, from 1.
	Line int
}

// Parse reads a script. Its error is an *Error for the first mistake. A script without operations is valid.
func Parse(script string) ([]Statement, error) {
	var out []Statement
	for i, line := range strings.Split(script, "\n") {
		lex := &lexer{line: line, number: i + 1, column: 1}
		for !lex.atLineEnd() {
			s, err := parseStatement(lex)
			if err != nil {
				return nil, err
			}
			if s != nil {
				out = append(out, *s)
			}
		}
	}
	return out, nil
}

// parser reads the words of one operation. After the first mistake it keeps the error and returns empty
// words, so that each verb reads as its grammar.
type parser struct {
	lex *lexer
	tok token
	err error
}

const verbs = `"get", "put", "del", "require", "incr", "add", "scan", "delrange", "expire", "persist", "ttl" or "call"`

// parseStatement reads up to the end of an operation; nil is an empty one.
func parseStatement(lex *lexer) (*Statement, error) {
	p := &parser{lex: lex}
	p.step()
	if p.err != nil || p.tok.end {
		return nil, p.err
	}
	s := &Statement{Verb: verbOf(p.tok.text), Line: lex.number}
	read, ok := grammar[s.Verb]
	if !ok || p.tok.quoted {
		return nil, lex.errorf(p.tok.column, "expected %s, found %v", verbs, p.tok)
	}
	p.step()
	s.Op = read(p)
	if p.err == nil && !p.tok.end {
		p.expected("the end of the operation")
	}
	return s, p.err
}

// otherNames are names of Redis and of shells for verbs.
var otherNames = map[string]string{"set": "put", "rm": "del", "delete": "del"}

// verbOf is the verb of a word, in small letters.
func verbOf(word string) string {
	word = strings.ToLower(word)
	return cmp.Or(otherNames[word], word)
}

var grammar = map[string]func(*parser) client.Op{
	"get": func(p *parser) client.Op {
		key := p.word("a key")
		if !p.accept("for") {
			return client.EntryOp(key)
		}
		if !p.accept("update") {
			p.expected(`"update" after "for"`)
		}
		return client.GetForUpdateOp(key)
	},
	"put": func(p *parser) client.Op {
		key := p.word("a key")
		value := []byte(p.word("a value"))
		var opts []client.PutOption
		if p.accept("ttl") {
			opts = append(opts, client.TTL(p.ttl()))
		}
		if p.accept("if") {
			opts = append(opts, p.condition(true))
		}
		return client.PutOp(key, value, opts...)
	},
	"del": func(p *parser) client.Op {
		key := p.word("a key")
		if !p.accept("if") {
			return client.DeleteOp(key)
		}
		return client.DeleteOp(key, p.deleteCondition())
	},
	"require": func(p *parser) client.Op {
		key := p.word("a key")
		return client.RequireOp(key, p.condition(true))
	},
	"incr": func(p *parser) client.Op {
		key, delta := p.word("a key"), int64(1)
		if !p.tok.end {
			delta = p.number("a number")
		}
		return client.NewCounter(key).AddGetOp(delta)
	},
	"add": func(p *parser) client.Op {
		key := p.word("a key")
		return client.NewCounter(key).AddOp(p.number("a number"))
	},
	"scan": func(p *parser) client.Op {
		r, limit := p.span(), 0
		if p.accept("limit") {
			limit = p.limit()
		}
		if p.accept("reverse") {
			return client.ScanOp(r, limit, client.Reverse())
		}
		return client.ScanOp(r, limit)
	},
	"delrange": func(p *parser) client.Op { return client.DeleteRangeOp(p.span()) },
	"expire": func(p *parser) client.Op {
		key := p.word("a key")
		return client.ExpireOp(key, p.ttl())
	},
	"persist": func(p *parser) client.Op { return client.PersistOp(p.word("a key")) },
	"ttl":     func(p *parser) client.Op { return client.EntryOp(p.word("a key")) },
	"call": func(p *parser) client.Op {
		key := p.word("a key")
		typ, method := p.method()
		return Call(key, typ, method, p.arguments(typ, method)...)
	},
}

// Call returns the operation that calls a method of a data type. It has no value: see cli.Results.
func Call(key, typ, method string, args ...any) client.Op {
	return client.CallOp[struct{}](key, typ, method, nil, args...)
}

// span reads the bounds of a range.
func (p *parser) span() client.Range {
	start := p.word("a key to start from")
	return client.Range{Start: start, End: p.word("a key to stop at")}
}

// method reads TYPE.METHOD.
func (p *parser) method() (typ, method string) {
	typ, method, ok := strings.Cut(p.tok.text, ".")
	if p.tok.end || p.tok.quoted || !ok || typ == "" || method == "" {
		p.expected("TYPE.METHOD, as in set.add")
		return "", ""
	}
	p.step()
	return typ, method
}

// arguments reads the arguments of a method up to the end of the operation. Those of types that this
// program does not have are words, which the server converts to the kinds of its parameters.
func (p *parser) arguments(typ, method string) (out []any) {
	m, _ := adt.FindNamed(typ, method)
	for i := 0; p.err == nil && !p.tok.end; i++ {
		var param *adt.Param
		if m != nil {
			param = m.Param(i)
		}
		if param == nil || param.Kind == msg.DatumBytes {
			out = append(out, p.word("an argument"))
			continue
		}
		d, ok := adt.ParseDatum(p.tok.text, param.Kind)
		if p.tok.quoted || !ok {
			p.expected(adt.KindName(param.Kind) + " for " + param.Name)
			return nil
		}
		switch param.Kind {
		case msg.DatumInt:
			out = append(out, d.Int)
		case msg.DatumFloat:
			out = append(out, d.Float)
		default:
			out = append(out, d.Int != 0)
		}
		p.step()
	}
	return out
}

// condition reads a condition; absent allows that the key does not exist. Its result does not count after
// a mistake.
func (p *parser) condition(absent bool) client.Condition {
	switch {
	case p.accept("exists"):
	case absent && p.accept("absent"):
		return client.IfAbsent()
	case p.accept("value"), p.accept("="):
		return client.IfValue([]byte(p.word("a value")))
	case p.accept("version"):
		return p.version(absent)
	case absent:
		p.expected(`"exists", "absent", "value", "=" or "version"`)
	default:
		p.expected(`"exists", "value", "=" or "version"`)
	}
	return client.IfExists()
}

// deleteCondition reads a condition of a delete.
func (p *parser) deleteCondition() client.DeleteOption {
	if c, ok := p.condition(false).(client.DeleteOption); ok {
		return c
	}
	return client.IfExists()
}

// version reads the version of a condition, of which zero stands for a key that does not exist.
func (p *parser) version(absent bool) client.Condition {
	v, err := client.ParseVersion(p.tok.text)
	if p.tok.end || p.tok.quoted || err != nil || v.IsZero() && !absent {
		p.expected("a version as in 0.3.1742")
	}
	p.step()
	if v.IsZero() {
		return client.IfAbsent()
	}
	return client.IfVersion(v)
}

// step moves on to the next token. The end of an operation is never passed.
func (p *parser) step() {
	if p.err == nil && !p.tok.end {
		p.tok, p.err = p.lex.next()
	}
}

func (p *parser) expected(what string) {
	if p.err == nil {
		p.err = p.lex.errorf(p.tok.column, "expected %s, found %v", what, p.tok)
	}
}

// accept moves on if the word is the language's own word w.
func (p *parser) accept(w string) bool {
	if p.err != nil || p.tok.end || p.tok.quoted || !strings.EqualFold(p.tok.text, w) {
		return false
	}
	p.step()
	return true
}

func (p *parser) word(what string) string {
	if p.err == nil && p.tok.end {
		p.expected(what)
	}
	w := p.tok.text
	p.step()
	return w
}

func (p *parser) number(what string) int64 {
	n, err := strconv.ParseInt(p.tok.text, 10, 64)
	if p.tok.end || p.tok.quoted || err != nil {
		p.expected(what + " from -9223372036854775808 to 9223372036854775807")
		return 0
	}
	p.step()
	return n
}

func (p *parser) limit() int {
	n, err := strconv.Atoi(p.tok.text)
	if p.tok.end || p.tok.quoted || err != nil || n < 1 || n > kv.MaxScanLimit {
		p.expected("a limit from 1 to " + strconv.Itoa(kv.MaxScanLimit))
		return 0
	}
	p.step()
	return n
}

func (p *parser) ttl() time.Duration {
	ttl, err := time.ParseDuration(p.tok.text)
	if p.tok.end || p.tok.quoted || err != nil || kv.CheckTTL(ttl) != nil {
		p.expected("a time to live from 1ms to 87600h, as in 30s or 1h30m")
		return kv.MinTTL
	}
	p.step()
	return ttl
}
