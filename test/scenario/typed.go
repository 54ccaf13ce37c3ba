package scenario

import (
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Call returns the operation that calls a method of a data type on a key, such as "set.add". Arguments are strings, for
// bytes, and ints.
func Call(key, method string, args ...any) msg.Op {
	typ, name, _ := strings.Cut(method, ".")
	var data []msg.Datum
	for _, a := range args {
		switch a := a.(type) {
		case string:
			data = append(data, adt.Bytes([]byte(a)))
		case int:
			data = append(data, adt.Int(int64(a)))
		default:
			panic("an argument is a string or an int")
		}
	}
	return adt.ByName(typ).MethodByName(name).Op([]byte(key), data...)
}

// Exec begins a one-shot transaction.
func (c *Cluster) Exec(name string, gateway kv.NodeID, ops ...msg.Op) *Txn {
	x := c.call(name, gateway, "%s", methodsText(ops))
	x.writes = true
	x.execute(ops)
	return x.Txn
}

// methodsText names the methods that operations call.
func methodsText(ops []msg.Op) string {
	var out []string
	for i := range ops {
		if m, err := adt.Find(&ops[i]); err == nil {
			out = append(out, m.Type.Name+"."+m.Name+" "+string(ops[i].Key))
		}
	}
	return strings.Join(out, ", ")
}

// Updater is an interactive transaction that writes.
type Updater struct {
	*call
	// Completed counts the calls that have returned; Results are those of the last.
	Completed int
	Results   []msg.Datum
}

// Begin begins an interactive update.
func (c *Cluster) Begin(name string, gateway kv.NodeID) *Updater {
	x := c.call(name, gateway, "interactive")
	x.open, x.writes = true, true
	if f := x.g.Machines[0].Begin(x.g.Local(), x.ref(), false, txn.TxnOptions{}); f != nil {
		c.t.Fatal(f.Text)
	}
	x.g.Flush()
	return &Updater{call: x}
}

// Do makes a call, which may return later.
func (u *Updater) Do(ops ...msg.Op) {
	u.c.logf("%s does %s", u.Name, methodsText(ops))
	u.g.Machines[0].Do(u.g.Local(), func(d txn.Done) {
		if d.Failure != nil {
			u.onDone(d)
			return
		}
		u.Completed++
		u.Results = nil
		for _, r := range d.Results {
			u.Results = append(u.Results, r.Data...)
		}
		u.c.logf("%s gets %v", u.Name, u.Results)
	}, u.ref(), ops, 0)
	u.g.Flush()
	u.c.run()
}
