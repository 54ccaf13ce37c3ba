package cli

import "github.com/linchpindb/linchpin/pkg/client"

// receiptAnswer is a contention receipt as JSON; Why is the receipt in words.
type receiptAnswer struct {
	Waited  *waitAnswer  `json:"waited,omitempty"`
	Aborted *abortAnswer `json:"aborted,omitempty"`
	Why     string       `json:"why,omitempty"`
}

// waitAnswer is the longest wait, or the one that had not ended.
type waitAnswer struct {
	Us int64 `json:"us"`
	conflictAnswer
	Waiting bool `json:"waiting,omitempty"`
}

// abortAnswer counts the attempts that other transactions aborted, and describes the last one.
type abortAnswer struct {
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason,omitempty"`
	conflictAnswer
}

// conflictAnswer is a conflict, in the words of the API.
type conflictAnswer struct {
	Cause             string        `json:"cause,omitempty"`
	Key               *string       `json:"key,omitempty"`
	KeyHex            *string       `json:"key_hex,omitempty"`
	Operations        []string      `json:"operations,omitempty"`
	Holder            string        `json:"holder,omitempty"`
	HolderOperations  []string      `json:"holder_operations,omitempty"`
	Others            int           `json:"others,omitempty"`
	Advice            *adviceAnswer `json:"advice,omitempty"`
	Lock              string        `json:"lock,omitempty"`
	HolderLock        string        `json:"holder_lock,omitempty"`
	Interactive       bool          `json:"interactive,omitempty"`
	HolderInteractive bool          `json:"holder_interactive,omitempty"`
}

// adviceAnswer is an operation that would have commuted, instead of the one that was executed.
type adviceAnswer struct {
	Instead       string `json:"instead,omitempty"`
	HolderInstead string `json:"holder_instead,omitempty"`
	Apart         bool   `json:"apart,omitempty"`
}

func (p *printer) receiptObject(r *client.Receipt) receiptAnswer {
	a := receiptAnswer{Why: r.String()}
	if r.Waited > 0 {
		w := r.Wait
		if w == nil {
			w = new(client.Conflict)
		}
		a.Waited = &waitAnswer{Us: r.Waited.Microseconds(), Waiting: r.Waiting, conflictAnswer: p.conflictObject(w)}
	}
	if r.Aborted > 0 {
		a.Aborted = &abortAnswer{Attempts: r.Aborted, Reason: r.Reason}
		if r.Abort != nil {
			a.Aborted.conflictAnswer = p.conflictObject(r.Abort)
		}
	}
	return a
}

func (p *printer) conflictObject(c *client.Conflict) conflictAnswer {
	a := conflictAnswer{Cause: c.Cause, Operations: c.Operations, HolderOperations: c.HolderOperations, Others: c.Others,
		Lock: c.Lock, HolderLock: c.HolderLock, Interactive: c.Interactive, HolderInteractive: c.HolderInteractive}
	a.Key, a.KeyHex = p.jsonBytes(c.Key)
	if !c.Holder.IsZero() {
		a.Holder = c.Holder.String()
	}
	if x := c.Advice; x != nil {
		a.Advice = &adviceAnswer{Instead: x.Instead, HolderInstead: x.HolderInstead, Apart: x.Apart}
	}
	return a
}

// printReceipt reports on standard error what a command waited for, so that the output can be piped.
func (s *session) printReceipt(r *client.Receipt) {
	if why := r.String(); why != "" && !s.json {
		s.cmd.PrintErrln(why)
	}
}
