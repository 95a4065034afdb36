package host

import "time"

// Decode reads a line of a plugin.
func Decode(line []byte) (kind string, err error) {
	q, err := decodeRequest(line)
	return q.Type, err
}

// SetGraceful changes how long a plugin may take to end.
func (h *Host) SetGraceful(d time.Duration) { h.graceful = d }
