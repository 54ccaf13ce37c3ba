package scenario

import (
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Call is the operation that calls a method of a data type on a key, such as
// "set.add". Arguments are strings, for bytes, and ints.
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
	x := c.call(name, gateway, "%s", words(ops))
	x.writes = true
	x.execute(ops)
	return x.Txn
}

// words names the methods that operations call.
func words(ops []msg.Op) string {
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
	// Done counts the calls that were answered, Answers are those of the last.
	Done    int
	Answers []msg.Datum
}

// Begin begins one.
func (c *Cluster) Begin(name string, gateway kv.NodeID) *Updater {
	x := c.call(name, gateway, "interactive")
	x.open, x.writes = true, true
	if f := x.g.machine.Begin(x.g.clock(), x.ref(), false, txn.How{}); f != nil {
		c.t.Fatal(f.Text)
	}
	x.g.flush()
	return &Updater{call: x}
}

// Do makes a call. The answer may come later.
func (u *Updater) Do(ops ...msg.Op) {
	u.c.tell("%s does %s", u.Name, words(ops))
	u.g.machine.Do(u.g.clock(), func(d txn.Done) {
		if d.Failure != nil {
			u.ended(d)
			return
		}
		u.Done++
		u.Answers = nil
		for _, r := range d.Results {
			u.Answers = append(u.Answers, r.Answer...)
		}
		u.c.tell("%s has got %v", u.Name, u.Answers)
	}, u.ref(), ops, 0)
	u.g.flush()
	u.c.run()
}
