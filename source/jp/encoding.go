package jp

import (
	"bytes"
	"errors"
	"io"
)

var byteOrderMark = []byte("\xef\xbb\xbf") // never changed

// markSkipped is the end of a sentence about a file that an editor put a mark before.
const markSkipped = "begins with a byte order mark, which was skipped"

// errEncoding is the end of a sentence about a file of which nothing can be read.
var errEncoding = errors.New("is UTF-16 or UTF-32 text, and only UTF-8 is read")

// blankMark puts spaces in place of a byte order mark at the beginning of a file, so that every other
// byte keeps its place, and reports whether there was one. The error says that the file is no UTF-8.
func blankMark(data []byte) (marked bool, err error) {
	switch {
	case bytes.HasPrefix(data, byteOrderMark):
		copy(data, "   ")
		return true, nil
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")),
		len(data) > 1 && (data[0] == 0) != (data[1] == 0): // JSON begins with two characters of ASCII
		return false, errEncoding
	}
	return false, nil
}

// blanked is [blankMark] for what is read bit by bit.
func blanked(r io.Reader) (_ io.Reader, marked bool, err error) {
	head := make([]byte, len(byteOrderMark))
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, err
	}
	marked, err = blankMark(head[:n])
	return io.MultiReader(bytes.NewReader(head[:n]), r), marked, err
}

// andProblem joins the ends of two sentences about one file.
func andProblem(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", and " + b
}
