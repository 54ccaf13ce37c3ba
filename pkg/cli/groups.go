package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

const (
	groupTypes = "Data types"
	groupOther = "Other commands"
)

// commandGroups are the groups of commands in the help, in order. Commands of data types are in the
// group of these.
var commandGroups = []struct{ title, commands string }{
	{"Keys", "get put del scan mget mset exists keys incr expire persist ttl"},
	{groupTypes, "call type types"},
	{"Transactions", "txn outcome shell"},
	{"The past", "snapshot backup restore"},
	{"Contention", "receipts waits hot"},
	{"Nodes", "start demo status shards health drain reclaim log debug config"},
	{"Security", "cluster cert user"},
	{groupOther, ""},
}

// arrange puts the commands of the root into their groups.
func arrange(root *cobra.Command) {
	group := make(map[string]string)
	for _, g := range commandGroups {
		for name := range strings.FieldsSeq(g.commands) {
			group[name] = g.title
		}
	}
	for i := range shortcuts {
		group[shortcuts[i].name] = groupTypes
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = cmp.Or(group[cmd.Name()], groupOther)
	}
}
