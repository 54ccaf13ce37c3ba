//go:build mutants

package readreq

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

func TestMutantRelyingOnTheRequestedLeaseOutlivesTheGranted(t *testing.T) {
	e, r := granted(t, mutant.Of(mutant.GrantedLeaseIgnored))
	require.True(t, holdsAt(e, r, 600*ms))
}

func TestMutantRoundReliesOnLostRegistrations(t *testing.T) {
	require.NotEmpty(t, roundIsConfirmed(t, mutant.Of(mutant.RoundUnconfirmed)))
}
