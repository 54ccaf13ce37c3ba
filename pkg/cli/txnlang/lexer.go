package txnlang

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a mistake in a script with its place.
type Error struct {
	// Line and Column count from 1; columns are characters, not bytes.
	Line, Column int
	// Text is what was expected and what was found.
	Text string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// token is a word, or with end set the end of an operation.
type token struct {
	text   string
	quoted bool
	end    bool
	// column is its first one, in characters from 1.
	column int
}

// String describes the token in messages.
func (t token) String() string {
	switch {
	case t.end:
		return "the end of the operation"
	case t.quoted:
		return "the quoted word " + strconv.Quote(t.text)
	}
	return strconv.Quote(t.text)
}

// lexer splits a line into tokens.
type lexer struct {
	line   string
	number int
	// pos is a byte offset into line, column the character that it is at.
	pos, column int
}

func (l *lexer) errorf(column int, format string, args ...any) error {
	return &Error{Line: l.number, Column: column, Text: fmt.Sprintf(format, args...)}
}

func (l *lexer) advance(n int) {
	l.column += utf8.RuneCountInString(l.line[l.pos : l.pos+n])
	l.pos += n
}

// atLineEnd skips the space before the next word and reports whether there is none.
func (l *lexer) atLineEnd() bool {
	rest := l.line[l.pos:]
	l.advance(len(rest) - len(strings.TrimLeft(rest, " \t\r")))
	return l.pos == len(l.line) || l.line[l.pos] == '#'
}

// next returns the next token: an end at a semicolon, which it consumes, and at the end of the line.
func (l *lexer) next() (token, error) {
	if l.atLineEnd() {
		return token{end: true, column: l.column}, nil
	}
	switch l.line[l.pos] {
	case ';':
		t := token{end: true, column: l.column}
		l.advance(1)
		return t, nil
	case '"':
		return l.quoted()
	}
	return l.bare()
}

func (l *lexer) quoted() (token, error) {
	t := token{quoted: true, column: l.column}
	raw, err := strconv.QuotedPrefix(l.line[l.pos:])
	if err != nil {
		return t, l.errorf(t.column, "the quoted word that starts here has no closing quote or an unknown escape; "+
			"escapes are those of Go: \\\" \\\\ \\n \\t \\xff \\u00e9")
	}
	t.text, err = strconv.Unquote(raw)
	if err != nil {
		return t, l.errorf(t.column, "the quoted word that starts here has an unknown escape")
	}
	l.advance(len(raw))
	if l.pos < len(l.line) && !strings.ContainsRune(" \t\r;", rune(l.line[l.pos])) {
		return t, l.errorf(l.column, "expected a space or a semicolon after the closing quote")
	}
	return t, nil
}

func (l *lexer) bare() (token, error) {
	t := token{column: l.column}
	rest := l.line[l.pos:]
	n := strings.IndexAny(rest, " \t\r;\"")
	if n < 0 {
		n = len(rest)
	}
	t.text = rest[:n]
	for i, r := range t.text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return t, l.errorf(l.column+utf8.RuneCountInString(t.text[:i]),
				"%q cannot stand in a bare word; put the word in double quotes and write it as an escape", r)
		}
	}
	if n < len(rest) && rest[n] == '"' {
		return t, l.errorf(l.column+utf8.RuneCountInString(t.text),
			"a double quote inside a bare word; put the whole word in quotes and write \\\"")
	}
	l.advance(n)
	return t, nil
}
