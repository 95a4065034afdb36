package conversation

import "time"

// ParseTime reads a timestamp in either form that JP writes (P-21): the storage form
// "2006-01-02 15:04:05.999999999", which is UTC, or RFC 3339 with any offset. It reports false if
// s is neither.
func ParseTime(s string) (time.Time, bool) {
	// A fraction is accepted after the seconds though the layouts name none.
	for _, layout := range [...]string{time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
