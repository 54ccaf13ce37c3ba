package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// outputs are the files that a run writes. Their paths are tried before it begins, so
// that one which cannot be written is found out in time.
type outputs struct {
	rec  *history.Recorder
	json *wholeFile
}

func (f *runFlags) outputs() (*outputs, error) {
	o := &outputs{}
	if f.json != "" && f.json != "-" {
		if f.history != "" && filepath.Clean(f.json) == filepath.Clean(f.history) {
			return nil, usage("--history and --json are the same file, %s", f.json)
		}
		var err error
		o.json, err = newWholeFile(f.json)
		if err != nil {
			return nil, usage("--json: %w", err)
		}
	}
	if f.history != "" {
		if err := tryToWrite(f.history); err != nil {
			return nil, errors.Join(usage("--history: %w", err), o.close())
		}
	}
	return o, nil
}

// tryToWrite finds out whether a file can be written, and leaves what is in it.
func tryToWrite(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // to open a pipe is to wait for its reader
	}
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return w.Close()
}

// begin creates the history, over one that is there, once the cluster has responded.
func (o *outputs) begin(f *runFlags) (err error) {
	if f.history == "" {
		return nil
	}
	o.rec, err = history.Create(f.history, history.Meta{Note: f.repeat(), InitialUnknown: !f.options.FreshKeys})
	if err != nil {
		return usage("--history: %w", err)
	}
	return nil
}

// recorder is what the run records with; nil for nothing.
func (o *outputs) recorder() workload.Recorder {
	if o.rec == nil {
		return nil
	}
	return newRecorder(o.rec)
}

// writeJSON puts the report in its place.
func (o *outputs) writeJSON(r *workload.Result) error { return o.json.write(r.WriteJSON) }

// close ends the files. A history that could not be written whole is an error.
func (o *outputs) close() error {
	var err error
	if o.rec != nil {
		if e := o.rec.Close(); e != nil {
			err = failed("--history: %w", e)
		}
	}
	return errors.Join(err, o.json.close())
}
