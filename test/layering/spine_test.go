package layering_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpineOfAPut: the functions of the shard from a Put to its response call each other as listed in
// docs/architecture.md, at most 20, and none is entered twice.
func TestSpineOfAPut(t *testing.T) {
	tree := module(t)
	raw, err := os.ReadFile(filepath.Join(tree.Root, "docs", "architecture.md"))
	require.NoError(t, err)
	page := string(raw)
	none(t, tree.Spine(page))
	// Each planted error is found.
	decide, run := "agent.LastAgent.decide\n", "exec.Executor.Run\n"
	require.Contains(t, page, decide)
	for _, wrong := range []string{
		strings.Replace(page, decide, "agent.LastAgent.decideNow\n", 1),
		strings.Replace(page, "                    "+run, "", 1) + "    " + run,
		strings.Replace(page, "agent.LastAgent.tryDecide\n", "agent.LastAgent.abort\n", 1),
		strings.Replace(page, "agent.LastAgent.Receive\n", "agent.Participant.Receive\n", 1),
		page + strings.Repeat("    "+run, 20),
		"",
	} {
		require.NotEmpty(t, tree.Spine(wrong))
	}
}
