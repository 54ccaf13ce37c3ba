package cli

import "github.com/spf13/cobra"

// Mistakes makes the commands of another program report mistakes on the command line as linchpin
// does: as UsageErrors, which suggest names that are spelt alike. Its error is one about the command
// that args name.
func Mistakes(root *cobra.Command, args []string) error {
	root.SetFlagErrorFunc(flagError)
	asUsageErrors(root)
	return unknownCommand(root, args)
}
