package golden

import (
	"bytes"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// heatMessage formats the messages about hot keys.
func heatMessage(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.LoadReport:
		return fmt.Sprintf("LoadReport from %v:%s", b.Shard, heatsText(b.Keys))
	case *msg.HeatMap:
		out := "HeatMap:" + heatsText(b.Keys)
		if len(b.Moved) > 0 {
			out += fmt.Sprintf("; moved, as of %d: %s", b.Epoch, bytes.Join(b.Moved, []byte(" ")))
		}
		return out
	case *msg.PairReport:
		out := fmt.Sprintf("PairReport from %v:", kv.NodeID(b.Gateway))
		for _, p := range b.Pairs {
			out += fmt.Sprintf(" %s with %s %.3g/s", p.A, p.B, p.Rate)
		}
		return out
	case *msg.MoveKey:
		return fmt.Sprintf("MoveKey %s: %s from %v to %v", Name(b.Txn), b.Key, b.From, b.To)
	case *msg.HotStatusRequest:
		return "HotStatusRequest " + readerName(b.Request)
	case *msg.SetHotPolicy:
		q := b
		out := "SetHotPolicy " + readerName(q.Request) + ":"
		if q.Rule != nil {
			out += ruleText(q.Rule)
		}
		return out + when(q.Mode > 0, " mode "+hotModes[q.Mode])
	case *msg.HotStatusResponse:
		return "HotStatusResponse " + readerName(b.Request) + ": " + HotStatus(b)
	case *msg.WaitReport:
		decides := ""
		if b.Prepared {
			decides = fmt.Sprintf(", which %v decides", b.Last)
		}
		return fmt.Sprintf("WaitReport %s on %v: %s%s", readerName(b.Txn), b.Shard, Receipt(&b.Receipt), decides)
	}
	return e.Name()
}

// dueText formats a request of a shard to its gateway: an expiry, or a snapshot to retain.
func dueText(k *msg.ExpireKey) string {
	if k == nil {
		return "Due: a snapshot"
	}
	return fmt.Sprintf("Due %s: %s%s", Name(k.Txn), k.Key, expiresText(k.Expires))
}

// Package hotshard defines these names; its tests print with this package.
var (
	hotModes  = [...]string{"", "auto", "pinned", "off"}
	hotOrders = [...]string{"free", "pinned", "banned"}
)

func ruleText(r *msg.HotRule) string {
	return fmt.Sprintf(" %s%s %s", r.Key, when(r.Prefix, "..."), hotOrders[r.Order])
}

// HotStatus formats the status of hot keys.
func HotStatus(r *msg.HotStatusResponse) string {
	if r.Failure != nil {
		return Failure(r.Failure)
	}
	out := "mode " + hotModes[r.Mode]
	for i := range r.Rules {
		out += "," + ruleText(&r.Rules[i])
	}
	for i := range r.Keys {
		k := &r.Keys[i]
		out += fmt.Sprintf("; %s on %v%s%s: %s", k.Key, k.Shard, when(k.Moving, ", moving"),
			when(k.Since != 0, " since "+Time(k.Since)), k.Reason)
	}
	return out
}

func heatsText(keys []msg.KeyHeat) string {
	if len(keys) == 0 {
		return " nothing"
	}
	out := ""
	for i := range keys {
		k := &keys[i]
		out += fmt.Sprintf(" %s on %v %.3g/s", k.Key, k.Shard, k.Heat)
		if k.Waited != 0 || k.EstimatedWait != 0 {
			out += fmt.Sprintf(" (waited %v, estimated %v)", time.Duration(k.Waited), time.Duration(k.EstimatedWait))
		}
	}
	return out
}
