package conversation

import "time"

// ParseTime reads a timestamp in either form that JP writes (P-21): the storage form
// "2006-01-02 15:04:05.999999999", which is UTC, or RFC 3339 with any offset. It reports false if
// s is neither.
func ParseTime(s string) (time.Time, bool) {
	// A fraction is accepted after the seconds though the layouts name none.
	for _, layout := range [...]string{time.DateTime, time.RFC3339} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		// An offset can lead out of the years that RFC 3339 can write.
		if t = t.UTC(); t.Year() >= 0 && t.Year() <= 9999 {
			return t, true
		}
	}
	return time.Time{}, false
}
