package web

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
)

const (
	// mediaPixels is the largest image that a page shows; svgBytes the largest drawing, whose cost is
	// in what it says.
	mediaPixels = 64 << 20
	svgBytes    = 1 << 20
	// headBytes is how much of an image is read to find out how large it is.
	headBytes = 1 << 20
)

// fits reports whether a page shows what has a media type that [sniff] found, and how many pixels an
// image has, so that the page can keep its place: zero for a drawing, which has none. What is damaged,
// or does not say how large it is, is not shown.
func fits(media string, content io.Reader, length int64) (width, height int, ok bool) {
	if media == "" || length > mediaBytes {
		return 0, 0, false
	}
	r := io.LimitReader(content, headBytes)
	var c image.Config
	var err error
	switch media {
	case "image/png":
		c, err = png.DecodeConfig(r)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(r)
	case "image/gif":
		c, err = gif.DecodeConfig(r)
	case "image/webp":
		c, err = measured(r, webpSize)
	case "image/avif":
		c, err = measured(r, avifSize)
	case "image/svg+xml":
		return 0, 0, length <= svgBytes
	default:
		return 0, 0, strings.HasPrefix(media, "audio/")
	}
	ok = err == nil && c.Width > 0 && c.Height > 0 && c.Width <= mediaPixels/c.Height
	return c.Width, c.Height, ok
}

// measured reads the beginning of an image and has it measured.
func measured(r io.Reader, by func(head []byte) (width, height int)) (c image.Config, err error) {
	head, err := io.ReadAll(io.LimitReader(r, 64<<10))
	c.Width, c.Height = by(head)
	return c, err
}

// webpSize reads the first chunk of a WebP file (RFC 9649, 2.5 to 2.7); zero if it is none.
func webpSize(head []byte) (width, height int) {
	if len(head) < 30 {
		return 0, 0
	}
	switch string(head[12:16]) {
	case "VP8 ": // RFC 6386, 9.1
		if head[20]&1 == 0 && string(head[23:26]) == "\x9d\x01\x2a" {
			return int(binary.LittleEndian.Uint16(head[26:])) & 0x3fff, int(binary.LittleEndian.Uint16(head[28:])) & 0x3fff
		}
	case "VP8L":
		if head[20] == 0x2f {
			bits := binary.LittleEndian.Uint32(head[21:])
			return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
		}
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(head[24:]) + 1, three(head[27:]) + 1
	}
	return 0, 0
}

// avifSize returns the largest size that a file's properties have (ISO/IEC 23008-12, 6.5.3): that of
// the image itself, where it has tiles and a preview too; zero if it has none.
func avifSize(head []byte) (width, height int) {
	for {
		at := bytes.Index(head, []byte("ispe"))
		if at < 0 || len(head) < at+16 {
			return width, height
		}
		w, h := int(binary.BigEndian.Uint32(head[at+8:])), int(binary.BigEndian.Uint32(head[at+12:]))
		width, height = max(width, w), max(height, h)
		head = head[at+4:]
	}
}
