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
//
// What is there and is no file, a pipe or a device, is written to as it is.
type wholeFile struct {
	file *os.File
	path string
	// inPlace: the file is at path, and no other takes its place.
	inPlace bool
}

// newWholeFile makes sure that the file can be written; no path makes nil.
func newWholeFile(path string) (*wholeFile, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil: // it is not there; or it cannot be, and cannot be made
	case info.IsDir():
		return nil, errors.New(path + " is a directory")
	case !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &wholeFile{file: f, path: path, inPlace: true}, nil
	default:
		// A link stays, and what it leads to is replaced.
		path, err = filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &wholeFile{file: f, path: path}, nil
}

// write writes the file and puts it in its place.
func (w *wholeFile) write(all func(io.Writer) error) error {
	if w == nil {
		return nil
	}
	if err := all(w.file); err != nil || w.inPlace {
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
	if w.inPlace {
		return err
	}
	if e := os.Remove(w.file.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
