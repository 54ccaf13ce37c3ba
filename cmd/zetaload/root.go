package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "zetaload",
		Short: "Run workloads with hot keys on a linchpin cluster and measure them",
		Long: `zetaload runs transactions on a linchpin cluster whose keys follow a Zipf
distribution, and reports throughput and latency. It can record what each client
saw, and check the record for strict serializability.

Environment variables set the flags of the connection: LINCHPIN_ADDR sets
--addr, LINCHPIN_CERTS_DIR sets --certs-dir. LINCHPIN_TOKEN holds a token.

Exit codes:
  0  success
  1  the store failed: no transaction committed, transactions or scans failed
     for reasons other than contention, the checker found a violation, or an
     invariant of an application is broken
  2  the command line, or a file on it, is wrong`,
		Example: `  zetaload load --keys 100000
  zetaload run --skew 1.2 --clients 64 --duration 30s --json r.json
  zetaload report r.json other.json
  zetaload run --skew 1.2 --fresh-keys --history h.bin
  zetaload check h.bin
  zetaload app tickets --own-cluster
  zetaload experiment hot-or-not --html page.html`,
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			return readVariables(c)
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.SetOut(env.out)
	root.SetErr(env.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newRun(env), newLoad(env), newCheck(env), newReport(env), newApp(env), newExperiment(env),
		newVersion(env), newReference())
	return root
}
