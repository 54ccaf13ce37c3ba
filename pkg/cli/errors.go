package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// PrintError writes a command's error for people, or as one JSON object.
func PrintError(w io.Writer, err error, asJSON bool) {
	if quiet := (*quietError)(nil); errors.As(err, &quiet) {
		return
	}
	text, hint := describe(err)
	failed, ok := errors.AsType[*client.Error](err)
	if !ok {
		failed = &client.Error{}
	}
	if asJSON {
		o := map[string]any{"error": text, "kind": kindOf(err), "exit_code": ExitCode(err)}
		if hint != "" {
			o["hint"] = hint
		}
		if id := txnOf(err); !id.IsZero() {
			o["txn_id"] = id.String()
		}
		if r := (&printer{}).receiptObject(&failed.Receipt); r.Why != "" {
			o["why"] = r.Why
			if r.Waited != nil {
				o["waited"] = r.Waited
			}
			if r.Aborted != nil {
				o["aborted"] = r.Aborted
			}
		}
		_ = json.NewEncoder(w).Encode(o) // a failure cannot be reported anywhere
		return
	}
	fmt.Fprintln(w, "linchpin:", text)
	if hint != "" {
		fmt.Fprintln(w, "hint:", hint)
	}
	if why := failed.Receipt.String(); why != "" {
		fmt.Fprintln(w, "why:", why)
	}
}

// describe parts an error into what happened and what to do.
func describe(err error) (text, hint string) {
	if u, ok := errors.AsType[*UsageError](err); ok {
		return u.Text, cmp.Or(u.Hint, fmt.Sprintf("see: %s --help", u.Command))
	}
	if f, ok := errors.AsType[*fs.PathError](err); ok && kv.KindOf(err) == kv.KindInternal {
		return err.Error(), fileHint(f)
	}
	text = err.Error()
	if e, ok := errors.AsType[*OutputError](err); ok {
		return text, e.hint()
	}
	if e, ok := errors.AsType[*goneError](err); ok {
		text, _ = describe(e.error)
		return text, e.hint
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		// The hint and the receipt get lines of their own, and the user knows the operation.
		short := *e
		short.Operation, short.Hint, short.Receipt = "", "", client.Receipt{}
		return strings.Replace(text, e.Error(), short.Error(), 1), hintOf(e)
	}
	if e, ok := errors.AsType[*kv.Error](err); ok {
		hint = e.Hint
	}
	return strings.TrimSuffix(text, "; "+hint), hint
}

// hintOf is the hint of an error of the client: that for programs, in the terms of the command line.
func hintOf(e *client.Error) string {
	back := ""
	if e.Down != nil {
		back = "when the node is back, "
	}
	switch {
	case e.Kind == client.KindOutcomeUnknown && !e.TxID.IsZero():
		return back + "ask with: linchpin outcome " + e.TxID.String()
	case e.Kind == client.KindUnavailable && e.Down != nil && strings.Contains(e.Hint, "client.WaitForNodes"):
		return "nothing was applied; start the nodes that are down, or wait for them with --wait-for-shards"
	}
	return cmp.Or(e.Hint, typeHint(e))
}

// typeHint is the hint for a key of another type, "" for other errors.
func typeHint(e *client.Error) string {
	if e.Kind != client.KindWrongType || e.Key == "" {
		return ""
	}
	return fmt.Sprintf("linchpin type %s shows what the key holds; to change its type, delete it first",
		kv.Format([]byte(e.Key)))
}

// fileHint says what to do about a file that cannot be used.
func fileHint(e *fs.PathError) string {
	dir := filepath.Dir(e.Path)
	_, missing := os.Stat(dir)
	switch {
	case errors.Is(e, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist):
		return fmt.Sprintf("there is no directory %s; create it, or name another file", dir)
	case errors.Is(e, fs.ErrNotExist):
		return "check the name of the file"
	case errors.Is(e, fs.ErrPermission):
		return "check the permissions, or name another file"
	}
	return "name another file"
}

// txnOf is the transaction that an error names, zero if it names none.
func txnOf(err error) client.TxID {
	if e, ok := errors.AsType[*OutputError](err); ok {
		return e.TxnID
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.TxID
	}
	return client.TxID{}
}

func kindOf(err error) string {
	if _, ok := errors.AsType[*UsageError](err); ok {
		return "Usage"
	}
	if _, ok := errors.AsType[*OutputError](err); ok {
		return "Output"
	}
	return kv.KindOf(err).String()
}
