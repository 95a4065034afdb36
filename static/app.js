// The pages work without this module; it only makes them live.
