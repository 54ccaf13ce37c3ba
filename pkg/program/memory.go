package program

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// units are those of --memory-budget, in bytes. The longest come first.
var units = []struct {
	name  string
	bytes float64
}{{"MiB", 1 << 20}, {"GiB", 1 << 30}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"M", 1 << 20}, {"G", 1 << 30}}

// maxBudget bounds --memory-budget: a PiB.
const maxBudget = 1 << 50

// budgetOf reads --memory-budget: a number with a unit, or the percentage of what the
// machine or the control group has. 0 is the default.
func budgetOf(c *cobra.Command, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, per, of := strings.TrimSpace(text), float64(0), float64(1)
	if rest, ok := strings.CutSuffix(number, "%"); ok {
		number, per, of = rest, float64(embed.MachineMemory()), 100
	}
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok && per == 0 {
			number, per = rest, u.bytes
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	budget := n / of * per // in this order, so that 100 % is all of it to the byte
	if err != nil || per == 0 || !(budget > 0 && budget < maxBudget) {
		return 0, &cli.UsageError{Text: fmt.Sprintf("--memory-budget is %q, want a number of MiB or GiB, as in 2GiB, "+
			"or a percentage, as in 50%%", text), Command: c.CommandPath()}
	}
	return int64(budget), nil
}
