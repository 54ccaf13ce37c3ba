package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/test/history"
)

// outputs are the files that a run writes. They are made before it begins, so
// that a path which cannot be written is found out in time.
type outputs struct {
	rec *history.Recorder
	// json is a temporary file beside jsonPath, which takes its place when
	// the report is whole; an older report stays until then.
	json     *os.File
	jsonPath string
}

func (f *runFlags) outputs() (*outputs, error) {
	o := &outputs{}
	if f.json != "" && f.json != "-" {
		var err error
		o.jsonPath = f.json
		if o.json, err = os.CreateTemp(filepath.Dir(f.json), filepath.Base(f.json)+".*"); err != nil {
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
func (o *outputs) writeJSON(r *workload.Result) error {
	if o.json == nil {
		return nil
	}
	if err := r.WriteJSON(o.json); err != nil {
		return err
	}
	const readable = 0o644
	return errors.Join(o.json.Chmod(readable), os.Rename(o.json.Name(), o.jsonPath))
}

// close ends the files. A history that could not be written whole is an error.
func (o *outputs) close() error {
	var err error
	if o.rec != nil {
		if e := o.rec.Close(); e != nil {
			err = failed("--history: %w", e)
		}
	}
	if o.json != nil {
		err = errors.Join(err, o.json.Close())
		// Not there any more if it was renamed.
		if e := os.Remove(o.json.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
