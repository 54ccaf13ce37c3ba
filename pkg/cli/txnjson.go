package cli

import (
	"strings"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
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

func (s *session) txnObject(out *client.Outcome, statements []txnlang.Statement) *txnAnswer {
	a := &txnAnswer{TxnID: out.ID.String(), Attempts: out.Attempts, ResultsLost: out.ResultsLost, Token: out.Token, Plan: planName(out.Plan)}
	if out.Snapshot != nil {
		a.Snapshot = out.Snapshot.ID
	}
	for i := range out.Results {
		a.Results = append(a.Results, s.resultObject(statements[i].Verb, &out.Results[i]))
	}
	a.receiptAnswer = s.receiptObject(&out.Receipt)
	return a
}

// planName is the plan's name as flags have it, "" for none.
func planName(p pb.ReadPlan) string {
	if p == pb.ReadPlan_PLAN_ANY {
		return ""
	}
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(p.String(), "PLAN_"), "_", "-"))
}

// resultObject converts a result; without a verb it has all fields that are set.
func (s *session) resultObject(verb string, r *client.Result) resultAnswer {
	a := resultAnswer{Op: verb}
	switch verb {
	case "get", "del", "expire", "persist", "ttl", "":
		a.Found = &r.Found
	case "delrange":
		a.Removed = &r.Count
	}
	switch {
	case verb == "incr", (verb == "get" || verb == "ttl" || verb == "") && r.Found:
		t, name := r.Type, r.TypeName
		if verb == "incr" {
			t, name = client.TypeCounter, "counter"
		}
		a.item = a.item.holding(s.printer, t, name, r.Value, r.Number, r.Version)
	case verb == "get":
		a.Version = kv.Version{}.String()
	default:
		a.Version = shownVersion(r.Version)
	}
	a.TTL = ttlMillis(r)
	for i := range r.Pairs {
		a.Pairs = append(a.Pairs, s.pairItem(&r.Pairs[i]))
	}
	if len(r.Resume) > 0 {
		a.Resume, a.ResumeHex = s.jsonBytes(r.Resume)
	}
	if len(r.Answer) > 0 {
		a.Type, a.Answer = r.TypeName, s.jsonAnswer(r.Answer)
	}
	if verb == "" && r.Count > 0 {
		a.Removed = &r.Count
	}
	return a
}

// resultsLost reports a transaction that committed and whose results were lost with the response.
func (s *session) resultsLost(out *client.Outcome, what string) error {
	if s.json {
		return s.object(&txnAnswer{TxnID: out.ID.String(), Attempts: out.Attempts, ResultsLost: true})
	}
	return s.printf("committed %v; %s no longer known\n", out.ID, what)
}
