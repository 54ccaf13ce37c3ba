package integration

import (
	"os"
	"testing"

	"github.com/linchpindb/linchpin/test/integration/proc"
)

func TestMain(m *testing.M) { os.Exit(proc.Main(m)) }
