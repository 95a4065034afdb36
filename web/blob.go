package web

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/templates"
)

const (
	// mediaBytes is the largest image or sound that a page shows.
	mediaBytes = 16 << 20
	// sniffBytes is how much of a file says what it is.
	sniffBytes = 512
)

// blob answers with the bytes of a block: an image or a sound that pages show, anything else as a
// download. It is never a document of this server: nothing in it runs, whatever it is (trust.md T6).
func (s *Server) blob(c echo.Context) error {
	id, p, err := s.piece(c)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.Param("block"))
	if err != nil || n < 0 || n >= len(p.blocks) {
		return errNoEntry
	}
	var encoded string
	switch b := p.blocks[n].(type) {
	case conversation.Media:
		encoded = b.Data
	case conversation.ResourceBlock:
		encoded = b.Blob
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || encoded == "" {
		return errNoEntry
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	media := sniff(content[:min(len(content), sniffBytes)])
	if _, _, ok := fits(media, bytes.NewReader(content), int64(len(content))); !ok {
		media = "application/octet-stream"
		h.Set("Content-Disposition", "attachment; filename="+strconv.Quote(id+"-"+p.id()+"-"+strconv.Itoa(n)+".bin"))
	}
	h.Set(echo.HeaderContentType, media)
	// It answers a player that asks for a part.
	http.ServeContent(pacedWriter{c.Response()}, c.Request(), "", p.time, bytes.NewReader(content))
	return nil
}

// sniff returns the media type of an image or a sound that browsers show, by its first bytes; "" for
// all else. What a tool says of the type does not count.
func sniff(head []byte) string {
	at := func(n int, s string) bool { return len(head) >= n+len(s) && string(head[n:n+len(s)]) == s }
	switch {
	case at(0, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case at(0, "\xff\xd8\xff"):
		return "image/jpeg"
	case at(0, "GIF87a"), at(0, "GIF89a"):
		return "image/gif"
	case at(0, "RIFF") && at(8, "WEBP"):
		return "image/webp"
	case at(4, "ftypavif"), at(4, "ftypavis"):
		return "image/avif"
	case at(0, "RIFF") && at(8, "WAVE"):
		return "audio/wav"
	case at(0, "OggS"):
		return "audio/ogg"
	case at(0, "fLaC"):
		return "audio/flac"
	case at(4, "ftypM4A"):
		return "audio/mp4"
	case at(0, "ID3"), len(head) > 1 && head[0] == 0xff && head[1]&0xe6 == 0xe2:
		return "audio/mpeg"
	}
	text := strings.TrimLeft(string(head), "\xef\xbb\xbf \t\r\n")
	if strings.HasPrefix(text, "<svg") || strings.HasPrefix(text, "<?xml") && strings.Contains(text, "<svg") {
		return "image/svg+xml"
	}
	return ""
}

// media shows bytes: an image, a sound, or what they are and a way to have them. n is the place of
// their block; -1 says that they have no address.
func (b *builder) media(caption, encoded string, n int) {
	part := templates.Part{Caption: caption}
	address := b.base + "/blob/" + b.id + "/" + strconv.Itoa(n) + b.query
	head := make([]byte, sniffBytes)
	read, err := io.ReadFull(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)), head)
	media := sniff(head[:read])
	switch whole := err == nil || err == io.EOF || err == io.ErrUnexpectedEOF; {
	case n < 0 || b.alone:
		part.Caption = captionOf("File", caption)
	case !whole || encoded == "":
		part.Caption = captionOf("File", caption, "not readable")
	default:
		content := base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded))
		width, height, ok := fits(media, content, decodedLen(encoded))
		kind, _, _ := strings.Cut(media, "/")
		part.Caption = captionOf(cmp.Or(map[string]string{"audio": "Sound", "image": "Image"}[kind], "File"), caption)
		switch {
		case !ok:
			part.Download = address
		case kind == "audio":
			part.Audio = address
		default:
			part.Image = &templates.Image{URL: address, Width: width, Height: height}
		}
	}
	b.parts = append(b.parts, part)
}
