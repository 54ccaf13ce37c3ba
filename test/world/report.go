package world

import (
	"fmt"
	"time"
)

// Fail records the first violation and ends the run.
func (w *World) Fail(format string, args ...any) {
	if w.Err == nil {
		w.Err = fmt.Errorf("at %v: "+format, append([]any{time.Duration(w.now)}, args...)...)
		w.Trace("FAIL %v", w.Err)
	}
}

// Trace adds a line to the trace.
func (w *World) Trace(format string, args ...any) {
	if w.Config.Trace != nil {
		w.Config.Trace("%12v "+format, append([]any{time.Duration(w.now)}, args...)...)
	}
}
