package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func newReport(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "report FILE...",
		Short: "Show a report, or compare several",
		Long: `Show a report written by --json. With several reports, compare them in a table
for each kind of transaction. The ratio is the throughput divided by that of
the first report.`,
		Example: `  zetaload report r.json
  zetaload report before.json after.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			var all []workload.NamedResult
			for _, file := range files {
				r, err := readReport(file)
				if err != nil {
					return err
				}
				all = append(all, workload.NamedResult{Name: file, Result: r})
			}
			if len(all) == 1 {
				return all[0].WriteText(env.out)
			}
			return workload.WriteComparison(env.out, all)
		},
	}
}

func readReport(file string) (*workload.Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: err}
	}
	defer f.Close()
	r, err := workload.ReadResult(f)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: fmt.Errorf("%s: %w", file, err)}
	}
	return r, nil
}
