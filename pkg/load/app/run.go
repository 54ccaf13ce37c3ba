package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// ErrBroken is the error of a run whose result is complete and has an invariant
// that does not hold.
var ErrBroken = errors.New("an invariant does not hold")

// Run loads an application, has clients use it as o says, and verifies it. The
// result is nil if the data could not be loaded. Verifying goes on when ctx
// ends early, since that is how a run is ended before its time; report is called
// before each of the three parts, if it is set.
func Run(ctx context.Context, a App, o workload.Options, report func(string)) (*workload.Result, error) {
	if report == nil {
		report = func(string) {}
	}
	o.App = a
	r, err := workload.New(nil, o)
	if err != nil {
		return nil, err
	}
	report("loading data")
	if err := a.Load(ctx); err != nil {
		return nil, err
	}
	about := a.About()
	report("loaded " + about.Loaded)
	result, runErr := r.Run(ctx)
	report("verifying")
	// Somewhat arbitrary, and far more than reading everything takes.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Minute)
	defer cancel()
	result.Invariants, err = a.Verify(ctx)
	if err != nil {
		return result, errors.Join(runErr, fmt.Errorf("the invariants could not be checked: %w", err))
	}
	if result.Broken() != nil {
		return result, errors.Join(runErr, ErrBroken)
	}
	return result, runErr
}
