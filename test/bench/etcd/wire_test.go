package etcd

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessagesAreEtcds compares with the bytes that etcd's own generated code makes and reads.
func TestMessagesAreEtcds(t *testing.T) {
	require.Equal(t, "0a016b", hex.EncodeToString(encodeRange("k")))
	require.Equal(t, "0a016b120176", hex.EncodeToString(encodePut("k", []byte("v"))))
	// compare {target: MOD, key, mod_revision: 300}, success {request_put}
	require.Equal(t, "0a08"+"1002"+"1a016b"+"30ac02"+"1208"+"1206"+"0a016b120176",
		hex.EncodeToString(encodePutIf("k", []byte("v"), 300)))

	// header {revision: 9}, kvs {key, create 7, mod 300, version 2, value}, count 1
	got, err := hex.DecodeString("0a021809" + "120f" + "0a016b" + "1007" + "18ac02" + "2002" + "2a03616263" + "2001")
	require.NoError(t, err)
	value, revision, err := decodeRange(got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(value))
	require.EqualValues(t, 300, revision)
	_, _, err = decodeRange(got[:9])
	require.Error(t, err)
	_, revision, err = decodeRange(got[:4])
	require.NoError(t, err)
	require.Zero(t, revision, "there is no such key")

	for text, want := range map[string]bool{"0a021809" + "1001": true, "0a021809": false} {
		got, err := hex.DecodeString(text)
		require.NoError(t, err)
		succeeded, err := decodeSucceeded(got)
		require.NoError(t, err)
		require.Equal(t, want, succeeded)
	}
}
