package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/peterh/liner"
)

// editor reads lines from a terminal, with history and completion.
type editor struct {
	*liner.State
	history history
	errs    io.Writer
}

// edit controls the terminal until close.
func edit(s *Shell, h history, errs io.Writer) *editor {
	e := &editor{State: liner.NewLiner(), history: h, errs: errs}
	e.SetCtrlCAborts(true)
	e.SetMultiLineMode(true)
	e.SetTabCompletionStyle(liner.TabPrints)
	e.SetWordCompleter(func(line string, pos int) (string, []string, string) {
		runes := []rune(line)
		before, offers := s.complete(string(runes[:pos]))
		return before, offers, string(runes[pos:])
	})
	if err := h.load(e.ReadHistory); err != nil {
		fmt.Fprintln(errs, "the history cannot be read:", err)
	}
	return e
}

func (e *editor) line(prompt string) (string, error) {
	line, err := e.Prompt(prompt)
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", errInterrupted
	}
	return line, err
}

func (e *editor) done(command string) {
	if kept(command) {
		e.AppendHistory(command)
	}
}

func (e *editor) close() {
	if err := e.history.save(e.WriteHistory); err != nil {
		fmt.Fprintln(e.errs, "the history cannot be written:", err)
	}
	_ = e.Close() // the terminal is restored, or closed
}

// script reads lines from an input that is not a terminal.
type script struct{ *bufio.Scanner }

func (s script) line(string) (string, error) {
	if s.Scan() {
		return s.Text(), nil
	}
	if err := s.Err(); err != nil {
		return "", fmt.Errorf("reading the input: %w", err)
	}
	return "", io.EOF
}

func (script) done(string) {}
func (script) close()      {}
