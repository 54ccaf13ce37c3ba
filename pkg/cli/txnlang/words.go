package txnlang

import "strings"

// Part is the text between two semicolons.
type Part struct {
	Words []string
	// Text is the part as it is in the line.
	Text string
}

// Words splits a line into its parts, without empty ones.
func Words(line string) (parts []Part, err error) {
	lex := &lexer{line: line, number: 1, column: 1}
	var p Part
	for begin := 0; ; {
		t, err := lex.next()
		if err != nil {
			return nil, err
		}
		if !t.end {
			p.Words = append(p.Words, t.text)
			continue
		}
		if len(p.Words) > 0 {
			p.Text = strings.TrimRight(line[begin:lex.pos], "; \t\r")
			parts = append(parts, p)
		}
		p, begin = Part{}, lex.pos
		if lex.atLineEnd() {
			return parts, nil
		}
	}
}

// Verbs lists the first words of operations.
func Verbs() []string {
	return []string{"get", "put", "del", "require", "incr", "add", "scan", "delrange", "expire", "persist", "ttl", "call"}
}

// IsVerb reports whether a word is the first one of an operation, in small or capital letters.
func IsVerb(word string) bool { return grammar[verbOf(word)] != nil }

// CallOf is the operation that calls a method, named TYPE.METHOD. The arguments are words, which the server
// converts to the kinds of its parameters.
func CallOf(key, method string, args []string) Statement {
	typ, name, _ := strings.Cut(method, ".")
	given := make([]any, len(args))
	for i, a := range args {
		given[i] = a
	}
	return Statement{Verb: "call", Op: Call(key, typ, name, given...), Line: 1}
}
