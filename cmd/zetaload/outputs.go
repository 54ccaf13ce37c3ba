package main

import (
	"errors"
	"path/filepath"

	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/history"
)

// outputs are the files that a run writes. They are made before it begins, so
// that a path which cannot be written is found out in time.
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
		if o.json, err = newWholeFile(f.json); err != nil {
			return nil, usage("--json: %w", err)
		}
	}
	if f.history != "" {
		var err error
		meta := history.Meta{Note: f.repeat(), InitialUnknown: !f.options.FreshKeys}
		if o.rec, err = history.Create(f.history, meta); err != nil {
			return nil, errors.Join(usage("--history: %w", err), o.close())
		}
	}
	return o, nil
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
