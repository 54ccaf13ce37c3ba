package cli

import (
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// txnAnswer is a committed transaction as JSON.
type txnAnswer struct {
	TxnID       string         `json:"txn_id"`
	Attempts    int            `json:"attempts,omitempty"`
	Results     []resultAnswer `json:"results,omitempty"`
	ResultsLost bool           `json:"results_lost,omitempty"`
	receiptAnswer
	// Plan is the read plan of a read-only transaction, Snapshot the past state that it read, Token the
	// causality token of what it read and wrote, as --after takes it.
	Plan     string `json:"plan,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	Token    []byte `json:"token,omitempty"`
}

// resultAnswer is the result of an operation, without the fields that its verb does not have.
type resultAnswer struct {
	Op string `json:"op,omitempty"`
	item
	Pairs     []item  `json:"pairs,omitempty"`
	Resume    *string `json:"resume,omitempty"`
	ResumeHex *string `json:"resume_hex,omitempty"`
	Removed   *uint64 `json:"removed,omitempty"`
	Answer    []any   `json:"answer,omitempty"`
}

// txnObject is a report as JSON.
func (s *printer) txnObject(r *client.Report) *txnAnswer {
	return &txnAnswer{TxnID: r.TxID.String(), Attempts: r.Attempts, receiptAnswer: s.receiptObject(&r.Receipt),
		Plan: r.Plan, Snapshot: r.Snapshot.ID, Token: r.Token}
}

// resultObject converts a result; without a verb it has all fields that are set.
func (s *session) resultObject(verb string, r *pb.Result) resultAnswer {
	a := resultAnswer{Op: verb}
	switch verb {
	case "get", "del", "expire", "persist", "ttl", "":
		a.Found = &r.Found
	case "delrange":
		a.Removed = &r.Count
	}
	switch {
	case verb == "incr", (verb == "get" || verb == "ttl" || verb == "") && r.Found:
		t := typeOf(r.Type, r.TypeName)
		if verb == "incr" {
			t = client.TypeCounter
		}
		a.item = a.item.holding(s.printer, t, r.Value, r.Number, r.Version)
	case verb == "get":
		a.Version = kv.Version{}.String()
	default:
		a.Version = shownVersion(r.Version)
	}
	a.TTL = ttlMillis(r)
	for i := range r.Entries {
		e := &r.Entries[i]
		it := s.keyItem(string(e.Key))
		a.Pairs = append(a.Pairs, it.holding(s.printer, typeOf(e.Type, e.TypeName), e.Value, e.Number, e.Version))
	}
	if len(r.Resume) > 0 {
		a.Resume, a.ResumeHex = s.jsonBytes(string(r.Resume))
	}
	if len(r.Data) > 0 {
		a.Type, a.Answer = string(typeOf(r.Type, r.TypeName)), s.jsonData(r.Data)
	}
	if verb == "" && r.Count > 0 {
		a.Removed = &r.Count
	}
	return a
}

// resultsLost reports a transaction that committed and whose results were lost with the response. The exit
// code says so, too.
func (s *printer) resultsLost(out *outcome, what string) error {
	var err error
	if s.json {
		err = s.object(&txnAnswer{TxnID: out.TxID.String(), Attempts: out.Attempts, ResultsLost: true})
	} else {
		err = s.printf("committed %v; %s no longer known\n", out.TxID, what)
	}
	if err != nil {
		return err
	}
	return &quietError{ExitOutput}
}
