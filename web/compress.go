package web

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/labstack/echo/v4"
)

// Over the loopback, compressing costs more than it saves. Elsewhere what is written of a page is
// compressed once, and kept. Streams are never compressed: a proxy would hold them back, and each would
// need a compressor of its own.
const (
	encodingZstd = "zstd"
	encodingGzip = "gzip"
	// leastCompressed is the size in bytes below which there is nothing to save.
	leastCompressed = 1 << 10
	// squeezedBytes bounds what is kept.
	squeezedBytes = 16 << 20
	gzipLevel     = 5
)

// reflects is set on a request whose answer has words of the request beside what others may not know:
// its length, compressed, would tell who sends many requests and listens how well the words fit (BREACH).
const reflects = "reflects"

// encodingFor returns how an answer may be encoded; "" for as it is.
func encodingFor(c echo.Context) string {
	if c.Get(reflects) != nil || isLoopback(c.Request().RemoteAddr) {
		return ""
	}
	return acceptedEncoding(c.Request().Header.Values(echo.HeaderAcceptEncoding))
}

func isLoopback(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err != nil || at.Addr().Unmap().IsLoopback() // or no network at all
}

// acceptedEncoding chooses by Accept-Encoding (RFC 9110, 12.5.3): the one that is wanted more, of equal
// ones zstd, which is faster.
func acceptedEncoding(headers []string) string {
	weights := map[string]float64{}
	for _, header := range headers {
		for _, part := range strings.Split(header, ",") {
			name, parameter, _ := strings.Cut(part, ";")
			weight := 1.0
			if q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q="); ok {
				var err error
				if weight, err = strconv.ParseFloat(q, 64); err != nil || weight < 0 || weight > 1 {
					weight = 0
				}
			}
			weights[strings.ToLower(strings.TrimSpace(name))] = weight
		}
	}
	of := func(name string) float64 {
		if w, ok := weights[name]; ok {
			return w
		}
		return weights["*"]
	}
	best, weight := "", 0.0
	for _, name := range [...]string{encodingZstd, encodingGzip} {
		if w := of(name); w > weight {
			best, weight = name, w
		}
	}
	if identity, ok := weights["identity"]; ok && identity > weight {
		return ""
	}
	return best
}

// compressor writes an encoding; its Close writes the end.
func compressor(w io.Writer, encoding string) (io.WriteCloser, error) {
	if encoding == encodingZstd {
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	}
	return gzip.NewWriterLevel(w, gzipLevel)
}

// squeezer keeps what was compressed. It is safe for concurrent use.
type squeezer struct {
	seed maphash.Seed
	made *shared[squeezeKey, []byte]
}

type squeezeKey struct {
	encoding string
	length   int
	hash     uint64
}

func newSqueezer(budget int64) *squeezer {
	return &squeezer{maphash.MakeSeed(), newShared[squeezeKey, []byte](budget)}
}

// compress returns body in an encoding, nil if it cannot be compressed.
func (s *squeezer) compress(body []byte, encoding string) []byte {
	return s.made.of(squeezeKey{encoding, len(body), maphash.Bytes(s.seed, body)}, func() ([]byte, int64) {
		var b bytes.Buffer
		w, err := compressor(&b, encoding)
		if err == nil {
			_, err = w.Write(body)
			err = cmp.Or(err, w.Close())
		}
		if err != nil {
			return nil, -1
		}
		return b.Bytes(), int64(b.Len())
	})
}

// tag is the entity tag of a page: a weak one, because the same page can be encoded in more than one
// way. It holds as long as the server runs.
func (s *squeezer) tag(body []byte) string {
	return `W/"` + strconv.FormatUint(maphash.Bytes(s.seed, body), 36) + `"`
}

// hasTag reports whether an If-None-Match header names a tag (RFC 9110, 13.1.2).
func hasTag(headers []string, tag string) bool {
	for _, header := range headers {
		for _, t := range strings.Split(header, ",") {
			if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
