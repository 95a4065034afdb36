package plugin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// longestLine bounds what one line may take of the memory. A line carries a whole conversation, so
// that the protocol has no bound (P-3); the largest that was seen are some 20 MB.
const longestLine = 1 << 30

var errTooLong = fmt.Errorf("it is longer than %d MiB", longestLine>>20)

// lines reads the lines of a stream.
type lines struct {
	r   *bufio.Reader
	max int
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10), max: longestLine} }

// next returns the next line that is not blank (P-2), in memory of its own. The error is errTooLong,
// after which reading goes on, or that of the stream.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if errors.Is(err, errTooLong) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		if long = long || len(line)+len(piece) > l.max; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, errTooLong
		default:
			return line, err
		}
	}
}
