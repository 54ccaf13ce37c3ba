package users

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
)

// Token is what the table keeps of a token.
type Token struct {
	// Hash is the SHA-256 of the token as text.
	Hash []byte `json:"hash"`
	// Created and Expires are in nanoseconds since 1970; an Expires of 0 is
	// never.
	Created int64 `json:"created_ns,omitempty"`
	Expires int64 `json:"expires_ns,omitempty"`
}

const (
	// SecretBytes is how many random bytes a token is made of.
	SecretBytes = 32
	hashBytes   = sha256.Size
	// tokenPrefix has programs that look for secrets in texts find tokens.
	tokenPrefix = "linchpin_"
)

// tokenBytes is the length of every token.
var tokenBytes = len(tokenPrefix) + base64.RawURLEncoding.EncodedLen(SecretBytes)

// TokenText is the token made of random bytes.
func TokenText(secret [SecretBytes]byte) string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
}

// HashToken gives the hash of a token. A text that cannot be a token has
// none: the check is cheap.
func HashToken(text string) (hash [hashBytes]byte, ok bool) {
	if len(text) != tokenBytes || !strings.HasPrefix(text, tokenPrefix) {
		return hash, false
	}
	return sha256.Sum256([]byte(text)), true
}

func (t *Token) expired(now time.Time) bool { return t.Expires != 0 && t.Expires <= now.UnixNano() }
