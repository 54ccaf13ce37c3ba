package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// wholeFile is a file that is there whole or not at all: it is written beside
// its place, and takes it in the end. What was there before stays until then.
// A nil one is not wanted.
type wholeFile struct {
	file *os.File
	path string
}

// newWholeFile makes sure that the file can be written; no path makes nil.
func newWholeFile(path string) (*wholeFile, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errors.New(path + " is a directory")
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &wholeFile{f, path}, nil
}

// write writes the file and puts it in its place.
func (w *wholeFile) write(all func(io.Writer) error) error {
	if w == nil {
		return nil
	}
	if err := all(w.file); err != nil {
		return err
	}
	const readable = 0o644
	return errors.Join(w.file.Chmod(readable), os.Rename(w.file.Name(), w.path))
}

// close removes what has not been put in its place.
func (w *wholeFile) close() error {
	if w == nil {
		return nil
	}
	err := w.file.Close()
	if e := os.Remove(w.file.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
